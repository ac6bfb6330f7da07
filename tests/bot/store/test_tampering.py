# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Whoever gets past the triggers is found out: by the chain, its end, or the streamed lines."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection, LargeBinary, cast, delete, insert, select, text, update

from ansible_collections.postroom.email.tests.support.clock import Clock
from postroom_bot.store import audit, tables
from postroom_bot.store.database import Database

Rows = list[dict[str, Any]]
COUNT = 6
COLUMNS = ("at", "actor", "event", "request", "data", "prev_hash", "hash")
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)
VALUES = TEXTS | st.sampled_from(["{}", '{ "number": 1}', "R-1", "U1", "0" * 64])
PLACES = st.integers(0, COUNT - 1)


class Undone(Exception):
    """Ends a transaction that was for looking only."""


@pytest.fixture
def open_database(database: Database) -> Database:
    """Give a database with a few rows and without the triggers that protect them."""
    return opened(database)


def opened(database: Database) -> Database:
    """Fill a database and take the triggers away."""

    def work(connection: Connection) -> None:
        for number in range(COUNT):
            audit.append(
                connection,
                f"event {number % 2}",
                at=datetime(2026, 11, 21, 12, number, tzinfo=UTC),
                actor="U1",
                request_id="R-1" if number % 2 else None,
                data={"number": number % 3},
            )
        for statement in _no_triggers(database):
            connection.execute(text(statement))

    database.write(work)
    return database


def _no_triggers(database: Database) -> list[str]:
    if database.is_sqlite:
        names = ("audit_no_update", "audit_no_delete", "audit_head_no_update")
        return [f"DROP TRIGGER {name}" for name in names]
    return [f"ALTER TABLE {name} DISABLE TRIGGER USER" for name in ("audit", "audit_head")]


@st.composite
def edited(draw: st.DrawFn) -> Callable[[Rows], None]:
    """Draw an edit of one value, with or without a new hash for that row."""
    place, column, value = draw(PLACES), draw(st.sampled_from(COLUMNS)), draw(VALUES)
    rehashed = draw(st.booleans()) and column not in ("data", "prev_hash", "hash")

    def tamper(rows: Rows) -> None:
        rows[place][column] = value
        if rehashed:
            rows[place]["hash"] = _right_hash(rows[place])

    return tamper


@st.composite
def removed(draw: st.DrawFn) -> Callable[[Rows], None]:
    """Draw a removal of some rows in a line, up to the tail, with or without new numbers."""
    first, numbered = draw(PLACES), draw(st.booleans())
    behind = draw(st.integers(first + 1, COUNT))

    def tamper(rows: Rows) -> None:
        del rows[first:behind]
        if numbered:
            _number(rows)

    return tamper


@st.composite
def inserted(draw: st.DrawFn) -> Callable[[Rows], None]:
    """Draw a row that is put anywhere, with the right hash there, with or without new numbers."""
    place, model = draw(st.integers(0, COUNT)), draw(PLACES)
    number = draw(st.none() | st.integers(-3, 0) | st.integers(COUNT + 1, COUNT + 3))

    def tamper(rows: Rows) -> None:
        before = rows[place - 1]["hash"] if place else audit.START
        row = rows[model] | {"actor": "U666", "prev_hash": before, "seq": number or 0}
        rows.insert(place, row)
        if number is None:
            _number(rows)
        row["hash"] = _right_hash(row)

    return tamper


@st.composite
def reordered(draw: st.DrawFn) -> Callable[[Rows], None]:
    """Draw another order, the numbers staying where they were."""
    order = draw(st.permutations(range(COUNT)))

    def tamper(rows: Rows) -> None:
        rows[:] = [rows[place] for place in order]
        _number(rows)

    return tamper


def _number(rows: Rows) -> None:
    for number, row in enumerate(rows, 1):
        row["seq"] = number


