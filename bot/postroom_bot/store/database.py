# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Engines and transactions, on an SQLite file and on PostgreSQL."""

from __future__ import annotations

import contextlib
import os
import random
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import (
    ArgumentError,
    InterfaceError,
    OperationalError,
    SQLAlchemyError,
)
from sqlalchemy.exc import TimeoutError as NoConnection

from . import schema

# Connection: for whoever writes functions that run in a transaction, and knows no SQL.
__all__ = ["Connection", "Database", "DatabaseError", "check_url", "migrate"]

POOL_SIZE = 16
POOL_SECONDS = 10
BUSY_TIMEOUT_MS = 10_000
ATTEMPTS = 8

_RETRYABLE = frozenset({"40001", "40P01"})  # serialization_failure, deadlock_detected
_FORMS = "the database is a file or a URL such as postgresql://host/name"

T = TypeVar("T")


class DatabaseError(Exception):
    """The database can't be used; the message is a sentence for the one who runs the bot."""


class Database:
    """Runs functions in transactions: `read` sees one snapshot, `write` commits all or nothing.

    Any thread may use it. Nothing is opened before the first transaction.

    :param url: a file's path, or a URL such as ``postgresql://host/name``
    :param create: whether to make an SQLite file that is not there
    :raises DatabaseError: from each method, if the database can't be used
    """

    def __init__(self, url: str, *, create: bool = True) -> None:
        parsed = _url(url)
        self.is_sqlite = parsed.get_backend_name() == "sqlite"
        if self.is_sqlite:
            _private_file(str(parsed.database), create=create)
        #: A file is named in what is told of it; a server's address may hold a password.
        self.name = f"the database {parsed.database}" if self.is_sqlite else "the database"
        engine = _sqlite_engine(parsed) if self.is_sqlite else _postgresql_engine(parsed)
        self._engine = engine
        snapshot = {} if self.is_sqlite else {"isolation_level": "REPEATABLE READ"}
        self._reader = engine.execution_options(**snapshot)
        self._writer = engine.execution_options(immediate=True)
        self._turn = _Turn() if self.is_sqlite else contextlib.nullcontext()

    def read(self, work: Callable[[Connection], T]) -> T:
        """Run `work` on a snapshot."""
        with _sentences(self.name), self._reader.begin() as connection:
            return work(connection)

    def write(self, work: Callable[[Connection], T]) -> T:
        """Run `work` and commit; `work` may run again if PostgreSQL asks for it."""
        for attempt in range(1, ATTEMPTS + 1):
            try:
                with self._turn, _sentences(self.name), self._writer.begin() as connection:
                    return work(connection)
            except _Conflict:
                if attempt == ATTEMPTS:
                    raise
            time.sleep(random.uniform(0, 0.01 * 2**attempt))  # noqa: S311 only spreads the tries
        raise AssertionError("unreachable")

    def check(self) -> None:
        """Raise DatabaseError, with what to do, if the schema is not the one known here."""
        with _sentences(self.name, SQLAlchemyError):
            problem = self.read(schema.problem)
        if problem:
            raise DatabaseError(problem)

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()


