# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Bots as they are deployed: over signed HTTP and Socket Mode, alone and in pairs."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path

import pytest

from ansible_collections.postroom.email.tests.bot.flows.premises import (
    Deployment,
    Plan,
    Premises,
    deployed,
    premises,
    put_ahead,
)
from ansible_collections.postroom.email.tests.support.postgresql import fresh_database
from postroom_bot.listeners.answers import BROKEN, SLACK_DOWN

PLANS = (
    Plan("http", "sqlite"),
    Plan("socket", "sqlite", copies=2),
    Plan("http", "postgresql", replicas=2, copies=2),
    Plan("socket", "postgresql", replicas=2, copies=2),
)

#: Gives the database of a plan, with the bot's tables, until a stack ends.
FreshDatabase = Callable[[str, ExitStack], str]


@pytest.fixture(scope="session")
def fresh(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> FreshDatabase:
    """Give the way to empty databases."""

    def made(backend: str, end: ExitStack) -> str:
        if backend == "sqlite":
            template = request.getfixturevalue("sqlite_template")
            return str(shutil.copy(template, tmp_path_factory.mktemp("database") / "bot.sqlite"))
        template = request.getfixturevalue("postgresql_template")
        url = request.getfixturevalue("postgresql_url")
        return end.enter_context(fresh_database(url, template))

    return made


@pytest.fixture(scope="session", params=PLANS, ids=str)
def plan(request: pytest.FixtureRequest) -> Plan:
    """Give each way to run the bot."""
    found: Plan = request.param
    return found


@pytest.fixture(scope="session")
def bots(
    plan: Plan, fresh: FreshDatabase, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Deployment]:
    """Give running bots, and see at the end that nothing was done twice and the audit is whole."""
    place = tmp_path_factory.mktemp("bots")
    with ExitStack() as end:
        there = end.enter_context(premises(place / "company"))
        database = fresh(plan.backend, end)
        found = end.enter_context(deployed(there, place, plan, database))
        yield found
        found.check_cards()
        found.check_audit()
        assert there.here.slack.problems == []
        assert troubles(there) == []


def troubles(there: Premises) -> list[str]:
    """Return what people were told of trouble that there was none of."""
    said = [one.text for person in there.people for one in person.sees().ephemerals]
    return [text for text in said if text in (SLACK_DOWN, BROKEN)]


@pytest.fixture
def flow(bots: Deployment) -> Deployment:
    """Give the running bots, with nobody having a window open."""
    for person in bots.premises.people:
        while modals := person.sees().modals:
            person.close(modals[-1])
    return bots


@pytest.fixture(scope="session")
def there(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Premises]:
    """Give a company whose bots come and go."""
    with premises(tmp_path_factory.mktemp("premises")) as found:
        yield found
        assert found.here.slack.problems == []


#: Starts bots anew over what those before them left.
Start = Callable[[], AbstractContextManager[Deployment]]


@pytest.fixture
def ahead(tmp_path: Path) -> Path:
    """Give the file that says by how many seconds the clock of the test's bots is ahead."""
    path = tmp_path / "clock"
    put_ahead(path, seconds=0)
    return path


@pytest.fixture(params=["sqlite", "postgresql"])
def start(
    request: pytest.FixtureRequest,
    there: Premises,
    fresh: FreshDatabase,
    ahead: Path,
    tmp_path: Path,
) -> Iterator[Start]:
    """Give the way to start one bot again and again: by sockets on SQLite, else by HTTP."""
    backend = str(request.param)
    plan = Plan("socket" if backend == "sqlite" else "http", backend)
    with ExitStack() as end:
        database = fresh(backend, end)
        options = ("--clock", str(ahead))
        there.recorder.take()
        yield lambda: deployed(there, tmp_path, plan, database, options=options)
