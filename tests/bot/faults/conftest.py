# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The bot's work with a clock that the tests put forward, before services that go wrong."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import SecretStr

from ansible_collections.postroom.email.tests.bot.faults.lives import PATIENCE, Knowing, Lives
from ansible_collections.postroom.email.tests.bot.work.office import open_office
from ansible_collections.postroom.email.tests.fakes.mail_api.spoiler import spoiled
from ansible_collections.postroom.email.tests.fakes.slack.workspace import Workspace
from ansible_collections.postroom.email.tests.service.api import Api
from ansible_collections.postroom.email.tests.support.clock import Clock
from ansible_collections.postroom.email.tests.support.service import RunningService
from postroom_bot.chat import Chat
from postroom_bot.executors.mail import Mail
from postroom_bot.store.database import Database

NAMES = ("alice", "bob", "carol", "dora", "erin")


@pytest.fixture(scope="session")
def backend() -> str:
    """Use SQLite: what goes wrong elsewhere is the same for both."""
    return "sqlite"


@pytest.fixture
def lives(
    service: RunningService, database: Database, clock: Clock, tmp_path: Path
) -> Iterator[Lives]:
    """Give the bot's work, whose requests are led from their beginning to their end."""
    with (
        Api(service.url, service.token) as api,
        Workspace(clock=clock) as slack,
        spoiled(service.url) as spoiler,
    ):
        for principal in api.listing(type="domain"):
            api.delete(principal["name"])
        api.domain("example.com")
        for name in NAMES:
            api.mailbox(f"{name}@example.com")
        mail = Mail(spoiler.url, SecretStr(service.token), settle=0.0, timeout=PATIENCE)
        office = open_office(slack, api, mail, database, clock, tmp_path)
        office.deps = office.with_(chat=Chat(Knowing(slack)))
        lives = Lives(office, spoiler)
        lives.start_anew()
        yield lives
        mail.close()
        assert slack.problems == []
