# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Databases: their URLs, migrations and transactions."""

from __future__ import annotations

import shutil
import sqlite3
import stat
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import closing
from dataclasses import replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from threading import Barrier

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, event, inspect, text

from ansible_collections.postroom.email.tests.support.clock import START
from ansible_collections.postroom.email.tests.support.postgresql import (
    Cluster,
    binaries,
    fresh_database,
    stoppable_cluster,
)
from postroom_bot.store import audit, idempotency_keys, migrations, tables, tombstones
from postroom_bot.store.tables import metadata, migrate
from postroom_common.database import Database, DatabaseError

PAIRS = (("a", "b"), ("b", "a"))
LATER = """
from alembic import op

revision = "9001"
down_revision = "{head}"

def upgrade():
    op.execute("CREATE TABLE later (id INTEGER)")
"""


def checked(url: str) -> None:
    """Check a database's schema."""
    with closing(Database(url)) as database:
        tables.SCHEMA.check(database)


def test_an_empty_database_is_migrated(empty_url: str) -> None:
    """Checking an empty database names the migration command, which can be run repeatedly."""
    with pytest.raises(DatabaseError, match="run postroom-bot migrate"):
        checked(empty_url)
    migrate(empty_url)
    checked(empty_url)
    with closing(Database(empty_url)) as database:
        database.write(lambda c: idempotency_keys.record_if_new(c, "kept", at=START))
        migrate(empty_url)
        assert not database.write(lambda c: idempotency_keys.record_if_new(c, "kept", at=START))


