# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Engines and transactions, on SQLite (a file or memory) and PostgreSQL."""

from __future__ import annotations

import contextlib
import os
import random
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import (
    URL,
    Connection,
    Engine,
    create_engine,
    event,
    insert,
    inspect,
    make_url,
    select,
    text,
)
from sqlalchemy.exc import ArgumentError, DBAPIError, OperationalError, SQLAlchemyError
from sqlalchemy.pool import StaticPool

from . import tables

MEMORY = ("memory", ":memory:")
POOL_SIZE = 16
BUSY_TIMEOUT_MS = 10_000
ATTEMPTS = 6

_RETRYABLE = frozenset({"40001", "40P01"})  # serialization_failure, deadlock_detected
_SQLITE_BY_PATH = "a SQLite database is named by its path or memory, with no options or file: URI"
_SCHEMA_LOCK = 0x706F7374  # any number of our own, for pg_advisory_xact_lock

T = TypeVar("T")


class DatabaseError(Exception):
    """The database can't be used; the message is a sentence for the one who started the program."""


class Database:
    """Runs functions in transactions: `read` sees one snapshot, `write` commits all or nothing."""

    def __init__(self, where: str) -> None:
        url = _url(where)
        self.is_sqlite = url.get_backend_name() == "sqlite"
        memory = _is_memory(url)
        # A memory database is one connection, which one thread at a time may use.
        self._turn = threading.Lock() if memory else contextlib.nullcontext()
        # In a file in WAL mode no reader ever waits for a writer.
        self.is_local = self.is_sqlite and not memory
        engine = _sqlite_engine(url, memory=memory) if self.is_sqlite else _postgresql_engine(url)
        self._engine = engine
        self._reader = (
            engine
            if self.is_sqlite
            else engine.execution_options(isolation_level="REPEATABLE READ")
        )
        self._writer = engine.execution_options(immediate=True)

    def read(self, work: Callable[[Connection], T]) -> T:
        """Run `work` on a snapshot."""
        with self._turn, self._reader.begin() as connection:
            return work(connection)

    def write(self, work: Callable[[Connection], T], *, tenant_id: int | None = None) -> T:
        """Run `work` and commit; `work` may run again if PostgreSQL asks for it.

        Writes of one tenant take turns, which is what makes the rules between its objects hold.
        Between tenants the unique constraints do.
        """
        for attempt in range(ATTEMPTS):
            try:
                with self._turn, self._writer.begin() as connection:
                    self._lock(connection, tenant_id)
                    return work(connection)
            except DBAPIError as error:
                if (
                    getattr(error.orig, "sqlstate", None) not in _RETRYABLE
                    or attempt == ATTEMPTS - 1
                ):
                    raise
            time.sleep(random.uniform(0, 0.01 * 2**attempt))  # noqa: S311 only spreads the tries
        raise AssertionError("unreachable")

    def write_all(self, works: Sequence[Callable[[Connection], Any]]) -> list[Any]:
        """Run works in one transaction; each gives its result, or what it raised, undone."""
        if len(works) == 1:
            return [self.write(works[0])]
        with self._turn, self._writer.begin() as connection:
            return [_attempt(connection, work) for work in works]

    def prepare(self) -> None:
        """Create the schema in an empty database, or check that it is the one known here."""
        try:
            self.write(self._prepare)
        except (SQLAlchemyError, OSError) as error:
            raise DatabaseError(f"the database can't be used ({reason(error)})") from None

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()

    def _lock(self, connection: Connection, tenant_id: int | None) -> None:
        if tenant_id is not None and not self.is_sqlite:  # BEGIN IMMEDIATE has locked all of SQLite
            tenant = tables.tenant.c.id
            connection.execute(select(tenant).where(tenant == tenant_id).with_for_update())

    def _prepare(self, connection: Connection) -> None:
        if not self.is_sqlite:
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _SCHEMA_LOCK})
        if not inspect(connection).has_table(tables.schema_version.name):
            tables.metadata.create_all(connection)
            connection.execute(insert(tables.schema_version).values(version=tables.SCHEMA_VERSION))
        found = connection.scalar(select(tables.schema_version.c.version))
        if found != tables.SCHEMA_VERSION:
            raise DatabaseError(
                f"the database has schema {found}, this program knows {tables.SCHEMA_VERSION}"
            )


