# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Databases: their URLs, migrations, transactions, and what a crash leaves of them."""

from __future__ import annotations

import contextlib
import shutil
import stat
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from threading import Barrier, Event

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Connection, event, inspect, text

from ansible_collections.postroom.email.tests.bot.store import actors
from ansible_collections.postroom.email.tests.support.clock import START
from ansible_collections.postroom.email.tests.support.postgresql import fresh_database
from postroom_bot.store import audit, inbox, migrations, requests, schema, tombstones
from postroom_bot.store.database import Database, DatabaseError, migrate
from postroom_bot.store.tables import metadata

PROCESSES = 3
PAIRS = (("a", "b"), ("b", "a"))
LATER = """
from alembic import op

revision = "0002"
down_revision = "0001"

def upgrade():
    op.execute("CREATE TABLE later (id INTEGER)")
"""


def checked(url: str) -> None:
    """Check a database's schema."""
    database = Database(url)
    try:
        database.check()
    finally:
        database.close()


def test_an_empty_database_is_migrated(empty_url: str) -> None:
    """An empty database is told what it needs, gets all tables, and loses nothing by more calls."""
    with pytest.raises(DatabaseError, match="is empty: run postroom-bot migrate"):
        checked(empty_url)
    migrate(empty_url)
    checked(empty_url)
    database = Database(empty_url)
    database.write(lambda c: inbox.first(c, "kept", at=START))
    migrate(empty_url)
    assert not database.write(lambda c: inbox.first(c, "kept", at=START))
    database.close()


def test_migrations_make_the_tables_known_here(database: Database) -> None:
    """The tables after all migrations are those that the code describes, columns and indexes."""

    def differences(connection: Connection) -> list[object]:
        options = {"compare_type": True}
        context = MigrationContext.configure(connection, opts=options)
        return list(compare_metadata(context, metadata))

    assert database.read(differences) == []


def test_bots_may_start_at_the_same_time(empty_url: str) -> None:
    """Processes that migrate one empty database at once all succeed."""
    running = [actors.started(actors.migrating, empty_url) for _ in range(PROCESSES)]
    assert [actors.ended(one) for one in running] == [0] * PROCESSES
    checked(empty_url)


