# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Which databases a program may be given, and what a failing one is told as."""

from __future__ import annotations

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest
from sqlalchemy import Connection, func, select

from postroom_service import tables, tokens
from postroom_service.__main__ import main
from postroom_service.database import Database, DatabaseError, has_password, is_memory

MEMORY = ["memory", ":memory:", "sqlite://", "sqlite:///", "sqlite:///:memory:"]
MEMORY += ["sqlite+pysqlite:///:memory:"]
FILES = ["memory.sqlite3", "./memory", "sqlite:///x", "sqlite:////x/:memory:", "postgresql://h/d"]
NO_PATHS = [
    "file:x",
    "file::memory:?cache=shared",
    "file:///x?mode=memory",
    "sqlite:///file:x?mode=memory&uri=true",
    "sqlite:///file::memory:",
    "sqlite:///x?mode=memory",
    "sqlite:///:memory:?cache=shared",
    "sqlite://host/x",
]
RACERS = 8


@pytest.mark.parametrize("where", MEMORY)
def test_memory_has_several_spellings(
    where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each way to write a memory database makes one, and no file."""
    monkeypatch.chdir(tmp_path)
    database = Database(where)
    database.prepare()
    assert database.write(lambda connection: tokens.ensure_tenant(connection, "acme")) == 1
    database.close()
    assert is_memory(where)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("where", FILES)
def test_other_databases_are_not_memory(where: str) -> None:
    """Neither a file whose name is similar nor a server is taken for memory."""
    assert not is_memory(where)


@pytest.mark.parametrize("where", NO_PATHS)
def test_sqlite_takes_no_options(
    where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A `file:` URI and options in the URL are refused before a file is made."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DatabaseError, match="a SQLite database is named by its path or memory"):
        Database(where)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "driver", ["postgresql+asyncpg", "postgresql+psycopg2", "sqlite+aiosqlite"]
)
def test_other_drivers_are_refused(driver: str) -> None:
    """A driver that isn't installed with the service is no database of its."""
    with pytest.raises(DatabaseError, match="databases are SQLite and PostgreSQL, not"):
        Database(f"{driver}:///x")


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("postgresql://u:p@h/d", True),
        ("postgresql://u@h/d?password=p", True),
        ("postgresql://h/d?user=u&sslpassword=p", True),
        ("postgresql://u@h/d?connect_timeout=3", False),
        ("postgresql:///d?host=/run&passfile=/x", False),
        ("password=p", False),
        ("memory", False),
    ],
)
def test_a_password_is_found_wherever_a_url_has_it(where: str, expected: bool) -> None:
    """A password is one in the query, too; the path of a file with one is none."""
    assert has_password(where) is expected


@pytest.mark.parametrize("backend", ["file", "postgresql"])
def test_a_tenant_is_made_once(
    backend: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """All who make one tenant at once get its number."""
    file = str(tmp_path / "x.sqlite3")
    database = Database(file if backend == "file" else request.getfixturevalue("postgresql_url"))
    database.prepare()
    barrier = Barrier(RACERS)

    def make(name: str) -> int:
        barrier.wait()
        return database.write(lambda connection: tokens.ensure_tenant(connection, name))

    with ThreadPoolExecutor(RACERS) as pool:
        for n in range(10):
            assert len(set(pool.map(make, [f"race-{backend}-{n}"] * RACERS))) == 1
    database.close()


def test_a_tenant_that_another_has_just_made_is_found(postgresql_url: str) -> None:
    """Who looked before another committed a tenant waits for them and gets the same number."""
    database = Database(postgresql_url)
    database.prepare()
    looked = Barrier(2)

    class Late:
        """A connection whose first look is followed by the other's creation."""

        def __init__(self, connection: Connection) -> None:
            self.dialect = connection.dialect
            self.execute = connection.execute
            self._connection = connection

        def scalar(self, query: object) -> object:
            found = self._connection.scalar(query)  # type: ignore[call-overload]
            looked.wait(60)
            return found

    def make(_n: int) -> int:
        return database.write(lambda connection: tokens.ensure_tenant(Late(connection), "late"))  # type: ignore[arg-type]

    with ThreadPoolExecutor(2) as pool:
        numbers = list(pool.map(make, range(2)))
    count = select(func.count()).where(tables.tenant.c.name == "late")
    assert len(set(numbers)) == 1
    assert database.read(lambda connection: connection.scalar(count)) == 1
    database.close()


def test_a_failing_database_is_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What the database refuses amid a command is told without traceback or statement."""
    file = tmp_path / "x.sqlite3"
    assert main(["token", "list", "--database", str(file)]) == 0
    with sqlite3.connect(file) as connection:
        connection.execute("DROP TABLE token")
    connection.close()
    capsys.readouterr()
    assert main(["token", "create", "--tenant", "x", "--database", str(file)]) == 2
    expected = "postroom-service: the database failed (no such table: token)\n"
    assert capsys.readouterr().err == expected
