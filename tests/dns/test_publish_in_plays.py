# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Publishing in real plays, both in Ansible's worker and as modules."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from ansible_collections.postroom.email.tests.dns.bind_with_faults import KEY
from ansible_collections.postroom.email.tests.dns.conftest import Publisher
from ansible_collections.postroom.email.tests.e2e import parity_runs, secrets_project
from ansible_collections.postroom.email.tests.fakes.nameserver.behaviors import silent
from ansible_collections.postroom.email.tests.fakes.nameserver.server import fake_nameserver
from ansible_collections.postroom.email.tests.support import repository
from ansible_collections.postroom.email.tests.support.bind import new_key
from ansible_collections.postroom.email.tests.support.loopback import free_port
from ansible_collections.postroom.email.tests.support.playbooks import environment
from ansible_collections.postroom.email.tests.support.secrets import leaks
from ansible_collections.postroom.email.tests.support.service import RunningService

PLAYBOOKS = Path(__file__).parent / "playbooks"
OTHER = new_key("mail")
SECRETS = [KEY.secret, OTHER.secret]
OFF = {"POSTROOM_IN_PROCESS": "0"}
PROGRESS = re.compile(r"\nexample\.com: 0 of 3 records are published, .+; retrying for \d+ s\.\n")
PROCESS = re.compile(r"runs in process (\d+)")


def variables(publisher: Publisher) -> dict[str, str]:
    """Return the playbooks' variables."""
    return {
        "name_server": str(publisher.dns_server.bind),
        "update_server": str(publisher.dns_server.front),
        "vault_tsig_secret": KEY.secret,
        "vault_other_secret": OTHER.secret,
        "nobody": f"127.0.0.1:{free_port()}",
    }


def until(condition: Callable[[], bool], output: Callable[[], str]) -> None:
    """Wait for a condition."""
    deadline = time.monotonic() + 60.0
    while not condition():
        assert time.monotonic() < deadline, output()
        time.sleep(0.05)


@pytest.fixture
def parity(publisher: Publisher, tmp_path: Path) -> parity_runs.ParityProject:
    """Provide a project whose playbooks run in Ansible's worker and as modules."""
    folder = tmp_path / "parity"
    folder.mkdir()
    return parity_runs.ParityProject(folder, publisher.tenant, variables(publisher))


def test_both_ways_give_the_same(parity: parity_runs.ParityProject, publisher: Publisher) -> None:
    """Tasks have the same results in the worker and as modules, and check mode predicts them."""
    here, modules = parity.both(PLAYBOOKS / "parity.yml")
    assert here.results == modules.results
    assert here.shown == modules.shown
    assert all(route.startswith("in process ") for them in here.routes.values() for route in them)
    (play,) = yaml.safe_load((PLAYBOOKS / "parity.yml").read_text("utf-8"))
    results = {name: them[-1] for name, them in here.results.items()}
    assert list(results) == [task["name"] for task in play["tasks"]]
    failed = {name for name, result in results.items() if "failure" in result}
    assert failed == {
        "Wait until the timeout",
        *(name for name in results if name.startswith("Fail ")),
    }
    for first, again in (("Publish", "Publish again"), ("Withdraw", "Withdraw again")):
        assert results[first]["changed"]
        assert not results[again]["changed"]
    assert results["Predict the withdrawal"]["changes"] == results["Withdraw"]["changes"]
    # Each run sends two updates, and leaves no records behind.
    assert publisher.dns_server.gate.updates == 4
    assert not any(publisher.dns_server.held().values())