def test_another_schema_is_migrated_or_left_alone(
    database: Database, database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An older schema is migrated together with its rows. A newer schema is left unchanged."""
    database.write(lambda c: idempotency_keys.record_if_new(c, "kept", at=START))
    (place,) = migrations.__path__
    head = ScriptDirectory(place).get_current_head()
    shutil.copytree(place, tmp_path / "later")
    (tmp_path / "later" / "versions" / "v9001_later.py").write_text(LATER.format(head=head))
    later = replace(tables.SCHEMA, location=str(tmp_path / "later"))
    monkeypatch.setattr(tables, "SCHEMA", later)
    with pytest.raises(DatabaseError, match=rf"schema {head} of an earlier version.* needs 9001"):
        checked(database_url)
    migrate(database_url)
    checked(database_url)
    assert not database.write(lambda c: idempotency_keys.record_if_new(c, "kept", at=START))
    database.write(lambda c: c.execute(text("UPDATE alembic_version SET version_num = '9999'")))
    for refuse in (checked, migrate):
        with pytest.raises(DatabaseError, match="schema 9999"):
            refuse(database_url)


def test_migrations_make_the_tables_known_here(database: Database) -> None:
    """Migrations create the same columns and indexes as the code defines."""

    def differences(connection: Connection) -> list[object]:
        options = {"compare_type": True}
        context = MigrationContext.configure(connection, opts=options)
        return list(compare_metadata(context, metadata))

    assert database.read(differences) == []
    naive = START.replace(tzinfo=None)
    with pytest.raises(Exception, match="timezone-aware"):
        database.write(lambda c: idempotency_keys.record_if_new(c, "a", at=naive))
    with pytest.raises(ValueError, match="timezone-aware"):
        database.write(lambda c: audit.append(c, "e", at=naive, actor="U1"))


@pytest.mark.full
def test_bots_may_migrate_at_the_same_time(empty_url: str) -> None:
    """Several processes can migrate the same empty database at the same time."""
    spawn = get_context("spawn").Process
    running = [spawn(target=migrate, args=(empty_url,), daemon=True) for _ in range(3)]
    for process in running:
        process.start()
    for process in running:
        process.join(60)
    assert [process.exitcode for process in running] == [0, 0, 0]
    checked(empty_url)


def test_a_new_file_that_another_process_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process waits while another one writes to the same new SQLite file."""
    with closing(sqlite3.connect(tmp_path / "a.sqlite", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        monkeypatch.setattr("time.sleep", lambda _seconds: other.rollback())
        migrate(str(tmp_path / "a.sqlite"))
    checked(str(tmp_path / "a.sqlite"))


def test_a_migration_that_fails_leaves_nothing(empty_url: str) -> None:
    """A failed migration leaves no tables behind."""
    with closing(Database(empty_url)) as database:
        database.write(lambda c: c.execute(text("CREATE TABLE tombstone (id INTEGER)")))
        with pytest.raises(DatabaseError, match=r"tombstone.* already exists") as found:
            migrate(empty_url)
        assert "\n" not in str(found.value)
        assert database.read(lambda c: inspect(c).get_table_names()) == ["tombstone"]


@pytest.mark.parametrize("url", ["sqlite:///{}/a.sqlite", "{}/a.sqlite"])
def test_a_sqlite_file_is_private(
    tmp_path: Path, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the owner can read an SQLite file, whether the setting is a path or a URL."""
    path = tmp_path / "a.sqlite"
    path.touch(0o644)
    migrate(url.format(tmp_path))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    monkeypatch.setattr("postroom_common.database.POOL_SIZE", 1)
    monkeypatch.setattr("postroom_common.database.POOL_TIMEOUT", 0.01)
    with (
        closing(Database(str(path))) as database,
        pytest.raises(DatabaseError, match=r"can't be used \(QueuePool limit"),
    ):
        database.read(lambda _: database.read(audit.rows))


def test_an_unusable_database_is_reported_in_one_line(tmp_path: Path) -> None:
    """The error for an unusable database is one line that contains the reason."""
    for url in ("sqlite:///:memory:", "sqlite:///a.sqlite?mode=ro", "mysql://h/x", "a://h:x"):
        with pytest.raises(
            DatabaseError, match=r"the database must be a file or a URL|unsupported database"
        ):
            Database(url)
    with pytest.raises(DatabaseError, match=r"a\.sqlite .*No such file"):
        Database(str(tmp_path / "none" / "a.sqlite"))
    path = tmp_path / "a.sqlite"
    path.write_text("Not a database, and longer than the header of one. " * 20)
    for refuse in (checked, migrate):
        with pytest.raises(DatabaseError, match="not a database"):
            refuse(str(path))
    url = f"postgresql://bot:canary@/bot?host={tmp_path}"
    with pytest.raises(DatabaseError, match="the database can't be used") as found:
        checked(url)
    assert "\n" not in str(found.value)
    assert "canary" not in str(found.value) + repr(vars(Database(url)))


def test_writers_of_a_file_take_turns(
    sqlite_template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second writer of an SQLite file waits for the first writer, up to a time limit.

    SQLite's own waiting is disabled here, so a writer that does not wait its turn fails.
    """
    database = Database(str(shutil.copy(sqlite_template, tmp_path / "bot.sqlite")))
    event.listen(database._engine, "connect", lambda c, _record: c.execute("PRAGMA busy_timeout=0"))
    order = list[str]()

    def first(_: Connection) -> Future[None]:
        second = pool.submit(database.write, lambda _: order.append("second"))
        wait([second], timeout=0.05)
        order.append("first")
        return second

    def slow(_: Connection) -> None:
        with pytest.raises(DatabaseError, match="it is too busy"):
            pool.submit(database.write, lambda _: None).result()

    with closing(database), ThreadPoolExecutor(1) as pool:
        database.write(first).result()
        assert order == ["first", "second"]
        monkeypatch.setattr("postroom_common.database.BUSY_TIMEOUT_MS", 50)
        database.write(slow)
        database.write(lambda _: None)


@pytest.mark.full
def test_a_deadlock_is_retried(postgresql_url: str, postgresql_template: str) -> None:
    """PostgreSQL rolls back a transaction after a deadlock, and the store runs it again."""
    barrier = Barrier(2)
    runs: list[str] = []

    def work(connection: Connection, first: str, second: str) -> None:
        runs.append(first)
        tombstones.add(connection, first, "x", at=START, until=START)
        if len(runs) <= 2:
            barrier.wait(60)
        tombstones.add(connection, second, "x", at=START, until=START)

    with fresh_database(postgresql_url, postgresql_template) as url:
        database = Database(url)
        with ThreadPoolExecutor(2) as pool:
            both = [pool.submit(database.write, partial(work, first=a, second=b)) for a, b in PAIRS]
        assert [one.result() for one in both] == [None, None]
        database.close()
    assert len(runs) > 2


@pytest.fixture(scope="module")
def server() -> Iterator[Cluster]:
    """Run a PostgreSQL server that the tests may suspend."""
    place = binaries()
    with stoppable_cluster(place) as running:
        yield running


@pytest.mark.full
@pytest.mark.parametrize("postmaster", [True, False])
def test_no_wait_for_a_suspended_server_is_endless(server: Cluster, *, postmaster: bool) -> None:
    """Statements and new connections fail if PostgreSQL is silent, and work when it is back."""
    with closing(Database(server.url)) as database:

        def interrupted(connection: Connection) -> None:
            with server.suspended(postmaster=postmaster):
                connection.execute(text("SELECT 1"))

        with pytest.raises(DatabaseError, match="not responding"):
            database.write(interrupted)
        assert database.read(lambda c: c.scalar(text("SELECT 1"))) == 1
        with server.suspended(), pytest.raises(DatabaseError):
            database.read(lambda c: c.scalar(text("SELECT 1")))
        assert database.read(lambda c: c.scalar(text("SELECT 1"))) == 1


@pytest.mark.full
def test_statements_have_a_time_limit(server: Cluster) -> None:
    """PostgreSQL ends long statements, waits for locks and idle transactions by itself."""
    limits = ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout")

    def shown(connection: Connection) -> list[str]:
        return [connection.scalar(text(f"SHOW {name}")) for name in limits]

    with closing(Database(server.url)) as database:
        assert database.read(shown) == ["8s", "5s", "20s"]
        assert database.read(shown, seconds=3600) == ["1h"] * 3
        assert database.read(shown) == ["8s", "5s", "20s"]
        short = "SET LOCAL statement_timeout = 1"
        with pytest.raises(DatabaseError, match="statement timeout"):
            database.write(lambda c: [c.execute(text(it)) for it in (short, "SELECT pg_sleep(9)")])
        ended = "SELECT pg_terminate_backend(pg_backend_pid())"
        with pytest.raises(DatabaseError):
            database.write(lambda c: c.execute(text(ended)))
    with closing(Database(f"{server.url}&options=-c%20statement_timeout%3D3s")) as database:
        assert database.read(shown) == ["3s", "5s", "20s"]