def test_an_older_schema_is_brought_up(
    database: Database, database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A later version says what an older database needs, and migrates it with all its rows."""
    database.write(lambda c: inbox.first(c, "kept", at=START))
    (place,) = migrations.__path__
    shutil.copytree(place, tmp_path / "later")
    (tmp_path / "later" / "versions" / "v0002_later.py").write_text(LATER)
    monkeypatch.setattr(schema, "LOCATION", str(tmp_path / "later"))
    with pytest.raises(DatabaseError, match=r"schema 0001 of an earlier version.* needs 0002"):
        checked(database_url)
    migrate(database_url)
    checked(database_url)
    assert not database.write(lambda c: inbox.first(c, "kept", at=START))


def test_a_later_schema_is_left_alone(database: Database, database_url: str) -> None:
    """A database of a later version is neither used nor changed, and the sentence says so."""
    database.write(lambda c: c.execute(text("UPDATE alembic_version SET version_num = '0099'")))
    for refuse in (checked, migrate):
        with pytest.raises(DatabaseError, match="schema 0099, which this version doesn't know"):
            refuse(database_url)


def test_a_migration_that_fails_leaves_nothing(empty_url: str) -> None:
    """Where another program's table is in the way, none of the bot's is made."""
    database = Database(empty_url)
    database.write(lambda c: c.execute(text("CREATE TABLE tombstone (id INTEGER)")))
    with pytest.raises(DatabaseError, match=r"tombstone.* already exists") as found:
        migrate(empty_url)
    assert "\n" not in str(found.value)
    assert database.read(lambda c: inspect(c).get_table_names()) == ["tombstone"]
    database.close()


@pytest.mark.parametrize("url", ["sqlite:///{}/a.sqlite", "{}/a.sqlite"])
def test_sqlite_is_named_by_its_path(tmp_path: Path, url: str) -> None:
    """A path and a URL name the same file, which only its owner may read."""
    migrate(url.format(tmp_path))
    mode = (tmp_path / "a.sqlite").stat().st_mode
    assert stat.S_IMODE(mode) == 0o600


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("sqlite://", "a SQLite database is a file, with no options"),
        ("sqlite:///:memory:", "a SQLite database is a file"),
        ("sqlite:///a.sqlite?mode=ro", "with no options"),
        ("file:a.sqlite", "the database is a file or a URL"),
        (":memory:", "the database is a file or a URL"),
        ("postgresql://host:port/x", "the database is a file or a URL"),
        ("mysql://host/x", "databases are SQLite and PostgreSQL, not mysql"),
    ],
)
def test_other_urls_are_refused(url: str, sentence: str) -> None:
    """What is no file and no PostgreSQL is refused with a sentence."""
    with pytest.raises(DatabaseError, match=sentence):
        Database(url)


def test_a_folder_that_isn_t_there(tmp_path: Path) -> None:
    """A file that can't be made is named, with the reason."""
    with pytest.raises(DatabaseError, match=r"a\.sqlite can't be used \(No such file"):
        Database(str(tmp_path / "none" / "a.sqlite"))


def test_a_file_of_another_kind(tmp_path: Path) -> None:
    """A file that is no database is told in one sentence."""
    path = tmp_path / "a.sqlite"
    path.write_text("Something else entirely, and long enough to be looked at. " * 20)
    for refuse in (checked, migrate):
        with pytest.raises(DatabaseError, match=r"can't be used \(file is not a database\)"):
            refuse(str(path))


def test_a_server_that_isn_t_there(tmp_path: Path) -> None:
    """Without a server there is one sentence, and no password in it."""
    url = f"postgresql://bot:canary@/bot?host={tmp_path}"
    with pytest.raises(DatabaseError, match="the database can't be used") as found:
        checked(url)
    assert "canary" not in str(found.value)
    assert "canary" not in repr(vars(Database(url)))


def test_too_many_at_once(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who waits too long for a connection is told in a sentence, as with any other trouble."""
    monkeypatch.setattr("postroom_bot.store.database.POOL_SIZE", 1)
    monkeypatch.setattr("postroom_bot.store.database.POOL_SECONDS", 0.01)
    database = Database(database_url)
    with pytest.raises(DatabaseError, match=r"can't be used \(QueuePool limit"):
        database.read(lambda _: database.read(audit.rows))
    database.close()


def test_writers_of_a_file_wait_in_line(sqlite_template: Path, tmp_path: Path) -> None:
    """A writer is let in as soon as the one before is done; it does not look again and again.

    Where SQLite itself lets nobody wait, a writer that asked it too early would have failed.
    """
    database = Database(str(shutil.copy(sqlite_template, tmp_path / "bot.sqlite")))
    event.listen(database._engine, "connect", lambda c, _record: c.execute("PRAGMA busy_timeout=0"))
    begun, order = Event(), []

    def second() -> None:
        begun.set()
        database.write(lambda c: order.append("second"))

    def first(c: Connection) -> Future[None]:
        waiting = pool.submit(second)
        begun.wait()
        # It would have failed by then.
        with contextlib.suppress(TimeoutError):
            waiting.result(timeout=0.2)
        order.append("first")
        return waiting

    with contextlib.closing(database), ThreadPoolExecutor(1) as pool:
        database.write(first).result()
    assert order == ["first", "second"]


def test_a_writer_does_not_wait_in_line_for_ever(
    sqlite_template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever waits longer than SQLite would let them is told so, and the next one is served."""
    monkeypatch.setattr("postroom_bot.store.database.BUSY_TIMEOUT_MS", 50)
    database = Database(str(shutil.copy(sqlite_template, tmp_path / "bot.sqlite")))

    def slow(c: Connection) -> None:
        with pytest.raises(DatabaseError, match="it is too busy"):
            pool.submit(database.write, lambda c: None).result()

    with contextlib.closing(database), ThreadPoolExecutor(1) as pool:
        database.write(slow)
        database.write(lambda c: None)


def test_a_deadlock_is_tried_again(postgresql_url: str, postgresql_template: str) -> None:
    """Where PostgreSQL undoes one of two transactions, it runs again, and both are done."""
    barrier = Barrier(2)
    runs: list[str] = []

    def work(connection: Connection, first: str, second: str) -> None:
        runs.append(first)
        tombstones.bury(connection, first, "x", at=START, until=START)
        if len(runs) <= 2:
            barrier.wait(actors.PATIENCE)
        tombstones.bury(connection, second, "x", at=START, until=START)

    with fresh_database(postgresql_url, postgresql_template) as url:
        database = Database(url)
        with ThreadPoolExecutor(2) as pool:
            both = [pool.submit(database.write, partial(work, first=a, second=b)) for a, b in PAIRS]
        assert [one.result() for one in both] == [None, None]
        database.close()
    assert len(runs) > 2


def test_times_need_a_zone(database: Database) -> None:
    """A time without zone is refused, since nobody knows when it is."""
    naive = START.replace(tzinfo=None)
    with pytest.raises(Exception, match="needs its time zone"):
        database.write(lambda c: inbox.first(c, "a", at=naive))
    with pytest.raises(ValueError, match="needs its time zone"):
        database.write(lambda c: audit.append(c, "e", at=naive, actor="U1"))


def test_a_copy_after_a_crash_is_whole(sqlite_template: Path, tmp_path: Path) -> None:
    """A process is killed; the file and its log, copied as they are, hold all it had committed."""
    path = Path(shutil.copy(sqlite_template, tmp_path / "bot.sqlite"))
    assert actors.ended(actors.started(actors.dying, str(path), 20)) != 0
    restored = tmp_path / "restored"
    restored.mkdir()
    for name in ("bot.sqlite", "bot.sqlite-wal"):
        shutil.copy(tmp_path / name, restored)
    assert (restored / "bot.sqlite-wal").stat().st_size
    database = Database(str(restored / "bot.sqlite"))
    database.check()
    assert len(database.read(lambda c: requests.open_by(c, "U1"))) == 20
    assert database.read(audit.verify).count == 20
    database.close()
