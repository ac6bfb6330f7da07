# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""All writers append to one audit chain, and tampering with it is detected."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from datetime import UTC, datetime
from functools import partial
from hashlib import sha256
from typing import Any

import pytest
from sqlalchemy import Connection, delete, insert, select, text, update
from sqlalchemy.exc import DBAPIError

from ansible_collections.postroom.email.tests.support.clock import Clock
from ansible_collections.postroom.email.tests.support.statements import recorded_statements
from postroom_bot.store import audit, tables
from postroom_common.database import Database

Rows = list[dict[str, Any]]


def filled(database: Database, clock: Clock, count: int) -> list[audit.AuditRow]:
    """Add several rows in one transaction."""

    def work(connection: Connection) -> list[audit.AuditRow]:
        append = partial(audit.append, connection, "tested", at=clock(), actor="U1")
        return [append(request_id=f"R-{n % 3}", data={"number": n}) for n in range(count)]

    return database.write(work)


def test_rows_are_kept_as_written(database: Database, clock: Clock) -> None:
    """Rows are numbered from 1, linked by hashes, and readable in pages or for one request."""
    assert database.read(audit.verify) == audit.Verified(0, audit.START)
    first, second = filled(database, clock, 2)
    assert database.read(audit.rows) == [first, second]
    assert (first.seq, first.prev_hash) == (1, audit.START)
    assert (second.seq, second.prev_hash) == (2, first.hash)
    assert first.at == "2026-11-21T12:00:00.000000+00:00"
    assert database.read(audit.verify) == audit.Verified(2, second.hash)

    def undone(connection: Connection) -> None:
        audit.append(connection, "undone", at=clock(), actor="U1")
        raise LookupError

    with pytest.raises(LookupError):
        database.write(undone)
    filled(database, clock, 7)
    assert database.read(audit.verify).count == 9
    page = database.read(lambda c: audit.rows(c, after=3, limit=2))
    assert [row.seq for row in page] == [4, 5]
    mine = database.read(lambda c: audit.rows(c, request_id="R-1"))
    assert [row.seq for row in mine] == [2, 4, 7]


def test_secrets_are_refused(database: Database, clock: Clock) -> None:
    """Audit data is refused if a key at any depth names a secret."""
    for data in ({"new_Password": "x"}, {"a": [{"slack_bot_token": None}]}):
        with pytest.raises(ValueError, match="must not contain secrets"):
            database.write(partial(audit.append, event="e", at=clock(), actor="U1", data=data))
    assert database.read(audit.rows) == []


def test_the_database_refuses_edits(database: Database, clock: Clock) -> None:
    """Database triggers prevent rows from being changed or removed."""
    filled(database, clock, 3)
    statements = [
        "UPDATE audit SET actor = 'U2'",
        "DELETE FROM audit",
        "DELETE FROM audit_head",
        "UPDATE audit_head SET seq = 1",
    ]
    if database.is_sqlite:
        statements += [
            "INSERT OR REPLACE INTO audit SELECT * FROM audit WHERE seq = 3",
            "INSERT OR REPLACE INTO audit_head SELECT * FROM audit_head",
        ]
    else:
        statements += ["TRUNCATE audit", "TRUNCATE audit_head"]
    for statement in statements:
        with pytest.raises(DBAPIError, match="only ever added to"):
            database.write(partial(Connection.execute, statement=text(statement)))
    assert database.read(audit.verify).count == 3


def test_concurrent_writers_make_one_chain(database: Database, database_url: str) -> None:
    """Concurrent writers with separate connections produce one valid chain."""

    def write(name: str) -> None:
        at = datetime.now(UTC)
        with closing(Database(database_url)) as own:
            for _ in range(25):
                own.write(lambda c: audit.append(c, "tested", at=at, actor=name, data={"a": [1]}))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, "abcd"))
    assert database.read(audit.verify).count == 100


