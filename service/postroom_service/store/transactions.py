# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Run transactions in threads, outside the event loop, and batch transactions on SQLite."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any, TypeVar

from sqlalchemy import Connection
from sqlalchemy.exc import InterfaceError, OperationalError

from postroom_common.database import Database

MAX_BATCH = 64
#: The time limit for reading a long list.
LONG_SECONDS = 60

T = TypeVar("T")
Work = Callable[[Connection], T]


class Transactions:
    """An asynchronous interface that runs functions in transactions, in threads.

    On SQLite, functions that arrive while a transaction runs share the next transaction. This saves
    disk waits and thread switches, each of which takes longer than a short read.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._reads = _Batches(database.read, _attempt)
        self._writes = _Batches(database.write, _attempt_in_savepoint)

    async def read(self, work: Work[T]) -> T:
        """Run `work`, which must be short, on a snapshot."""
        if self._database.is_sqlite:
            return await self._reads.run(work)
        return await asyncio.to_thread(self._database.read, work)

    async def read_long(self, work: Work[T]) -> T:
        """Run `work` on a separate snapshot."""
        return await asyncio.to_thread(self._database.read, work, seconds=LONG_SECONDS)

    async def write(self, work: Work[T]) -> T:
        """Run `work`, and commit the transaction before returning."""
        if self._database.is_sqlite:
            return await self._writes.run(work)
        return await asyncio.to_thread(self._database.write, work)


class _Batches:
    """A runner for batches of functions, with one transaction at a time.

    :param transaction: a function that runs another function in a transaction
    :param attempt: a function that runs one function of a batch, and returns its result or
        exception
    """

    def __init__(
        self,
        transaction: Callable[[Work[list[Any]]], list[Any]],
        attempt: Callable[[Connection, Work[Any]], Any],
    ) -> None:
        self._transaction = transaction
        self._attempt = attempt
        self._waiting: deque[tuple[Work[Any], asyncio.Future[Any]]] = deque()
        self._task: asyncio.Task[None] | None = None

    async def run(self, work: Work[T]) -> T:
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._waiting.append((work, future))
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run_waiting())
        return await future

    async def _run_waiting(self) -> None:
        while self._waiting:
            # Let requests that arrived at the same time join the batch.
            await asyncio.sleep(0)
            count = min(len(self._waiting), MAX_BATCH)
            batch = [self._waiting.popleft() for _ in range(count)]
            works = [work for work, _ in batch]

            def run(connection: Connection, works: list[Work[Any]] = works) -> list[Any]:
                if len(works) == 1:
                    return [works[0](connection)]
                return [self._attempt(connection, work) for work in works]

            try:
                results = await asyncio.get_running_loop().run_in_executor(
                    None, self._transaction, run
                )
            except Exception as error:  # noqa: BLE001 each caller gets it
                results = [error] * count
            for (_, future), result in zip(batch, results, strict=True):
                if future.done():  # the caller was cancelled
                    continue
                if isinstance(result, Exception):
                    future.set_exception(result)
                else:
                    future.set_result(result)


def _attempt(connection: Connection, work: Work[Any]) -> Any:
    try:
        return work(connection)
    except (InterfaceError, OperationalError):
        raise  # the transaction as a whole failed
    except Exception as error:  # noqa: BLE001 the caller gets it
        return error


def _attempt_in_savepoint(connection: Connection, work: Work[Any]) -> Any:
    def nested(connection: Connection) -> Any:
        with connection.begin_nested():
            return work(connection)

    return _attempt(connection, nested)
