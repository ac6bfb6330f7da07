# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Copies of the served domains and mailboxes, as maps that Postfix reads without the database.

Postfix asks the database for everything that isn't in them. So they may lack something, but must
not keep what has changed: they are empty while changes can't be noticed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable
from pathlib import Path

from .views import Views

DOMAINS, MAILBOXES = "domains", "mailboxes"
POSTMAP_TIMEOUT = 60.0


class PostfixMaps:
    """The maps in a directory. Each method raises OSError if it can't change them.

    :param folder: where Postfix expects them; None for an installation without them
    """

    def __init__(self, folder: Path | None, views: Views) -> None:
        self._folder, self._views = folder, views

    async def clear(self) -> None:
        """Empty the maps, or create them."""
        await self._replace(DOMAINS, ())
        await self._replace(MAILBOXES, ())

    async def fill(self) -> None:
        """Copy all domains and mailboxes."""
        if self._folder is None:
            return
        await self._replace(DOMAINS, ((name, "served") for name in await self._views.domains()))
        await self._replace(MAILBOXES, await self._views.mailboxes())

    async def update(self, addresses: Collection[str]) -> None:
        """Copy again what the database has for some addresses."""
        if self._folder is None or not addresses:
            return
        found = dict(await self._views.mailboxes(addresses))
        if gone := [address for address in addresses if address not in found]:
            await _postmap(self._folder / MAILBOXES, "-d", "-", lines=gone)
        if found:
            await _postmap(self._folder / MAILBOXES, "-i", "-r", lines=_lines(found.items()))

    async def _replace(self, name: str, rows: Iterable[tuple[str, str]]) -> None:
        """Replace a map in one transaction."""
        if self._folder is None:
            return
        text = "".join(f"{line}\n" for line in _lines(rows))
        await asyncio.to_thread((self._folder / name).write_text, text, "utf-8")
        await _postmap(self._folder / name)


async def _postmap(path: Path, *options: str, lines: Iterable[str] = ()) -> None:
    process = await asyncio.create_subprocess_exec(
        "/usr/sbin/postmap",
        *options,
        f"lmdb:{path}",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    text = "".join(f"{line}\n" for line in lines).encode()
    try:
        _, messages = await asyncio.wait_for(process.communicate(text), POSTMAP_TIMEOUT)
    except BaseException:
        process.kill()
        raise
    # Deleting what isn't there ends with 1 and without a message.
    if process.returncode and (messages or "-d" not in options):
        reason = " ".join(messages.decode("utf-8", "replace").split())
        raise OSError(f"postmap can't change {path}: {reason}")


def _lines(rows: Iterable[tuple[str, str]]) -> list[str]:
    # A line with # would be a comment.
    return [f"{key} {value}" for key, value in rows if not key.startswith("#")]
