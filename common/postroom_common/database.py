# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Transactions on SQLite (file or in-memory) and PostgreSQL databases."""

from __future__ import annotations

import contextlib
import os
import random
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import (
    ArgumentError,
    DBAPIError,
    InterfaceError,
    OperationalError,
    SQLAlchemyError,
)
from sqlalchemy.exc import TimeoutError as NoConnection
from sqlalchemy.pool import StaticPool

from . import postgresql

# Connection is re-exported for modules that run in a transaction but contain no SQL.
__all__ = [
    "Connection",
    "Database",
    "DatabaseError",
    "check_url",
    "has_password",
    "readable_errors",
]

POOL_SIZE = 16
POOL_TIMEOUT = 10
BUSY_TIMEOUT_MS = 10_000
MAX_ATTEMPTS = 8

_RETRYABLE = frozenset({"40001", "40P01"})  # serialization_failure, deadlock_detected
_FORMS = "the database must be a file or a URL such as postgresql://host/name"

T = TypeVar("T")


class DatabaseError(Exception):
    """The database can't be used. The exception's message is intended for the operator."""


class Database:
    """A database that runs functions in transactions.

    Instances are thread-safe, and connect when the first transaction begins.

    :param where: a file path, a URL such as ``postgresql://host/name``, or ``memory``
    :param create: whether to create an SQLite file that doesn't exist
    :param memory: whether to accept ``memory``
    :raises DatabaseError: if the database can't be used; also raised by `read` and `write`
    """

    def __init__(self, where: str, *, create: bool = True, memory: bool = False) -> None:
        url = _url(where, memory=memory)
        self.is_sqlite = url.get_backend_name() == "sqlite"
        self.is_memory = self.is_sqlite and not url.database
        #: The database's name in messages. It may include a file path, but never a URL, because a
        #: URL may contain a password.
        self.name = "the database"
        if self.is_sqlite and not self.is_memory:
            _make_private(str(url.database), create=create)
            self.name += f" {url.database}"
        self._engine = _create_engine(url)
        snapshot = {} if self.is_sqlite else {"isolation_level": "REPEATABLE READ"}
        self._reader = self._engine.execution_options(**snapshot)
        self._writer = self._engine.execution_options(immediate=True)
        self._write_lock = _Lock() if self.is_sqlite else contextlib.nullcontext()
        # An in-memory database has a single connection, which only one thread may use at a time.
        self._read_lock = self._write_lock if self.is_memory else contextlib.nullcontext()

    def read(self, work: Callable[[Connection], T], *, seconds: int | None = None) -> T:
        """Run `work` on a snapshot, and return its result.

        :param seconds: the limit for each statement on PostgreSQL, if the default is too short
        """
        engine = self._reader.execution_options(seconds=seconds)
        with self._read_lock, readable_errors(self.name), engine.begin() as connection:
            return work(connection)

    def write(self, work: Callable[[Connection], T], *, seconds: int | None = None) -> T:
        """Run `work`, commit, and return the result. On PostgreSQL, `work` may run repeatedly.

        :param seconds: the limit for each statement on PostgreSQL, if the default is too short
        """
        engine = self._writer.execution_options(seconds=seconds)
        for attempt in range(1, MAX_ATTEMPTS + 1):
            try:
                with self._write_lock, readable_errors(self.name), engine.begin() as connection:
                    return work(connection)
            except _Conflict:
                if attempt == MAX_ATTEMPTS:
                    raise
            time.sleep(random.uniform(0, 0.01 * 2**attempt))  # noqa: S311 jitter
        raise AssertionError("unreachable")

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()


