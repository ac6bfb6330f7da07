# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Lookups in the views of the `mail` schema. The daemon's database role can't read the tables."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from typing import Any, LiteralString, NamedTuple

import psycopg

from postroom_common.database import DatabaseError

from .. import names

Connection = psycopg.AsyncConnection[tuple[Any, ...]]

#: Lookups time out after 10 seconds. If the host is unreachable, idle connections are closed after
#: 90 seconds.
CONNECTION_OPTIONS: dict[str, Any] = {
    "autocommit": True,
    "connect_timeout": 10,
    "tcp_user_timeout": 10_000,
    "keepalives_idle": 30,
    "keepalives_interval": 15,
    "keepalives_count": 4,
    "options": "-c statement_timeout=10s",
}

_SENDER = """
SELECT count(*), count(*) FILTER (WHERE address = %(address)s),
    (SELECT private_pem FROM mail.keys WHERE domain = %(domain)s)
FROM mail.senders WHERE name = %(login)s
"""
_UIDS = """
SELECT uid FROM mail.uids
WHERE (CAST(%(node)s AS text) IS NULL OR node IS NULL OR node = %(node)s)
"""
_UID = f"{_UIDS} AND uid = %(uid)s"
_NODE = "SELECT 1 FROM mail.nodes WHERE name = %(name)s"
_HEALTH_CHECK = "SELECT 1 FROM mail.domains LIMIT 1"


class Sender(NamedTuple):
    """The result of looking up whether a login may send from an address.

    :param exists: whether the login's mailbox still exists
    :param owns: whether the address belongs to the mailbox
    :param key: the private key of the address's domain, as PEM; None if the domain isn't verified
    """

    exists: bool
    owns: bool
    key: str | None = None


class Views:
    """Lookups on a single connection. All methods raise DatabaseError if a lookup fails.

    :param database: a URL for psycopg
    """

    def __init__(self, database: str) -> None:
        self._database = database
        self._connecting: asyncio.Task[Connection] | None = None

    async def check(self) -> None:
        """Raise DatabaseError unless the views can be read."""
        await self._rows(_HEALTH_CHECK)

    async def sender(self, login: str, address: str) -> Sender:
        """Look up whether a login may send from an address. The address may be invalid."""
        name = names.any_name(address)
        [(addresses, own, key)] = await self._rows(
            _SENDER,
            login=names.any_name(login),
            address=name,
            domain=names.domain_of(name or ""),
        )
        return Sender(exists=addresses > 0, owns=own > 0, key=key if own else None)

    async def has_mailbox(self, uid: str, node: str | None = None) -> bool:
        """Return whether a mailbox exists on `node`, or on any node if `node` is None."""
        return bool(await self._rows(_UID, uid=uid, node=node))

    async def has_node(self, name: str) -> bool:
        """Return whether a node exists."""
        return bool(await self._rows(_NODE, name=name))

    async def uids(self, node: str | None) -> set[str]:
        """Return the uids of the mailboxes on a node, or of all mailboxes if the node is None.

        The result includes mailboxes on unverified domains, mailboxes that have not been placed on
        a node, and mailboxes that are being moved to the node.
        """
        return {uid for (uid,) in await self._rows(_UIDS, node=node)}

    async def close(self) -> None:
        """Close the connection."""
        if self._connecting is not None:
            self._connecting.cancel()
            with contextlib.suppress(psycopg.Error, asyncio.CancelledError):
                await (await self._connecting).close()

    async def _rows(self, query: LiteralString, **given: str | None) -> list[tuple[Any, ...]]:
        try:
            connection = await self._connection()
            try:
                return await _fetch(connection, query, given)
            except psycopg.OperationalError:
                if not connection.closed:
                    raise
            # The connection was lost, for example because the database restarted. Try a new one.
            return await _fetch(await self._connection(), query, given)
        # Catch all errors, including those for a missing view or grant in a partial installation.
        except psycopg.Error as error:
            reason = " ".join(str(error).split()).rstrip(".")
            raise DatabaseError(f"the database can't be used ({reason})") from None

    async def _connection(self) -> Connection:
        """Return the open connection, or open a new one. Concurrent lookups share one attempt."""
        attempt = self._connecting
        if attempt is None or (
            attempt.done()
            and (attempt.cancelled() or attempt.exception() or attempt.result().closed)
        ):
            connect = psycopg.AsyncConnection.connect(self._database, **CONNECTION_OPTIONS)
            attempt = self._connecting = asyncio.create_task(connect)
        return await asyncio.shield(attempt)


async def _fetch(
    connection: Connection, query: LiteralString, given: Mapping[str, str | None]
) -> list[tuple[Any, ...]]:
    cursor = await connection.execute(query, given)
    return await cursor.fetchall()
