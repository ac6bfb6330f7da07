# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Pass change notifications from the database to Postfix's maps and the worker."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import random
import socket
import time
from collections.abc import Callable, Iterator
from typing import Any, LiteralString

import psycopg

from .. import names
from .metrics import Metrics
from .postfix_maps import FILL_TIMEOUT, PostfixMaps
from .views import CONNECTION_OPTIONS, Connection
from .worker import Worker

CHANNEL = "postroom_mail"
#: Identifies the connection in `pg_stat_activity`.
APPLICATION = "postroom-mail notifications"
#: Minimum and maximum seconds between connection attempts.
MIN_DELAY, MAX_DELAY = 0.5, 30.0
#: A dead connection looks like an idle one. After MAX_SILENCE seconds without notifications, the
#: database must therefore answer a query within ANSWER_TIMEOUT, or the maps are emptied.
MAX_SILENCE, ANSWER_TIMEOUT = 2.0, 3.0
#: Seconds after which a round of the loop counts as stuck. A round may include filling the maps.
ROUND_TIMEOUT = FILL_TIMEOUT + 30.0
#: The statement timeout allows for filling the maps. Other queries have shorter deadlines.
OPTIONS = CONNECTION_OPTIONS | {"options": f"-c statement_timeout={FILL_TIMEOUT:.0f}s"}

log = logging.getLogger("postroom_service.mail_host")


class Notifications:
    """A listener for the database's notifications.

    :param database: a URL for psycopg
    :param end_logins: a function that ends the submission sessions of a mailbox, or of all
        mailboxes if it is called with None
    """

    def __init__(
        self,
        database: str,
        maps: PostfixMaps,
        worker: Worker,
        metrics: Metrics,
        end_logins: Callable[[str | None], None],
    ) -> None:
        self._database, self._maps, self._worker = database, maps, worker
        self._metrics, self._end_logins = metrics, end_logins
        self.is_listening = self._has_listened = False
        self._round_began = time.monotonic()

    def is_stuck(self) -> bool:
        """Return whether `run` has made no progress for too long."""
        return time.monotonic() - self._round_began > ROUND_TIMEOUT

    async def run(self) -> None:
        """Listen for notifications, and reconnect after a failure."""
        delay = MIN_DELAY
        while True:
            self._round_began = time.monotonic()
            try:
                await self._listen()
            except psycopg.Error as error:
                log.warning("can't listen to the database: %s", " ".join(str(error).split()))
            except Exception:  # the next attempt may succeed
                log.exception("can't listen to the database")
            delay = MIN_DELAY if self.is_listening else min(2 * delay, MAX_DELAY)
            self._set_listening(now=False)
            await self._maps.clear()
            await asyncio.sleep(delay * random.uniform(0.5, 1))  # noqa: S311 only spreads attempts

    async def _listen(self) -> None:
        connection = await psycopg.AsyncConnection.connect(
            self._database, application_name=APPLICATION, **OPTIONS
        )

        async def query(
            statement: LiteralString, *given: object, seconds: float = ANSWER_TIMEOUT
        ) -> list[tuple[Any, ...]]:
            with _deadline(connection, seconds):
                return await (await connection.execute(statement, given)).fetchall()

        async with connection:
            with _deadline(connection, ANSWER_TIMEOUT):
                await connection.execute(f"LISTEN {CHANNEL}")
            if self._has_listened:  # notifications may have been missed
                self._end_logins(None)
            self._has_listened = True
            self._worker.sweep_soon()
            await self._maps.follow(query)
            self._set_listening(now=True)
            while True:
                self._round_began = time.monotonic()
                # Notifications that arrive while these are handled form the next batch.
                received = connection.notifies(timeout=MAX_SILENCE, stop_after=1)
                domains, addresses = self._read([each.payload async for each in received])
                if not domains and not addresses:
                    await query("SELECT 1")
                await self._maps.follow(query, domains, addresses)

    def _read(self, payloads: list[str]) -> tuple[set[str], set[str]]:
        """Return the changed domains and addresses, and pass changed mailboxes to the worker.

        Every database role can send notifications, so they are only treated as hints.
        """
        domains, addresses = set(), set()
        for payload in payloads:
            try:
                event = json.loads(payload)
                if "domain" in event:
                    domains.add(names.domain(event["domain"]))
                elif "address" in event:
                    addresses.add(names.address(event["address"]))
                else:
                    name = names.address(event.get("changed") or event["name"])
                    self._worker.handle(name, event.get("deleted"))
            except (ValueError, KeyError, AttributeError, TypeError, RecursionError):
                log.warning("a notification can't be read")
        return domains, addresses

    def _set_listening(self, *, now: bool) -> None:
        self.is_listening = now
        self._metrics.listening.set(now)


@contextlib.contextmanager
def _deadline(connection: Connection, seconds: float) -> Iterator[None]:
    """Shut the connection down after a timeout, so that its query fails.

    Cancelling the query would not help, because psycopg then waits for the server's answer.
    """
    timer = asyncio.get_running_loop().call_later(seconds, _disconnect, connection)
    try:
        yield
    finally:
        timer.cancel()


def _disconnect(connection: Connection) -> None:
    log.warning("the database doesn't answer")
    with (
        contextlib.suppress(psycopg.Error, OSError),
        socket.socket(fileno=os.dup(connection.fileno())) as transport,
    ):
        transport.shutdown(socket.SHUT_RDWR)
