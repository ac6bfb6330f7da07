# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Maps of the served domains and mailboxes, which save Postfix most database queries.

Postfix queries the database for keys that are not in the maps. Entries may therefore be missing,
but must never be outdated. While the daemon can't be notified of changes, the maps are empty.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, LiteralString

from . import lmdb_files
from .metrics import Metrics

#: A function that runs a query with parameters, and returns the rows.
Query = Callable[..., Awaitable[list[tuple[Any, ...]]]]

#: Minimum and maximum seconds between attempts to fill the maps.
MIN_DELAY, MAX_DELAY = 2.0, 60.0
#: Timeout in seconds for each query that fills a map by reading all domains or mailboxes.
FILL_TIMEOUT = 120.0

_ALL_DOMAINS: LiteralString = "SELECT name, name FROM mail.domains"
_ALL_MAILBOXES: LiteralString = "SELECT address, name FROM mail.mailboxes"
_DOMAINS = f"{_ALL_DOMAINS} WHERE name = ANY(%s)"
_MAILBOXES = f"{_ALL_MAILBOXES} WHERE address = ANY(%s)"
# This doesn't find the addresses of a deleted domain, but there is a notification for each of them.
_ADDRESSES_OF_DOMAINS = """
SELECT address FROM mail.senders
WHERE split_part(address, '@', 2) = ANY(%s) OR split_part(name, '@', 2) = ANY(%s)
"""

log = logging.getLogger("postroom_service.mail_host")


class PostfixMaps:
    """The maps in a directory.

    :param folder: the directory in which Postfix expects the maps; None if it uses no maps
    """

    def __init__(self, folder: Path | None, metrics: Metrics) -> None:
        self._folder, self._filled = folder, metrics.maps_filled
        # A single thread, so that changes don't overlap, even if the waiting task is cancelled.
        self._thread = ThreadPoolExecutor(1, "postfix-maps")
        self._is_filled = self._must_clear = False
        self._delay, self._next_fill = MIN_DELAY, 0.0

    async def create(self) -> None:
        """Create empty maps, replacing any existing maps, which a crash may have damaged."""
        for name in lmdb_files.NAMES:
            try:
                await self._run(lmdb_files.create, name)
            except lmdb_files.ERRORS as error:
                log.error("Postfix's map of %s can't be created: %s", name, error)  # noqa: TRY400

    async def clear(self) -> None:
        """Empty the maps. If this fails, the next call to `follow` tries again."""
        self._set_filled(now=False)
        self._must_clear = True
        try:
            await self._run(lmdb_files.clear)
            self._must_clear = False
        except lmdb_files.ERRORS as error:
            log.error("Postfix's maps can't be emptied: %s", error)  # noqa: TRY400

    async def follow(
        self, query: Query, domains: Collection[str] = (), addresses: Collection[str] = ()
    ) -> None:
        """Fill the maps, or update the given domains and addresses from the database.

        If the maps can't be written, they are emptied and filled later.
        """
        if self._folder is None:
            return
        if self._must_clear:
            await self.clear()
        try:
            if self._is_filled:
                await self._update(query, domains, addresses)
            elif time.monotonic() >= self._next_fill:
                await self._fill(query)
        except lmdb_files.ERRORS as error:
            log.error("Postfix's maps can't be changed: %s", error)  # noqa: TRY400
            await self.clear()
            self._next_fill = time.monotonic() + self._delay
            self._delay = min(2 * self._delay, MAX_DELAY)

    async def _fill(self, query: Query) -> None:
        domains = await query(_ALL_DOMAINS, seconds=FILL_TIMEOUT)
        mailboxes = await query(_ALL_MAILBOXES, seconds=FILL_TIMEOUT)
        await self._change(lmdb_files.DOMAINS, dict(domains))
        await self._change(lmdb_files.MAILBOXES, dict(mailboxes))
        self._set_filled(now=True)
        self._delay = MIN_DELAY

    async def _update(
        self, query: Query, domains: Collection[str], addresses: Collection[str]
    ) -> None:
        changed = set(addresses)
        if domains:
            names = list(domains)
            await self._change(lmdb_files.DOMAINS, await _find(query, _DOMAINS, names))
            changed.update(
                address for (address,) in await query(_ADDRESSES_OF_DOMAINS, names, names)
            )
        if changed:
            mailboxes = await _find(query, _MAILBOXES, list(changed))
            await self._change(lmdb_files.MAILBOXES, mailboxes)

    async def _change(self, name: str, rows: Mapping[str, str | None]) -> None:
        await self._run(lmdb_files.change, name, rows)

    async def _run(self, function: Callable[..., None], *given: object) -> None:
        if self._folder is not None:
            loop = asyncio.get_running_loop()
            await loop.run_in_executor(self._thread, function, self._folder, *given)

    def _set_filled(self, *, now: bool) -> None:
        self._is_filled = now
        self._filled.set(now)


async def _find(query: Query, select: str, keys: list[str]) -> dict[str, str | None]:
    """Return the value of each key, or None if the key is not in the database."""
    return dict.fromkeys(keys) | dict(await query(select, keys))
