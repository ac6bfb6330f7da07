# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Which databases a program may be given, and what a failing one is told as."""

from __future__ import annotations

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from postroom_service import tokens
from postroom_service.__main__ import main
from postroom_service.database import Database, DatabaseError, has_password, is_memory

MEMORY = ["memory", ":memory:", "sqlite://", "sqlite:///", "sqlite+pysqlite:///:memory:"]
FILES = ["memory.sqlite3", "./memory", "sqlite:////x/:memory:", "postgresql://h/d"]
REFUSED = {
    "file::memory:?cache=shared": "named by its path",
    "sqlite:///file:x?mode=memory&uri=true": "named by its path",
    "sqlite:///:memory:?cache=shared": "named by its path",
    "sqlite://host/x": "named by its path",
    "postgresql+asyncpg:///x": "not postgresql",
    "sqlite+aiosqlite:///x": "not sqlite",
    "postgresql://h:port/x": "a file, a URL",
}
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
    assert not any(map(is_memory, FILES))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("where", "reason"), REFUSED.items())
def test_other_databases_are_refused(
    where: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Drivers that are not installed and options in an SQLite URL are refused; no file is made."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DatabaseError, match=reason):
        Database(where)
    assert list(tmp_path.iterdir()) == []


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


@pytest.mark.parametrize("backend", ["file", pytest.param("postgresql", marks=pytest.mark.full)])
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


def test_a_failing_database_is_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A failing command prints the database's reason without traceback or statement."""
    file = tmp_path / "x.sqlite3"
    assert main(["token", "list", "--database", str(file)]) == 0
    with sqlite3.connect(file) as connection:
        connection.execute("DROP TABLE token")
    connection.close()
    capsys.readouterr()
    assert main(["token", "create", "--tenant", "x", "--database", str(file)]) == 2
    message = capsys.readouterr().err
    assert "(no such table: token)" in message
    assert message.count("\n") == 1