def test_rows_are_streamed_in_order_and_at_least_once(database: Database, clock: Clock) -> None:
    """Rows are streamed in order and at least once, even if the writer crashes at any line."""
    rows = filled(database, clock, audit.PAGE + 20)
    streamed: list[str] = []
    for crash_after in (3, audit.PAGE + 5, 7, len(rows)):
        run: list[str] = []

        def write(line: str, run: list[str] = run, limit: int = crash_after) -> None:
            if len(run) == limit:
                raise LookupError
            run.append(line)

        with suppress(LookupError):
            audit.stream(database, write)
        numbers = [json.loads(line)["seq"] for line in run]
        assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
        streamed += run
    assert set(streamed) == {row.line() for row in rows}
    found = database.read(lambda c: audit.verify_lines(c, streamed))
    assert found == audit.Verified(len(rows), rows[-1].hash)
    assert audit.stream(database, pytest.fail) == 0


@pytest.fixture
def unprotected(database: Database, clock: Clock) -> Database:
    """Provide a database with six rows, without the triggers that protect them."""
    filled(database, clock, 6)
    if database.is_sqlite:
        statements = [
            f"DROP TRIGGER {table}_no_{event}"
            for table in ("audit", "audit_head")
            for event in ("update", "delete", "replace")
        ]
    else:
        tables_ = ("audit", "audit_head")
        statements = [f"ALTER TABLE {name} DISABLE TRIGGER USER" for name in tables_]
    for statement in statements:
        database.write(partial(Connection.execute, statement=text(statement)))
    return database


def _hashed(row: dict[str, Any]) -> dict[str, Any]:
    fields = {**row, "data": json.loads(row["data"])}
    fields["request_id"] = fields.pop("request")
    return row | {"hash": audit._hash(audit.AuditRow(**fields))}


def _edited(rows: Rows, column: str, value: str) -> Rows:
    return [*rows[:2], rows[2] | {column: value}, *rows[3:]]


def _numbered(rows: Rows) -> Rows:
    return [row | {"seq": number} for number, row in enumerate(rows, 1)]


def _added(rows: Rows, seq: int) -> Rows:
    row = rows[0] | {"actor": "U666", "prev_hash": rows[-1]["hash"], "seq": seq}
    return [*rows, _hashed(row)]


COLUMNS = ("at", "actor", "event", "request", "prev_hash", "hash")
DATA = ("{}", '{ "number":2}', "no JSON", "[NaN]")
TAMPERS: list[Callable[[Rows], Rows]] = [
    *(partial(_edited, column=column, value="x") for column in COLUMNS),
    *(partial(_edited, column="data", value=data) for data in DATA),
    lambda rows: [*rows[:2], _hashed(rows[2] | {"actor": "U666"}), *rows[3:]],
    lambda rows: rows[1:],
    lambda rows: _numbered(rows[1:]),
    lambda rows: [*rows[:2], *rows[4:]],
    lambda rows: _numbered([*rows[:2], *rows[4:]]),
    lambda rows: rows[:-1],
    lambda rows: [],
    lambda rows: _numbered([*rows[:2], rows[3], rows[2], *rows[4:]]),
    *(partial(_added, seq=seq) for seq in (7, 8, 0, -1)),
]


@pytest.mark.parametrize("tamper", TAMPERS)
def test_tampering_is_found(unprotected: Database, tamper: Callable[[Rows], Rows]) -> None:
    """An edited, removed, inserted or reordered row is detected without the streamed lines."""

    def work(connection: Connection) -> None:
        found = connection.execute(select(tables.audit).order_by(tables.audit.c.seq))
        rows = tamper([dict(row) for row in found.mappings()])
        connection.execute(delete(tables.audit))
        if rows:
            connection.execute(insert(tables.audit), rows)

    unprotected.write(work)
    with pytest.raises(audit.Tampered):
        unprotected.read(audit.verify)