class _Lock:
    """A lock that serializes this process's access to an SQLite database.

    SQLite polls for its own lock, so a writer may wait for seconds under load. This lock wakes the
    next writer immediately.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        if not self._lock.acquire(timeout=BUSY_TIMEOUT_MS / 1000):
            raise DatabaseError("the database can't be used (it is too busy)")

    def __exit__(self, *error: object) -> None:
        self._lock.release()


class _Conflict(DatabaseError):
    """PostgreSQL rolled back the transaction because of a conflict. A retry may succeed."""


def check_url(where: str) -> None:
    """Raise DatabaseError unless `where` is a supported path or URL. No database is opened."""
    _url(where)


def has_password(where: str) -> bool:
    """Return whether a database URL contains a password."""
    url = _url(where, memory=True)
    return bool(url.password) or any("password" in name.lower() for name in url.query)


@contextlib.contextmanager
def readable_errors(name: str, *kinds: type[SQLAlchemyError]) -> Iterator[None]:
    """Convert SQLAlchemy errors to DatabaseErrors that omit the statement and its values.

    Without `kinds`, convert only errors of the database itself, because all others are bugs.
    """
    try:
        yield
    except SQLAlchemyError as error:
        if getattr(getattr(error, "orig", None), "sqlstate", None) in _RETRYABLE:
            raise _Conflict(f"{name} is too busy ({_reason(error)})") from None
        is_lost = isinstance(error, DBAPIError) and error.connection_invalidated
        if is_lost or isinstance(error, kinds or (OperationalError, InterfaceError, NoConnection)):
            raise DatabaseError(f"{name} can't be used ({_reason(error)})") from None
        raise


def _reason(error: SQLAlchemyError) -> str:
    """Return the driver's message on one line, without the statement and its parameters."""
    said = getattr(error, "orig", None) or next(iter(error.args), type(error).__name__)
    return " ".join(str(said).split()).rstrip(".")


def _url(where: str, *, memory: bool = False) -> URL:
    forms = f"{_FORMS}, or memory" if memory else _FORMS
    if where.strip(": ") == "memory":
        where = "sqlite://"
    if "://" not in where and not where.startswith("file:"):
        return URL.create("sqlite", database=str(Path(where).expanduser().absolute()))
    try:
        url = make_url(where)
    except (ArgumentError, ValueError):
        raise DatabaseError(forms) from None
    if url.drivername in ("postgres", "postgresql", "postgresql+psycopg"):
        return url.set(drivername="postgresql+psycopg")
    if url.drivername not in ("sqlite", "sqlite+pysqlite"):
        raise DatabaseError(f"unsupported database {url.drivername}: use SQLite or PostgreSQL")
    path = "" if url.database in (None, ":memory:") else str(url.database)
    if url.host or url.query or path.startswith("file:"):
        raise DatabaseError(f"{forms}; an SQLite URL can't have a host or options")
    if not path and not memory:
        raise DatabaseError(forms)
    return URL.create("sqlite", database=path or None)


def _create_engine(url: URL) -> Engine:
    options: dict[str, Any] = {
        "pool_size": POOL_SIZE,
        "max_overflow": 0,
        "pool_timeout": POOL_TIMEOUT,
    }
    if url.get_backend_name() != "sqlite":
        engine = create_engine(url, pool_pre_ping=True, hide_parameters=True, **options)
        postgresql.limit_waits(engine)
        return engine
    if not url.database:
        options = {"poolclass": StaticPool, "connect_args": {"check_same_thread": False}}
    engine = create_engine(url, hide_parameters=True, **options)
    event.listen(engine, "connect", _configure_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _make_private(path: str, *, create: bool) -> None:
    """Make a file accessible only to its owner. SQLite's -wal and -shm files get the same mode."""
    flags = os.O_RDWR | os.O_CLOEXEC | (os.O_CREAT if create else 0)
    try:
        os.close(os.open(path, flags, 0o600))
        if Path(path).stat().st_mode & 0o077:
            Path(path).chmod(0o600)
    except OSError as error:
        if not create and isinstance(error, FileNotFoundError):
            message = f"the database file {path} does not exist: check the database setting"
            raise DatabaseError(message) from None
        raise DatabaseError(f"the database file {path} can't be used ({error.strerror})") from None


def _configure_sqlite(connection: Any, _record: Any) -> None:
    connection.isolation_level = None  # _begin_sqlite, not the driver, begins transactions
    for pragma in (
        f"busy_timeout={BUSY_TIMEOUT_MS}",
        "journal_mode=WAL",
        "synchronous=FULL",  # a committed write survives a power failure
        "foreign_keys=ON",
        "secure_delete=ON",  # deleted values are overwritten
    ):
        _set_pragma(connection, pragma)


def _set_pragma(connection: Any, pragma: str) -> None:
    # If another process is writing to a new file, setting journal_mode fails immediately instead of
    # waiting for busy_timeout.
    deadline = time.monotonic() + BUSY_TIMEOUT_MS / 1000
    while True:
        try:
            connection.execute(f"PRAGMA {pragma}").close()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() >= deadline:
                raise
            time.sleep(random.uniform(0, 0.05))  # noqa: S311 jitter
        else:
            return


def _begin_sqlite(connection: Connection) -> None:
    # Writers take the write lock immediately, because SQLite can't turn a read transaction into a
    # write transaction if another connection has written since it began.
    immediate = connection.get_execution_options().get("immediate")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if immediate else "BEGIN")
