# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Passes the database's notifications of changes on to Postfix's maps and the worker."""

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
#: Distinguishes the connection in `pg_stat_activity`.
APPLICATION = "postroom-mail notifications"
#: Bounds of the seconds between attempts to connect.
MIN_DELAY, MAX_DELAY = 0.5, 30.0
#: A dead connection looks like silence. After MAX_SILENCE without a notification, the database has
#: to answer a query within ANSWER_TIMEOUT, or the maps are emptied.
MAX_SILENCE, ANSWER_TIMEOUT = 2.0, 3.0
#: The loop is stuck if a round takes longer than filling the maps.
ROUND_TIMEOUT = FILL_TIMEOUT + 30.0
#: Filling the maps takes longer than other queries, which have a deadline of their own.
OPTIONS = CONNECTION_OPTIONS | {"options": f"-c statement_timeout={FILL_TIMEOUT:.0f}s"}

log = logging.getLogger("postroom_service.mail_host")


class Notifications:
    """Listens to the database.

    :param database: a URL that psycopg takes
    :param end_logins: ends the submission sessions of a mailbox, or of all of them
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
        """Return whether the loop has made no progress for too long."""
        return time.monotonic() - self._round_began > ROUND_TIMEOUT

    async def run(self) -> None:
        """Listen, and connect again after a failure."""
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
                # What arrives while these are handled is the next batch.
                received = connection.notifies(timeout=MAX_SILENCE, stop_after=1)
                domains, addresses = self._read([each.payload async for each in received])
                if not domains and not addresses:
                    await query("SELECT 1")
                await self._maps.follow(query, domains, addresses)

    def _read(self, payloads: list[str]) -> tuple[set[str], set[str]]:
        """Return which domains and addresses changed; let the worker handle mailboxes.

        Every role of the database can send notifications, so they are only trusted to be a hint.
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
    """Disconnect if a query takes longer, so that it fails.

    psycopg would not return from a cancelled query before the server has answered.
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
