# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Writes, gathered where that helps.

A commit on SQLite waits for the disk, and there is one writer at a time. So the writes that arrive
while one is committed go into one transaction, each in a savepoint of its own, and are answered
once that is on the disk. PostgreSQL does the like by itself, for transactions side by side.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any, TypeVar

from anyio import CapacityLimiter
from anyio.to_thread import run_sync
from sqlalchemy import Connection

from .database import Database

WRITERS = 8
MOST_AT_ONCE = 64

T = TypeVar("T")
Work = Callable[[Connection], Any]


class Writer:
    """Runs writes in threads and answers each when it is durable."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._threads = CapacityLimiter(WRITERS)
        self._waiting: deque[tuple[Work, asyncio.Future[Any]]] = deque()
        self._gathering: asyncio.Task[None] | None = None

    async def write(self, tenant_id: int, work: Callable[[Connection], T]) -> T:
        """Run `work` and commit it before returning."""
        if not self._database.is_sqlite:

            def alone() -> T:
                return self._database.write(work, tenant_id=tenant_id)

            return await run_sync(alone, limiter=self._threads)
        answer: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._waiting.append((work, answer))
        if self._gathering is None or self._gathering.done():
            self._gathering = asyncio.create_task(self._gather())
        return await answer

    async def _gather(self) -> None:
        while self._waiting:
            count = min(len(self._waiting), MOST_AT_ONCE)
            batch = [self._waiting.popleft() for _ in range(count)]
            works = [work for work, _ in batch]
            try:
                results = await run_sync(self._database.write_all, works, limiter=self._threads)
            except Exception as error:  # noqa: BLE001 each caller gets it
                results = [error] * count
            for (_, answer), result in zip(batch, results, strict=True):
                _settle(answer, result)


def _settle(answer: asyncio.Future[Any], result: Any) -> None:
    if answer.done():  # its caller has gone
        return
    if isinstance(result, Exception):
        answer.set_exception(result)
    else:
        answer.set_result(result)