def _attempt(connection: Connection, work: Callable[[Connection], Any]) -> Any:
    try:
        with connection.begin_nested():
            return work(connection)
    except OperationalError:
        raise  # the database itself: nothing of the transaction can be relied on
    except Exception as error:  # noqa: BLE001 the others go on
        return error


def has_password(where: str) -> bool:
    """Tell whether a database URL carries a password (which doesn't belong on a command line)."""
    url = _url(where)
    return bool(url.password) or any("password" in name.lower() for name in url.query)


def is_memory(where: str) -> bool:
    """Tell whether a database lives in its process only."""
    return _is_memory(_url(where))


def reason(error: Exception) -> str:
    """Give what the database said, in one line without statement and parameters."""
    original = getattr(error, "orig", None) or error
    return " ".join(str(original).split()).rstrip(".") or type(original).__name__


def _is_memory(url: URL) -> bool:
    return url.get_backend_name() == "sqlite" and not url.database


def _url(where: str) -> URL:
    if where in MEMORY:
        return URL.create("sqlite")
    if where.startswith("file:"):
        raise DatabaseError(_SQLITE_BY_PATH)
    if "://" not in where:
        return URL.create("sqlite", database=str(Path(where).expanduser().absolute()))
    try:
        url = make_url(where)
    except (ArgumentError, ValueError):
        raise DatabaseError(
            "the database is a file, a URL such as postgresql://host/name, or memory"
        ) from None
    if url.drivername in ("postgres", "postgresql", "postgresql+psycopg"):
        return url.set(drivername="postgresql+psycopg")
    if url.drivername in ("sqlite", "sqlite+pysqlite"):
        return _sqlite_url(url)
    raise DatabaseError(f"databases are SQLite and PostgreSQL, not {url.drivername}")


def _sqlite_url(url: URL) -> URL:
    path = url.database or ""
    if url.host or url.username or url.password or url.query or path.startswith("file:"):
        raise DatabaseError(_SQLITE_BY_PATH)
    return URL.create("sqlite", database=None if path in ("", ":memory:") else path)


def _sqlite_engine(url: URL, *, memory: bool) -> Engine:
    if memory:
        arguments = {"check_same_thread": False}
        engine = create_engine(
            url, poolclass=StaticPool, connect_args=arguments, hide_parameters=True
        )
    else:
        _private_file(str(url.database))
        engine = create_engine(url, pool_size=POOL_SIZE, max_overflow=0, hide_parameters=True)
    event.listen(engine, "connect", _configure_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _postgresql_engine(url: URL) -> Engine:
    return create_engine(
        url, pool_size=POOL_SIZE, max_overflow=0, pool_pre_ping=True, hide_parameters=True
    )


def _private_file(path: str) -> None:
    """Make the file readable by its owner only; SQLite gives -wal and -shm the same mode."""
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        if Path(path).stat().st_mode & 0o077:
            Path(path).chmod(0o600)
    except OSError as error:
        raise DatabaseError(f"the database file {path} can't be used ({error.strerror})") from None


def _configure_sqlite(connection: Any, _record: Any) -> None:
    connection.isolation_level = None  # transactions are begun below, not by the driver
    for pragma in (
        f"busy_timeout={BUSY_TIMEOUT_MS}",
        "journal_mode=WAL",
        "synchronous=FULL",  # an answered write survives the loss of power
        "foreign_keys=ON",
        "secure_delete=ON",
    ):
        connection.execute(f"PRAGMA {pragma}").close()


def _begin_sqlite(connection: Connection) -> None:
    # A write takes its lock first: a snapshot that turns into a write fails after another.
    immediate = connection.get_execution_options().get("immediate")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if immediate else "BEGIN")
