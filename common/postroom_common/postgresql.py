# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Limits on every wait for PostgreSQL.

The server ends slow statements and long waits for locks itself. If its processes are stopped or its
host is gone, neither these limits nor libpq's timeouts end a wait on an open connection, so the
connection has a deadline of its own.
"""

from __future__ import annotations

import time
from collections.abc import Generator
from typing import Any

import psycopg
from psycopg.waiting import Ready
from sqlalchemy import Connection, Engine, event

CONNECT_SECONDS = 5
STATEMENT_SECONDS = 8
LOCK_SECONDS = 5
#: How long a transaction may be idle before the server ends it and releases its locks.
IDLE_SECONDS = 20
#: How long PostgreSQL may be silent outside transactions, when only quick checks are sent.
SILENT_SECONDS = 3
#: How much longer the client waits for a statement than the server lets the statement run.
_MARGIN_SECONDS = 2

#: libpq's parameters. Those in the database's URL take precedence.
_PARAMETERS: dict[str, Any] = {
    "connect_timeout": CONNECT_SECONDS,
    "tcp_user_timeout": 10_000,
    "keepalives_idle": 30,
    "keepalives_interval": 15,
    "keepalives_count": 4,
}
_OPTIONS = (
    f"-c statement_timeout={STATEMENT_SECONDS}s -c lock_timeout={LOCK_SECONDS}s"
    f" -c idle_in_transaction_session_timeout={IDLE_SECONDS}s"
)


class _LimitedConnection(psycopg.Connection[Any]):
    """A connection that closes itself when the server is silent for too long.

    :ivar silent_seconds: how long the server may be silent
    """

    silent_seconds: float = SILENT_SECONDS

    def wait(self, gen: Generator[Any, Any, Any], *args: Any, **kwargs: Any) -> Any:
        """Run an operation of psycopg, which is a generator that yields when it must wait."""
        return super().wait(self._limited(gen), *args, **kwargs)

    def _limited(self, operation: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
        """Pass on what the operation yields, and end it when nothing has arrived in time."""
        deadline = time.monotonic() + self.silent_seconds
        try:
            wanted = next(operation)
            while True:
                ready = yield wanted
                # psycopg resumes a waiting operation regularly, even if nothing has arrived.
                if ready != Ready.NONE:
                    deadline = time.monotonic() + self.silent_seconds
                elif time.monotonic() > deadline:
                    self.close()
                    raise psycopg.OperationalError("PostgreSQL is not responding")
                wanted = operation.send(ready)
        except StopIteration as end:
            return end.value


def limit_waits(engine: Engine) -> None:
    """Limit how long an engine's connections wait for PostgreSQL.

    The execution option `seconds` of a transaction replaces the limits for its statements.
    """
    event.listen(engine, "do_connect", _connect)
    event.listen(engine, "begin", _begin)
    event.listen(engine, "checkin", _check_in)


def _connect(_dialect: Any, _record: Any, given: Any, parameters: dict[str, Any]) -> Any:
    options = f"{_OPTIONS} {parameters.get('options', '')}".strip()
    return _LimitedConnection.connect(*given, **{**_PARAMETERS, **parameters, "options": options})


def _begin(connection: Connection) -> None:
    seconds = connection.get_execution_options().get("seconds")
    driver: Any = connection.connection.driver_connection
    driver.silent_seconds = (seconds or STATEMENT_SECONDS) + _MARGIN_SECONDS
    if seconds is not None:
        for limit in ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout"):
            connection.exec_driver_sql(f"SET LOCAL {limit} = '{int(seconds)}s'")


def _check_in(connection: Any, _record: Any) -> None:
    if connection is not None:
        connection.silent_seconds = SILENT_SECONDS
