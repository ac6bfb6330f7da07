# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Bots in each kind of deployment: signed HTTP or Socket Mode, and one or two replicas."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from ansible_collections.postroom.email.tests.bot.flows.deployment import (
    HTTP,
    Deployment,
    Plan,
    deployed,
    environment,
)
from ansible_collections.postroom.email.tests.support.postgresql import fresh_database
from postroom_bot.slack.bolt_app import INTERNAL_ERROR
from postroom_bot.store import audit
from postroom_bot.ui.reason_texts import TEXTS

PLANS = (
    HTTP,
    pytest.param(Plan("socket", "sqlite", copies=2), marks=pytest.mark.full),
    pytest.param(Plan("http", "postgresql", replicas=2, copies=2), marks=pytest.mark.full),
    pytest.param(Plan("socket", "postgresql", replicas=2, copies=2), marks=pytest.mark.full),
)

#: A function that creates a database with the bot's tables. The database exists until the exit
#: stack closes.
FreshDatabase = Callable[[str, ExitStack], str]


@pytest.fixture(scope="session")
def fresh(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> FreshDatabase:
    """Provide a function that creates databases without rows."""

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
    """Provide each way of running the bot in turn."""
    found: Plan = request.param
    return found


@pytest.fixture(scope="session")
def bots(
    plan: Plan, fresh: FreshDatabase, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Deployment]:
    """Run the bots.

    At the end, check that each request has one card and that the audit's chain is intact.
    """
    place = tmp_path_factory.mktemp("bots")
    with ExitStack() as end:
        there = end.enter_context(environment(place / "company"))
        database = fresh(plan.backend, end)
        found = end.enter_context(deployed(there, place, plan, database))
        yield found
        # A card may appear in Slack shortly before the bot stores its timestamp.
        there.company.slack.wait_for(found.has_one_card_each)
        found.read(audit.verify)
        said = [one.text for person in there.people for one in person.sees().ephemerals]
        assert INTERNAL_ERROR not in said
        # This error may appear once, because one test makes Slack fail.
        assert said.count(TEXTS["slack.unavailable"]) <= 1


@pytest.fixture
def flow(bots: Deployment) -> Deployment:
    """Provide the running bots, with all modals closed."""
    for person in bots.environment.people:
        while modals := person.sees().modals:
            person.close(modals[-1])
    return bots
