# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""After a database of an earlier version is migrated, every open request in it can be completed."""

from __future__ import annotations

import itertools
import json
import sqlite3
from contextlib import closing
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from sqlalchemy import (
    JSON,
    Boolean,
    Column,
    Connection,
    Date,
    DateTime,
    MetaData,
    Table,
    insert,
    select,
    update,
)

from ansible_collections.postroom.email.tests.bot.workflow.harness import Harness
from postroom_bot.domain import Request, State
from postroom_bot.store import audit, requests, tables
from postroom_bot.store.tables import SCHEMA, migrate
from postroom_bot.workflow import passwords
from postroom_common.database import Database

RELEASED = Path(__file__).parents[1] / "store" / "released.sql"
#: The time at which the dump was made.
NOW = datetime(2026, 11, 23, 12, 0, 30, tzinfo=UTC)


def _value(column: Column[Any], value: Any) -> Any:
    """Convert a value from SQLite to a column's type in either kind of database."""
    if value is None:
        return None
    if isinstance(column.type, JSON):
        return json.loads(value)
    if isinstance(column.type, Boolean):
        return bool(value)
    if isinstance(column.type, DateTime):
        return datetime.fromisoformat(value).replace(tzinfo=UTC)
    return date.fromisoformat(value) if isinstance(column.type, Date) else value


def _load(connection: Connection) -> None:
    """Create the earlier schema, and fill it from the dump."""
    command.upgrade(SCHEMA._config(connection), "0002")
    with closing(sqlite3.connect(":memory:")) as dump:
        dump.row_factory = sqlite3.Row
        dump.executescript(RELEASED.read_text(encoding="utf-8"))
        names = ("request", "vote", "inbox", "identity", "tombstone", "ledger", "audit")
        for name in names:
            table = Table(name, MetaData(), autoload_with=connection)
            for row in dump.execute(f'SELECT * FROM "{name}"'):  # noqa: S608
                values = {key: _value(table.c[key], row[key]) for key in dict(row)}
                connection.execute(insert(table).values(values))
                if name == "audit":
                    head = {"seq": row["seq"], "hash": row["hash"]}
                    connection.execute(update(tables.audit_head).values(head))


@pytest.fixture
def database_url(empty_url: str) -> str:
    """Provide the URL of a migrated database."""
    with closing(Database(empty_url)) as database:
        database.write(_load)
    migrate(empty_url)
    return empty_url


def _by_target(harness: Harness) -> dict[str, Request]:
    def found(c: Connection) -> list[Request | None]:
        return [requests.get(c, one) for one in c.scalars(select(tables.request.c.id))]

    rows = harness.deps.database.read(found)
    return {one.change.target.partition("@")[0]: one for one in rows if one is not None}


def test_a_migrated_database_is_complete(harness: Harness) -> None:
    """A migration keeps all states, results, votes and audit rows, and every digest is valid."""
    harness.deps.database.read(audit.verify)
    found = _by_target(harness)
    assert {one.state for one in found.values()} == set(State)
    for one in found.values():
        assert one.state is State.NEW or one.digest == one.computed_digest()
        assert one.result is None or one.result.code == "legacy"
    assert found["blocked"].blocked is not None
    assert found["blocked"].decide_by is not None
    assert found["pending"].decide_by is not None
    assert found["voted"].execute_by is not None
    _counted, refused = harness.votes(found["denied"])
    assert (refused.justification, refused.refusal is not None) == ("", True)


def test_every_open_request_of_a_migrated_database_completes(harness: Harness) -> None:
    """Workers and approvers can complete every open request of a migrated database."""
    harness.clock.now = NOW
    harness.keys = itertools.count(1000)
    before = _by_target(harness)
    harness.work()
    for name, approvers in {
        "new": ["bob"],
        "blocked": ["bob"],
        "pending": ["bob"],
        "team": ["dora"],
    }.items():
        harness.approve(_by_target(harness)[name], *approvers)
    harness.pass_time(hours=1)
    request = _by_target(harness)["erin"]
    passwords.authorize(harness.deps, harness.interaction("erin"), None, request.id)
    harness.pass_time(days=1)
    harness.pass_time(days=1)
    after = _by_target(harness)
    assert {name: one.state for name, one in after.items() if before[name].is_open} == {
        **dict.fromkeys(("new", "blocked", "pending", "team"), State.DONE),
        **dict.fromkeys(("voted", "late", "executing"), State.DONE),
        **dict.fromkeys(("waiting", "erin", "dora"), State.EXPIRED),
    }
    ended = [one.id for one in before.values() if not one.is_open]
    texts = "".join(harness.texts_to("alice"))
    assert not any(one in texts for one in ended)
    harness.deps.database.read(audit.verify)
