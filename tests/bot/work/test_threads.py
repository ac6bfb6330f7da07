# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Workers with threads, more than one of them, over one database."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from ansible_collections.postroom.email.tests.bot.work.office import ALICE, BOB, Office
from ansible_collections.postroom.email.tests.fakes.slack.world import PATIENCE
from ansible_collections.postroom.email.tests.support.clock import Clock
from postroom_bot.executors.base import Done, Keeper
from postroom_bot.model import Action, Request, State, Wish
from postroom_bot.store import audit, ledger
from postroom_bot.store.database import Database, DatabaseError
from postroom_bot.work.worker import Worker


class _Now(Clock):
    """The real time: threads wait for it."""

    def __call__(self) -> datetime:
        """Return it."""
        return datetime.now(UTC)


@pytest.fixture
def clock() -> Clock:
    """Give the real time."""
    return _Now()


class _Watched:
    """Carries out with another, and sees whether two are at one mailbox at a time."""

    def __init__(self, office: Office) -> None:
        self._executor = office.deps.executor
        self._lock = threading.Lock()
        self._at: set[str] = set()
        self.clashes = 0

    def carry_out(self, request: Request, keeper: Keeper) -> Done:
        """Do it."""
        mailbox = str(request.wish.mailbox)
        with self._lock:
            self.clashes += mailbox in self._at
            self._at.add(mailbox)
        try:
            return self._executor.carry_out(request, keeper)
        finally:
            with self._lock:
                self._at.discard(mailbox)


def _automatic(office: Office) -> None:
    """Let aliases be added without approval."""
    rule = {"name": "aliases", "actions": ["alias.add"], "automatic": True}
    office.set_policy(rules=[rule], limits={"open_requests": 100})


def _all_ended(office: Office, asked: list[Request]) -> Callable[[], bool]:
    return lambda: all(office.now(each).due_at is None for each in asked)


def test_two_workers_do_everything_once(office: Office) -> None:
    """No mailbox is in two hands at a time, no alias is lost, and nothing is written twice."""
    _automatic(office)
    watched = _Watched(office)
    workers = [
        Worker(office.with_(owner=owner, executor=watched, wake=threading.Event()), threads=2)
        for owner in ("one", "two")
    ]
    for worker in workers:
        worker.start()
    asked = []
    for number in range(12):
        wish = Wish(Action.ALIAS_ADD, f"alias-{number}@example.com")
        asked.append(office.submit(("alice", "bob")[number % 2], wish))
    office.slack.wait_for(_all_ended(office, asked))
    assert all(worker.stop(PATIENCE) for worker in workers)
    assert {office.now(each).state for each in asked} == {State.DONE}
    assert watched.clashes == 0
    assert len(office.addresses(ALICE) | office.addresses(BOB)) == 2 + 12
    assert len(office.deps.database.read(ledger.entries)) == 12
    office.deps.database.read(audit.verify)
    for each in asked:
        assert office.events(each).count("request.done") == 1


class _Slow:
    """Waits in the midst of the work until it is let go on."""

    def __init__(self, office: Office) -> None:
        self._executor = office.deps.executor
        self.begun = threading.Event()
        self.go_on = threading.Event()

    def carry_out(self, request: Request, keeper: Keeper) -> Done:
        """Wait and do it."""
        self.begun.set()
        self.go_on.wait(PATIENCE)
        return self._executor.carry_out(request, keeper)


def test_a_worker_that_stops_ends_what_it_has_begun(office: Office) -> None:
    """What it has is finished, and what it does not have yet stays for others."""
    _automatic(office)
    slow = _Slow(office)
    worker = Worker(office.with_(executor=slow), threads=1)
    asked = [
        office.submit(wish=Wish(Action.ALIAS_ADD, f"{name}@example.com"))
        for name in ("first", "second")
    ]
    worker.start()
    assert slow.begun.wait(PATIENCE)
    assert not worker.stop(0.01)
    slow.go_on.set()
    assert worker.stop(PATIENCE)
    states = sorted(office.now(each).state for each in asked)
    assert states == [State.DONE, State.NEW]
    assert all(office.now(each).lease_owner is None for each in asked)


class _Away(Database):
    """A database that can be down."""

    is_away = True
    asked = 0

    def read(self, work: Any) -> Any:
        """Fail while it is down."""
        return self._unless_away(super().read, work)

    def write(self, work: Any) -> Any:
        """Fail while it is down."""
        return self._unless_away(super().write, work)

    def _unless_away(self, doing: Any, work: Any) -> Any:
        self.asked += 1
        if self.is_away:
            raise DatabaseError("down")
        return doing(work)


def test_a_worker_outlives_its_database(office: Office, database_url: str) -> None:
    """While there is none it waits; afterwards it works on."""
    _automatic(office)
    away = _Away(database_url)
    worker = Worker(office.with_(database=away), threads=1)
    worker.start()
    office.slack.wait_for(lambda: away.asked > 2)
    away.is_away = False
    request = office.submit()
    office.slack.wait_for(_all_ended(office, [request]))
    assert worker.stop(PATIENCE)
    away.close()