@pytest.mark.parametrize(
    ("sqlite_only", "statement", "seq"),
    [
        (False, "UPDATE audit_head SET hash = 'x'", 7),
        (False, "UPDATE audit_head SET seq = seq + 1", 7),
        (False, "DELETE FROM audit_head", 7),
        # SQLite can store bytes in a text column.
        (True, "UPDATE audit SET at = CAST(at AS BLOB) WHERE seq = 4", 4),
        (True, "UPDATE audit SET data = CAST(data AS BLOB) WHERE seq = 4", 4),
    ],
)
def test_a_changed_head_or_type_is_found(
    unprotected: Database, statement: str, seq: int, *, sqlite_only: bool
) -> None:
    """A change to the chain's head, or to the type of a value, is detected."""
    if sqlite_only and not unprotected.is_sqlite:
        pytest.skip("PostgreSQL checks the types")
    unprotected.write(lambda c: c.execute(text(statement)))
    with pytest.raises(audit.Tampered) as found:
        unprotected.read(audit.verify)
    assert found.value.seq == seq
    assert f"row {min(seq, 6)}" in str(found.value).lower()


def test_a_rewritten_chain_is_found_by_the_streamed_lines(
    unprotected: Database, clock: Clock
) -> None:
    """A completely rewritten chain is detected by comparing it with the streamed lines."""
    lines: list[str] = []
    audit.stream(unprotected, lines.append)
    fields = json.loads(lines[1])
    claimed, before = fields.pop("hash"), fields.pop("prev_hash")
    canonical = json.dumps(fields, sort_keys=True, separators=(",", ":"))
    assert sha256((before + canonical).encode()).hexdigest() == claimed
    unprotected.write(lambda c: c.execute(delete(tables.audit)))
    head = update(tables.audit_head).values(seq=0, hash=audit.START)
    unprotected.write(lambda c: c.execute(head))
    unprotected.write(lambda c: audit.append(c, "tested", at=clock(), actor="U1"))
    assert unprotected.read(audit.verify).count == 1
    with pytest.raises(audit.Tampered, match="line 1"):
        unprotected.read(lambda c: audit.verify_lines(c, lines))


def test_streamed_lines_are_compared(unprotected: Database) -> None:
    """Changed or missing streamed lines are detected.

    The lines may start late, be repeated or lag behind the database.
    """
    lines: list[str] = []
    audit.stream(unprotected, lines.append)

    def compared(found: list[str]) -> int:
        return unprotected.read(lambda c: audit.verify_lines(c, found)).count

    assert compared([]) == 0
    assert compared([f"{line}\n" for line in lines]) == 6
    assert compared([*lines[2:4], *lines[3:5]]) == 5
    for wrong in (
        [*lines[:2], *lines[3:]],
        [lines[0].replace("U1", "U2")],
        ["something else"],
        ["[]"],
        [lines[0].replace('"seq":1}', '"seq":99}')],
    ):
        with pytest.raises(audit.Tampered):
            compared(wrong)


def test_every_difference_from_the_streamed_lines_is_reported(unprotected: Database) -> None:
    """All changed, missing and foreign lines are reported, together with a broken chain."""
    lines: list[str] = []
    audit.stream(unprotected, lines.append)
    edit = update(tables.audit).where(tables.audit.c.seq.in_((2, 6))).values(actor="U9")
    unprotected.write(lambda c: c.execute(edit))
    given = [lines[0], lines[1], "none", lines[4].replace("U1", "U8"), lines[5], *lines[:1]]
    with pytest.raises(audit.Tampered) as found:
        unprotected.read(lambda c: audit.verify_lines(c, given))
    assert str(found.value).splitlines() == [
        "Row 2 of the audit, or the one before it, was changed.",
        "Row 2 in the database differs from line 2.",
        "Line 3 is not a row of the audit.",
        "Row 5 in the database differs from line 4.",
        "Rows 3 to 4 are missing before line 4.",
        "Row 6 in the database differs from line 5.",
    ]


def test_lines_are_compared_in_pages(database: Database, clock: Clock) -> None:
    """Comparing many lines needs one query for each page of rows, not for each line."""
    filled(database, clock, 2 * audit.PAGE)
    lines: list[str] = []
    audit.stream(database, lines.append)
    with recorded_statements() as statements:
        database.read(lambda c: audit.verify_lines(c, lines))
    assert len(statements) <= 10
