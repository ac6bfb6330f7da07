# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Requests under several processes, kills and threads: each has one holder, and none is lost."""

from __future__ import annotations

import itertools
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from functools import partial
from multiprocessing.process import BaseProcess
from pathlib import Path
from threading import Barrier

from sqlalchemy import Connection, update

from ansible_collections.postroom.email.tests.bot.store import actors
from ansible_collections.postroom.email.tests.support.clock import Clock
from postroom_bot.model import Request, State
from postroom_bot.store import requests
from postroom_bot.store.database import Database
from postroom_bot.store.rows import Lost
from postroom_bot.store.tables import request as table

REQUESTS = 120
PROCESSES = 4
KILLS = 5
THREADS = 8
ROUNDS = 10


def test_each_request_has_one_holder_at_a_time(
    database: Database, database_url: str, tmp_path: Path
) -> None:
    """Four processes share many requests while some are killed: all are done, none twice at once.

    A kill costs at most the one request that was held, which another process takes up again.
    """
    database.write(_many)
    log = tmp_path / "log"
    killed = _race(database, database_url, log)
    notes = defaultdict(list)
    for request, what, lease, _ in _notes(log):
        notes[request].append((what, int(lease)))
    assert killed
    assert not sum(database.read(requests.count_open).values())
    assert len(notes) == REQUESTS
    assert all(_one_by_one(of_one) for of_one in notes.values())
    begun = sum(what == "begin" for of_one in notes.values() for what, _ in of_one)
    assert REQUESTS <= begun <= REQUESTS + killed


def _many(connection: Connection) -> None:
    now = datetime.now(UTC)
    for _ in range(REQUESTS):
        requests.add(connection, wish=actors.WISH, requester="U1", team="T1", at=now)


def _race(database: Database, url: str, log: Path) -> int:
    """Let the processes run, kill some at work and start others; tell how many were killed."""
    log.touch()
    running = [_worker(url, log) for _ in range(PROCESSES)]
    killed = 0
    for number in range(KILLS):
        victim = _next_at_work(running, log, (number + 1) * REQUESTS // (KILLS + 1))
        victim.kill()
        killed += actors.ended(victim) != 0
        database.write(partial(_let_run_out, owner=str(victim.pid)))
        running[running.index(victim)] = _worker(url, log)
    assert [actors.ended(one) for one in running] == [0] * PROCESSES
    return killed


def _let_run_out(connection: Connection, owner: str) -> None:
    """Have somebody's leases be over."""
    over = update(table).values(lease_until=datetime.now(UTC))
    connection.execute(over.where(table.c.lease_owner == owner))


def _worker(url: str, log: Path) -> BaseProcess:
    return actors.started(actors.carrying_out, url, str(log))


def _notes(log: Path) -> list[list[str]]:
    return [line.split() for line in log.read_text().splitlines()]


def _next_at_work(running: list[BaseProcess], log: Path, count: int) -> BaseProcess:
    """Wait for so many notes, and return a running process that wrote one of the last."""
    end = time.monotonic() + actors.PATIENCE
    while time.monotonic() < end:
        notes = _notes(log)
        at_work = {int(pid) for *_, pid in notes[-PROCESSES:]}
        found = next((one for one in running if one.pid in at_work), None)
        if found and len(notes) >= count:
            return found
        time.sleep(0.005)
    raise AssertionError(f"only {len(notes)} notes")


def _one_by_one(notes: list[tuple[str, int]]) -> bool:
    """Tell whether each end follows its own beginning, and later leases come later."""
    leases = [lease for _, lease in notes]
    pairs = itertools.pairwise(notes)
    return leases == sorted(leases) and all(
        after == ("end", before[1]) if after[0] == "end" else before[0] == "begin"
        for before, after in pairs
    )


def test_one_of_many_threads_moves_a_request(database: Database, clock: Clock) -> None:
    """Of threads that read the same state and go on to different ones, exactly one succeeds."""
    at = clock()
    for _ in range(ROUNDS):
        request = database.write(
            lambda c: requests.add(
                c, wish=actors.WISH, requester="U1", team="T1", at=at, state=State.PENDING
            )
        )
        barrier = Barrier(THREADS)
        ways = (State.APPROVED, State.CANCELLED) * (THREADS // 2)
        with ThreadPoolExecutor(THREADS) as pool:
            moved = list(pool.map(partial(_moved, database, request, barrier), ways))
        won = [one for one in moved if one is not None]
        assert len(won) == 1
        kept = database.read(partial(requests.get, request_id=request.id))
        assert kept == won[0]


def _moved(database: Database, request: Request, barrier: Barrier, to: State) -> Request | None:
    barrier.wait(actors.PATIENCE)
    try:
        return database.write(lambda c: requests.move(c, request, to, at=request.created_at))
    except Lost:
        return None


def test_one_of_many_threads_claims_a_request(database: Database, clock: Clock) -> None:
    """Of threads that claim at once each gets a request of its own, and the rest get none."""
    now = clock()
    for _ in range(THREADS // 2):
        database.write(
            lambda c: requests.add(c, wish=actors.WISH, requester="U1", team="T1", at=now)
        )
    barrier = Barrier(THREADS)

    def claim(number: int) -> Request | None:
        barrier.wait(actors.PATIENCE)
        owner = f"w{number}"
        return database.write(lambda c: requests.claim(c, owner=owner, now=now, lease=actors.LEASE))

    with ThreadPoolExecutor(THREADS) as pool:
        found = [one.id for one in pool.map(claim, range(THREADS)) if one]
    assert len(found) == len(set(found)) == THREADS // 2
