# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""No password and no token shows anywhere, however much is told and however much goes wrong."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from ansible_collections.postroom.email.tests.e2e.canary_stage import (
    PASSWORDS,
    WRONG_TOKEN,
    Stage,
    canary_stage,
)
from ansible_collections.postroom.email.tests.support.secrets import forms_of, leaks


@pytest.fixture
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """Return a stage with its services."""
    with canary_stage(tmp_path_factory.mktemp("stage")) as stage:
        yield stage


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