def _right_hash(row: dict[str, Any]) -> str:
    fields = dict(row)
    fields["data"] = json.loads(fields["data"])
    fields["request_id"] = fields.pop("request")
    return audit._hash(audit.AuditRow(**fields))


@settings(
    deadline=None,
    max_examples=200,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(tamper=edited() | removed() | inserted() | reordered())
def test_whatever_was_done_is_found(
    open_database: Database, tamper: Callable[[Rows], None]
) -> None:
    """Any edit, removal, insertion, new order or cut tail is found in the database alone."""

    def work(connection: Connection) -> None:
        before = _rows(connection)
        after = [dict(row) for row in before]
        tamper(after)
        assume(after != before)
        connection.execute(delete(tables.audit))
        if after:
            connection.execute(insert(tables.audit), after)
        with pytest.raises(audit.Tampered) as found:
            audit.verify(connection)
        assert str(found.value).endswith(".")
        raise Undone

    with pytest.raises(Undone):
        open_database.write(work)
    assert open_database.read(audit.verify).count == COUNT


def _rows(connection: Connection) -> Rows:
    found = connection.execute(select(tables.audit).order_by(tables.audit.c.seq))
    return [dict(row) for row in found.mappings()]


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE audit_head SET hash = 'x'",
        "UPDATE audit_head SET seq = seq + 1",
        "UPDATE audit SET data = 'no JSON' WHERE seq = 2",
        "UPDATE audit SET data = '[NaN]' WHERE seq = 2",
    ],
)
def test_what_can_t_be_read_is_found(open_database: Database, statement: str) -> None:
    """The end that was written down counts as much as the rows, and nonsense is no way out."""
    open_database.write(lambda c: c.execute(text(statement)))
    with pytest.raises(audit.Tampered):
        open_database.read(audit.verify)


def test_no_end_is_found(open_database: Database) -> None:
    """Without the end that was written down nothing is in order."""
    if open_database.is_sqlite:
        open_database.write(lambda c: c.execute(text("DROP TRIGGER audit_head_no_delete")))
    open_database.write(lambda c: c.execute(delete(tables.audit_head)))
    with pytest.raises(audit.Tampered):
        open_database.read(audit.verify)


@pytest.mark.parametrize("name", COLUMNS)
def test_binary_values_are_found(name: str, sqlite_template: Path, tmp_path: Path) -> None:
    """SQLite keeps bytes in a column of text; they are not what was written."""
    database = opened(Database(str(shutil.copy(sqlite_template, tmp_path))))
    binary = {name: cast(tables.audit.c[name], LargeBinary)}
    database.write(lambda c: c.execute(update(tables.audit).filter_by(seq=4).values(binary)))
    with pytest.raises(audit.Tampered) as found:
        database.read(audit.verify)
    assert found.value.seq == 4
    database.close()


def test_a_whole_new_chain_is_found_in_the_lines(open_database: Database, clock: Clock) -> None:
    """Who writes the rows and the end anew deceives the database, and not the streamed lines."""
    lines: list[str] = []
    audit.stream(open_database, lines.append)
    open_database.write(lambda c: c.execute(delete(tables.audit)))
    anew = update(tables.audit_head).values(seq=0, hash=audit.START)
    open_database.write(lambda c: c.execute(anew))
    open_database.write(lambda c: audit.append(c, "tested", at=clock(), actor="U1"))
    assert open_database.read(audit.verify).count == 1
    with pytest.raises(audit.Tampered, match="line 1"):
        open_database.read(lambda c: audit.verify_lines(c, lines))


def test_lines_are_compared(open_database: Database) -> None:
    """Lines may begin late, repeat and lag behind; none may be changed, missing or strange."""
    lines: list[str] = []
    audit.stream(open_database, lines.append)

    def compared(found: list[str]) -> int:
        return open_database.read(lambda c: audit.verify_lines(c, found)).count

    assert compared([]) == 0
    assert compared([f"{line}\n" for line in lines]) == COUNT
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
