# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Several workers with several threads each, on one database."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from unittest.mock import Mock

import pytest

from ansible_collections.postroom.email.tests.bot.workflow.harness import ALICE, BOB, Harness
from ansible_collections.postroom.email.tests.fakes.slack.workspace_state import PATIENCE
from ansible_collections.postroom.email.tests.support.clock import Clock
from postroom_bot.backends.executor import ExecutionContext, Outcome
from postroom_bot.domain import Action, Change, Request, State
from postroom_bot.store import audit, holdings
from postroom_bot.workflow.worker import Worker
from postroom_common.database import Database, DatabaseError


class _Now(Clock):
    """A clock that follows real time, because threads can't wait in simulated time."""

    def __call__(self) -> datetime:
        """Return the current time."""
        return datetime.now(UTC)


@pytest.fixture
def clock() -> Clock:
    """Provide a clock that shows the real time."""
    return _Now()


def _automatic(harness: Harness) -> None:
    """Allow aliases without approval."""
    rule = {"name": "aliases", "actions": ["alias.add"], "automatic": True}
    harness.set_policy(rules=[rule], limits={"open_requests": 100})


def _all_ended(harness: Harness, asked: list[Request]) -> Callable[[], bool]:
    return lambda: all(harness.now(each).due_at is None for each in asked)


def test_two_workers_do_everything_once(harness: Harness) -> None:
    """Two workers make each change exactly once, and never process the same mailbox at once."""
    _automatic(harness)
    lock, at_work, clashes = threading.Lock(), set[str](), list[str]()

    def watched(request: Request, context: ExecutionContext) -> Outcome:
        mailbox = str(request.change.mailbox)
        with lock:
            clashes.extend({mailbox} & at_work)
            at_work.add(mailbox)
        try:
            return harness.deps.executor.execute(request, context)
        finally:
            with lock:
                at_work.discard(mailbox)

    executor = Mock(execute=watched)
    workers = [
        Worker(
            harness.with_(process_name=owner, executor=executor, wake=threading.Event()), threads=2
        )
        for owner in ("one", "two")
    ]
    for worker in workers:
        worker.start()
    asked = []
    for number in range(12):
        change = Change(Action.ALIAS_ADD, f"alias-{number}@example.com")
        asked.append(harness.submit(("alice", "bob")[number % 2], change))
    harness.slack.wait_for(_all_ended(harness, asked))
    assert all(worker.stop(PATIENCE) for worker in workers)
    assert {harness.now(each).state for each in asked} == {State.DONE}
    assert clashes == []
    assert len(harness.addresses(ALICE) | harness.addresses(BOB)) == 2 + 12
    assert len(harness.deps.database.read(holdings.everything)) == 12
    harness.deps.database.read(audit.verify)
    for each in asked:
        assert harness.events(each).count("request.done") == 1


def test_a_worker_that_stops_ends_what_it_has_begun(harness: Harness) -> None:
    """A worker that is stopped finishes the request that it is processing, and starts no other."""
    _automatic(harness)
    begun, go_on = threading.Event(), threading.Event()

    def slow(request: Request, context: ExecutionContext) -> Outcome:
        begun.set()
        go_on.wait(PATIENCE)
        return harness.deps.executor.execute(request, context)

    worker = Worker(harness.with_(executor=Mock(execute=slow)), threads=1)
    asked = [
        harness.submit(change=Change(Action.ALIAS_ADD, f"{name}@example.com"))
        for name in ("first", "second")
    ]
    worker.start()
    assert begun.wait(PATIENCE)
    assert not worker.stop(0.01)
    go_on.set()
    assert worker.stop(PATIENCE)
    states = sorted(harness.now(each).state for each in asked)
    assert states == [State.DONE, State.NEW]
    assert all(harness.now(each).lease_holder is None for each in asked)


def test_a_worker_outlives_its_database(
    harness: Harness, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker waits while its database is down, and then continues."""
    _automatic(harness)
    with closing(Database(database_url)) as own, monkeypatch.context() as away:
        down = Mock(side_effect=DatabaseError("down"))
        away.setattr(own, "read", down)
        away.setattr(own, "write", down)
        worker = Worker(harness.with_(database=own), threads=1)
        worker.start()
        harness.slack.wait_for(lambda: down.call_count > 2)
        away.undo()
        request = harness.submit()
        harness.slack.wait_for(_all_ended(harness, [request]))
        assert worker.stop(PATIENCE)
