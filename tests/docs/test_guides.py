# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The commands of the guides in docs/ run, from the first block to the last."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ansible_collections.postroom.email.tests.docs import readme
from ansible_collections.postroom.email.tests.docs.guides import Reader
from ansible_collections.postroom.email.tests.support.service import RunningService
from ansible_collections.postroom.email.tests.support.site import Api
from postroom_bot import settings
from postroom_bot.model import Action, Wish
from postroom_bot.store import ledger, requests
from postroom_bot.store.database import Connection, Database, migrate

#: tests/dns and tests/ops follow these, with a name server and a controller.
ELSEWHERE = ("dns", "awx")
GUIDES = [
    file
    for file in readme.GUIDES
    if file.stem not in ELSEWHERE and any(b.language == "console" for b in readme.all_blocks(file))
]
#: The guide that begins with an empty tenant.
FIRST = "first-tenant"
#: The guide that the quick tests follow, because it takes the least time.
QUICK = "troubleshooting"


def fill(tenant: Api) -> None:
    """Create the objects that the other guides take for granted."""
    tenant.create("example.com")
    tenant.create("example.org")
    tenant.create("alice@example.com", ["alice@example.com", "sales@example.com"])
    tenant.create("bob@example.com", ["bob@example.com", "info@example.org"])
    tenant.create("team@example.com", members=["alice@example.com", "partner@example.net"])


def give_alias(connection: Connection) -> None:
    """Record that the bot has given Alice an alias at her request."""
    wish = Wish(Action.ALIAS_ADD, "sales@example.com", mailbox="alice@example.com")
    at = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)
    request = requests.add(connection, wish=wish, requester="U1", team="T1", at=at)
    ledger.record(connection, request_id=request.id, wish=wish, at=at)


@pytest.fixture
def reader(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, service: RunningService
) -> Reader:
    """Return a reader in a folder with account.yml, and with a bot to run."""
    database_file = str(tmp_path_factory.mktemp("bot") / "bot.sqlite3")
    migrate(database_file)
    database = Database(database_file)
    database.write(give_alias)
    database.close()
    values = {
        "database": database_file,
        "policy_file": "policy.yml",
        "api_url": service.url,
        "api_token": service.token,
        "mail_host": "mail.example.net",
        "slack_bot_token": "xoxb-1",
        "slack_app_token": "xapp-1",
    }
    variables = " ".join(f"{settings.variable(name)}={value}" for name, value in values.items())
    reader = Reader(tmp_path, service)
    python = f"PYTHONPATH={':'.join(sys.path)} {sys.executable}"
    reader.install("postroom-bot", f"env {variables} {python} -m postroom_bot")
    return reader


@pytest.mark.parametrize(
    "guide",
    [
        pytest.param(file, id=file.stem, marks=[] if file.stem == QUICK else pytest.mark.full)
        for file in GUIDES
    ],
)
def test_a_guide_works(guide: Path, reader: Reader, tenant: Api) -> None:
    """Every command succeeds or fails as shown, prints the lines shown, and no secret."""
    if guide.stem != FIRST:
        fill(tenant)
    reader.follow(guide)
