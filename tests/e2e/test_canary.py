# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""No password and no token shows anywhere, however much is told and however much goes wrong."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from ansible_collections.postroom.email.tests.support.playbooks import (
    Run,
    environment,
    run_playbook,
)
from ansible_collections.postroom.email.tests.support.secrets import forms_of, leaks
from ansible_collections.postroom.email.tests.support.service import RunningService, running_service

HERE = Path(__file__).parent
WRONG_TOKEN = "wrong-token-DELTA-8842-qwpo"
PASSWORDS = {
    "ann@one.example": ["Zx9#kPq!secret-ALPHA-7731-wvut"],
    "bob@one.example": [
        'qT"b\\s/ü&=?+%41#{}<é>secret-BRAVO-5519',
        "secret-CHARLIE-2207: with 'quotes', commas\tand a tab",
    ],
}
FAULTS = (
    "rate429=0.05,retry_after=0,error_before=0.05,error_after=0.08,reset_before=0.05,"
    "reset_after=0.08,truncate=0.05,status=502/503,seed=2"
)


class Stage:
    """A folder for all that a run writes, and one for what it is given."""

    def __init__(self, folder: Path, faulty: RunningService, doomed: RunningService) -> None:
        self.services = (faulty, doomed)
        self.run_folder = folder / "run"
        given = folder / "given"
        for made in (self.run_folder, given):
            made.mkdir()
        variables = {
            "service_url": faulty.url,
            "service_token": faulty.token,
            "doomed_url": doomed.url,
            "doomed_token": doomed.token,
            "doomed_pid": doomed.pid,
            "wrong_token": WRONG_TOKEN,
            "vault_passwords": {
                name: [{"__ansible_unsafe": password} for password in passwords]
                for name, passwords in PASSWORDS.items()
            },
        }
        self._variables = given / "variables.json"
        self._variables.write_text(json.dumps(variables), "utf-8")

    @property
    def secrets(self) -> list[str]:
        """Every secret of the run."""
        tokens = [service.token for service in self.services]
        return [*tokens, WRONG_TOKEN, *(p for passwords in PASSWORDS.values() for p in passwords)]

    @property
    def output(self) -> Path:
        """What the run printed."""
        return self.run_folder / "output"

    @property
    def events(self) -> Path:
        """What callback plugins were told."""
        return self.run_folder / "events.jsonl"

    @property
    def log(self) -> Path:
        """Ansible's own log."""
        return self.run_folder / "ansible.log"

    def play(self, playbook: str, **more: str) -> Run:
        """Run a playbook as talkatively as can be, and keep what it prints."""
        folder = self.run_folder
        for made in ("tmp", "home", "async"):
            (folder / made).mkdir()
        settings = {
            "HOME": str(folder / "home"),
            "TMPDIR": str(folder / "tmp"),
            "ANSIBLE_ASYNC_DIR": str(folder / "async"),
            "ANSIBLE_LOG_PATH": str(self.log),
            "ANSIBLE_CALLBACK_PLUGINS": str(HERE / "callback_plugins"),
            "ANSIBLE_CALLBACKS_ENABLED": "every_event",
            "POSTROOM_TEST_EVENTS": str(self.events),
            **more,
        }
        options = ("-vvvv", "--diff", "--extra-vars", f"@{self._variables}")
        played = run_playbook(
            HERE / "playbooks" / playbook, environment(folder, **settings), *options
        )
        self.output.write_text(played.output, "utf-8")
        return played


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    """Run two services, one that fails often and one that is slow and will be killed."""
    with (
        running_service(tmp_path / "faulty", faults=FAULTS) as faulty,
        running_service(tmp_path / "doomed", faults="latency=900ms") as doomed,
    ):
        yield Stage(tmp_path, faulty, doomed)


@pytest.mark.matrix
@pytest.mark.parametrize(
    ("in_process", "told"), [("1", " runs in process "), ("0", " POSTROOM_IN_PROCESS is off")]
)
def test_nothing_shows(in_process: str, told: str, stage: Stage) -> None:
    """A run at -vvvv with failing tasks and a service that is killed gives no secret away."""
    played = stage.play("canary.yml", POSTROOM_IN_PROCESS=in_process)
    assert (played.status, played.recap.failed) == (0, 0), played.output
    # Both ways of running a task are looked at.
    assert told in played.output
    assert leaks(stage.secrets, [stage.run_folder]) == []
    for service in stage.services:
        database = Path(service.database)
        assert leaks(stage.secrets, [service.log_path, *database.parent.glob("*.sqlite3*")]) == []


@pytest.mark.matrix
def test_the_run_was_talkative(stage: Stage) -> None:
    """The control: what is given away on purpose is found in output, events and log."""
    stage.play("leak.yml")
    shown = PASSWORDS["bob@one.example"]
    for place in (stage.output, stage.events, stage.log):
        assert leaks(shown, [place]), place
    # A label hides an item on the screen, and only there: loop over names, as is documented.
    assert leaks(PASSWORDS["ann@one.example"], [stage.events])


@pytest.mark.parametrize(
    "secret", [WRONG_TOKEN, *PASSWORDS["ann@one.example"], *PASSWORDS["bob@one.example"]]
)
def test_every_form_would_be_found(secret: str, tmp_path: Path) -> None:
    """The control of the control: each form of a secret, planted, is found where it lies."""
    for number, form in enumerate(forms_of(secret)):
        planted = tmp_path / "deep" / str(number)
        planted.parent.mkdir(exist_ok=True)
        planted.write_bytes(b"before " + form + b" after")
        assert leaks([secret], [tmp_path])
        planted.unlink()
    assert leaks([secret], [tmp_path]) == []


def test_a_database_would_give_it_away(tmp_path: Path) -> None:
    """A password stored as it is would be found in a database file."""
    password = PASSWORDS["bob@one.example"][0]
    database = sqlite3.connect(tmp_path / "plain.sqlite3")
    database.execute("CREATE TABLE secret (text TEXT)")
    database.execute("INSERT INTO secret VALUES (?)", (password,))
    database.commit()
    database.close()
    assert leaks([password], [tmp_path])