@pytest.fixture
def canary(
    publisher: Publisher, service: RunningService, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[secrets_project.SecretsProject]:
    """Provide a project for playbooks that must not reveal their secrets."""
    project = secrets_project.SecretsProject(tmp_path_factory.mktemp("project"), service, service)
    publisher.tenant.create("other.example")
    with fake_nameserver({("*", "*"): silent}) as mute:
        for name, value in {**variables(publisher), "silent_server": str(mute)}.items():
            project.give(name, value)
        yield project


@pytest.mark.parametrize("settings", [{}, OFF], ids=["in process", "as modules"])
def test_no_secret_is_shown(
    settings: dict[str, str], canary: secrets_project.SecretsProject
) -> None:
    """No failure reveals a secret in the output at -vvvv, the diffs, events, logs or files."""
    played = canary.play(str(PLAYBOOKS / "canary.yml"), **settings)
    assert played.status == 0, played.output
    way = " POSTROOM_IN_PROCESS is off" if settings else " runs in process "
    assert way in played.output
    # Ansible takes 5 s to delete the files of an asynchronous task.
    until(lambda: not any(canary.run_folder.rglob("AnsiballZ_*.py")), lambda: played.output)
    assert leaks([*SECRETS, *canary.secrets], [canary.run_folder]) == []


@pytest.mark.parametrize("settings", [{}, OFF], ids=["in process", "as modules"])
def test_a_crash_shows_no_secret(
    settings: dict[str, str], canary: secrets_project.SecretsProject, tmp_path: Path
) -> None:
    """A crash reveals no secret, even if the exception's message contains all data of the task."""
    copy = tmp_path.joinpath("ansible_collections", "postroom", "email")
    for folder in ("plugins", "meta"):
        shutil.copytree(repository.ROOT / folder, copy / folder)
    states = copy / "plugins" / "module_utils" / "_dns_verify_publish.py"
    publishing = "        until = time.monotonic() + seconds\n"
    crash = "        raise RuntimeError(f'broken with {key!r} in {vars(self)!r}')\n"
    text = states.read_text("utf-8")
    assert publishing in text
    states.write_text(text.replace(publishing, crash + publishing), "utf-8")
    traced = {"ANSIBLE_DISPLAY_TRACEBACK": "error", "ANSIBLE_COLLECTIONS_PATH": str(tmp_path)}
    played = canary.play(str(PLAYBOOKS / "crash.yml"), **traced, **settings)
    assert "broken with" in played.output
    assert leaks([*SECRETS, *canary.secrets], [canary.run_folder]) == []


class Play:
    """A play that waits for records, running as a separate process."""

    def __init__(self, folder: Path, publisher: Publisher, **settings: str) -> None:
        given = {"service_url": publisher.tenant.url, "service_token": publisher.tenant.token}
        file = folder / "variables.json"
        file.write_text(json.dumps({**given, **variables(publisher)}), "utf-8")
        self._output = folder / "output"
        command = [sys.executable, "-m", "ansible", "playbook", str(PLAYBOOKS / "waiting.yml")]
        with self._output.open("wb") as output:
            self.process = subprocess.Popen(
                [*command, "-vvv", "--extra-vars", f"@{file}"],
                env=environment(folder, **settings),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )

    def output(self) -> str:
        """Return the output so far."""
        return self._output.read_text("utf-8", "replace")

    def until(self, condition: Callable[[], object]) -> None:
        """Wait for a condition."""
        until(lambda: bool(condition()), self.output)


@pytest.fixture
def start(publisher: Publisher, tmp_path: Path) -> Iterator[Callable[..., Play]]:
    """Provide a function that starts plays, and kill those still running at the end.

    A play's workers end when the play is killed.
    """
    plays: list[Play] = []

    def begin(**settings: str) -> Play:
        plays.append(Play(tmp_path, publisher, **settings))
        return plays[-1]

    yield begin
    for play in plays:
        play.process.kill()
        play.process.wait()


@pytest.mark.parametrize("settings", [{}, OFF], ids=["in process", "as modules"])
def test_waiting_shows_its_progress(
    settings: dict[str, str], start: Callable[..., Play], publisher: Publisher
) -> None:
    """A wait shows its progress in Ansible's worker, but not in a module process."""
    play = start(**settings)
    if settings:
        play.until(lambda: "runs as a module" in play.output())
    else:
        play.until(lambda: PROGRESS.search(play.output()))
    assert publisher.run("present")["changed"]
    assert play.process.wait(60.0) == 0
    assert "ok: [localhost]" in play.output()
    assert bool(PROGRESS.search(play.output())) is not bool(settings)


def test_waiting_ends_with_ansible(start: Callable[..., Play]) -> None:
    """A wait in Ansible's worker ends if Ansible is killed."""
    play = start()
    play.until(lambda: PROGRESS.search(play.output()))
    (worker,) = map(int, PROCESS.findall(play.output()))
    assert worker != play.process.pid
    play.process.kill()
    play.process.wait()
    play.until(lambda: not Path(f"/proc/{worker}").exists())
