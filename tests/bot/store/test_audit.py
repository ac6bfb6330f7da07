# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The audit: one chain by all writers, only ever added to, streamed whole and in order."""

from __future__ import annotations

import json
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError

from ansible_collections.postroom.email.tests.bot.store import actors
from ansible_collections.postroom.email.tests.support.clock import Clock
from postroom_bot.store import audit
from postroom_bot.store.database import Database

PROCESSES = 4
EACH = 25


def filled(database: Database, clock: Clock, count: int) -> list[audit.AuditRow]:
    """Add rows in one transaction."""

    def work(connection: Connection) -> list[audit.AuditRow]:
        append = partial(audit.append, connection, "tested", at=clock(), actor="U1")
        return [append(request_id=f"R-{n % 3}", data={"number": n}) for n in range(count)]

    return database.write(work)


def test_rows_are_kept_as_written(database: Database, clock: Clock) -> None:
    """Rows come back with what was written, numbered from one and linked by their hashes."""
    first, second = filled(database, clock, 2)
    assert database.read(audit.rows) == [first, second]
    assert (first.seq, first.prev_hash) == (1, audit.START)
    assert (second.seq, second.prev_hash) == (2, first.hash)
    assert first.at == "2026-11-21T12:00:00.000000+00:00"
    assert database.read(audit.verify) == audit.Verified(2, second.hash)


def test_a_line_holds_all_that_was_hashed(database: Database, clock: Clock) -> None:
    """Whoever has a row's line can check its hash without the bot, as the module says how."""
    (row,) = filled(database, clock, 1)
    fields = json.loads(row.line())
    claimed, before = fields.pop("hash"), fields.pop("prev_hash")
    canonical = json.dumps(fields, sort_keys=True, separators=(",", ":"))
    assert sha256((before + canonical).encode()).hexdigest() == claimed


def test_rows_are_read_in_parts(database: Database, clock: Clock) -> None:
    """Rows are read after a given one, up to a limit, or for one request."""
    filled(database, clock, 9)
    part = database.read(lambda c: audit.rows(c, after=3, limit=2))
    assert [row.seq for row in part] == [4, 5]
    mine = database.read(lambda c: audit.rows(c, request_id="R-1"))
    assert [row.seq for row in mine] == [2, 5, 8]


def test_an_empty_audit_is_in_order(database: Database) -> None:
    """Without any row there is nothing to find, and nothing to stream."""
    assert database.read(audit.verify) == audit.Verified(0, audit.START)
    assert audit.stream(database, pytest.fail) == 0


@pytest.mark.parametrize(
    "data",
    [
        {"password": "x"},
        {"new_Password": "x"},
        {"apiKey": "x"},
        {"a": [{"response_url": "x"}]},
        {"a": {"b": {"slack_bot_token": None}}},
    ],
)
def test_secrets_are_refused(database: Database, clock: Clock, data: dict[str, Any]) -> None:
    """What announces a secret is not written, wherever in the data it stands."""
    with pytest.raises(ValueError, match="keeps no secrets"):
        database.write(lambda c: audit.append(c, "e", at=clock(), actor="U1", data=data))
    assert database.read(audit.rows) == []


def test_an_undone_transaction_leaves_no_gap(database: Database, clock: Clock) -> None:
    """A row is there only with the rest of its transaction, and the chain goes on without it."""
    filled(database, clock, 1)

    def work(connection: Connection) -> None:
        audit.append(connection, "undone", at=clock(), actor="U1")
        raise LookupError

    with pytest.raises(LookupError):
        database.write(work)
    filled(database, clock, 1)
    assert database.read(audit.verify).count == 2


def test_the_database_refuses_edits(database: Database, clock: Clock) -> None:
    """Triggers refuse to change and remove rows, also to those who speak SQL."""
    filled(database, clock, 3)
    statements = [
        "UPDATE audit SET actor = 'U2'",
        "DELETE FROM audit",
        "DELETE FROM audit_head",
        "UPDATE audit_head SET seq = 1",
    ]
    if not database.is_sqlite:  # which has no TRUNCATE
        statements += ["TRUNCATE audit", "TRUNCATE audit_head"]
    for statement in statements:
        with pytest.raises(DBAPIError, match="only ever added to"):
            database.write(partial(Connection.execute, statement=text(statement)))
    assert database.read(audit.verify).count == 3


def test_processes_write_one_chain(database: Database, database_url: str) -> None:
    """Rows that several processes add at once form one chain with all of them."""
    running = [
        actors.started(actors.auditing, database_url, f"p{number}", EACH)
        for number in range(PROCESSES)
    ]
    assert [actors.ended(one) for one in running] == [0] * PROCESSES
    assert database.read(audit.verify).count == PROCESSES * EACH


def test_the_stream_is_whole_and_in_order(
    database: Database, database_url: str, clock: Clock, tmp_path: Path
) -> None:
    """Rows are streamed at least once and in order, also by processes that were killed at it."""
    count = audit.PAGE + 20
    rows = filled(database, clock, count)
    streamed: list[str] = []
    for number, lines in enumerate((3, audit.PAGE + 5, 7)):
        log = tmp_path / str(number)
        assert actors.ended(actors.started(actors.streaming, database_url, str(log), lines)) != 0
        part = log.read_text().splitlines()
        _in_order(part)
        streamed += part
    last: list[str] = []
    audit.stream(database, last.append)
    _in_order(last)
    streamed += last
    assert set(streamed) == {row.line() for row in rows}
    found = database.read(lambda c: audit.verify_lines(c, streamed))
    assert found == audit.Verified(count, rows[-1].hash)
    assert audit.stream(database, pytest.fail) == 0


def _in_order(lines: list[str]) -> None:
    numbers = [json.loads(line)["seq"] for line in lines]
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