class _Turn:
    """The right to write to an SQLite file, for one thread of this process at a time.

    SQLite has writers look again and again whether they may begin; under load, whoever has no luck
    there waits for seconds. Who waits here is woken.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        if not self._lock.acquire(timeout=BUSY_TIMEOUT_MS / 1000):
            raise DatabaseError("the database can't be used (it is too busy)")

    def __exit__(self, *error: object) -> None:
        self._lock.release()


class _Conflict(DatabaseError):
    """PostgreSQL undid a transaction in favour of another; it may be run again."""


def check_url(url: str) -> None:
    """Raise DatabaseError if this names no database that can be used; nothing is opened."""
    _url(url)


def migrate(url: str) -> None:
    """Bring a database, which may be empty, to the schema known here.

    Bots that start at the same time take turns.

    :raises DatabaseError: if it can't be used, or was made by a later version
    """
    database = Database(url)
    try:
        with _sentences(database.name, SQLAlchemyError):
            problem = database.write(schema.upgrade)
        if problem:
            raise DatabaseError(problem)
    finally:
        database.close()


@contextlib.contextmanager
def _sentences(name: str, *kinds: type[SQLAlchemyError]) -> Iterator[None]:
    """Turn errors of these kinds into a sentence without values.

    By default those of the database itself; others are the program's, unless it only just starts.
    """
    try:
        yield
    except SQLAlchemyError as error:
        if getattr(getattr(error, "orig", None), "sqlstate", None) in _RETRYABLE:
            raise _Conflict(f"{name} is too busy ({_reason(error)})") from None
        if isinstance(error, kinds or (OperationalError, InterfaceError, NoConnection)):
            raise DatabaseError(f"{name} can't be used ({_reason(error)})") from None
        raise


def _reason(error: SQLAlchemyError) -> str:
    """Give what the database said, in one line without statement and parameters."""
    said = getattr(error, "orig", None) or next(iter(error.args), type(error).__name__)
    return " ".join(str(said).split()).rstrip(".")


def _url(where: str) -> URL:
    if "://" not in where and not where.startswith("file:") and where.strip(": ") != "memory":
        return URL.create("sqlite", database=str(Path(where).expanduser().absolute()))
    try:
        url = make_url(where)
    except (ArgumentError, ValueError):
        raise DatabaseError(_FORMS) from None
    if url.drivername in ("postgres", "postgresql", "postgresql+psycopg"):
        return url.set(drivername="postgresql+psycopg")
    if url.drivername in ("sqlite", "sqlite+pysqlite"):
        return _sqlite_url(url)
    raise DatabaseError(f"databases are SQLite and PostgreSQL, not {url.drivername}")


def _sqlite_url(url: URL) -> URL:
    path = url.database or ""
    if url.host or url.query or path in ("", ":memory:") or path.startswith("file:"):
        raise DatabaseError(f"{_FORMS}; a SQLite database is a file, with no options")
    return URL.create("sqlite", database=path)


def _sqlite_engine(url: URL) -> Engine:
    engine = create_engine(
        url,
        pool_size=POOL_SIZE,
        max_overflow=0,
        pool_timeout=POOL_SECONDS,
        hide_parameters=True,
    )
    event.listen(engine, "connect", _configure_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _postgresql_engine(url: URL) -> Engine:
    return create_engine(
        url,
        pool_size=POOL_SIZE,
        max_overflow=0,
        pool_timeout=POOL_SECONDS,
        pool_pre_ping=True,
        hide_parameters=True,
    )


def _private_file(path: str, *, create: bool) -> None:
    """Make the file readable by its owner only; SQLite gives -wal and -shm the same mode."""
    flags = os.O_RDWR | os.O_CLOEXEC | (os.O_CREAT if create else 0)
    try:
        os.close(os.open(path, flags, 0o600))
        if Path(path).stat().st_mode & 0o077:
            Path(path).chmod(0o600)
    except OSError as error:
        if not create and isinstance(error, FileNotFoundError):
            raise DatabaseError(f"there is no file {path}: check the setting database") from None
        raise DatabaseError(f"the database file {path} can't be used ({error.strerror})") from None


def _configure_sqlite(connection: Any, _record: Any) -> None:
    connection.isolation_level = None  # transactions are begun below, not by the driver
    for pragma in (
        f"busy_timeout={BUSY_TIMEOUT_MS}",
        "journal_mode=WAL",
        "synchronous=FULL",  # an acknowledged request survives the loss of power
        "foreign_keys=ON",
    ):
        connection.execute(f"PRAGMA {pragma}").close()


def _begin_sqlite(connection: Connection) -> None:
    # A write takes its lock first: a snapshot that turns into a write fails after another.
    immediate = connection.get_execution_options().get("immediate")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if immediate else "BEGIN")
