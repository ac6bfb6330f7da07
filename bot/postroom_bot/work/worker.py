# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Threads that take due requests, one at a time each, and do all that there is to be done now.

A request is due at once when it is new and when somebody votes or cancels, later when its time
comes or when something did not answer. Whoever finds it due takes a lease; a process that dies
leaves a lease that runs out, and what it had begun is done again by another, to the same effect.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from datetime import datetime, timedelta

from postroom_bot.chat import ChatDown, ChatRefused
from postroom_bot.executors.base import TryLater, WontDo
from postroom_bot.model import Action, Request, State
from postroom_bot.store.rows import Lost
from postroom_common.database import DatabaseError

from . import passwords, tell
from .backoff import seconds
from .deps import Deps
from .examine import examine, given_up_at
from .execute import execute
from .hold import Hold, claim
from .judge import judge, refuse_late_votes
from .troubles import broken, out_of_order, refused_by_slack
from .upkeep import Upkeep, notice_due_at, remove_ended

#: Seconds between looks for what another process was told; each thread's differ a little.
POLL = 1.0


class Worker:
    """Carries requests through.

    :param threads: how many requests at a time
    """

    def __init__(self, deps: Deps, threads: int = 4) -> None:
        self._deps = deps
        self._upkeep = Upkeep(deps)
        self._failures: dict[str, int] = {}
        self._stopping = threading.Event()
        runs = [self._run] * threads + [self._run_upkeep]
        self._threads = [
            threading.Thread(target=run, name=f"worker-{number}", daemon=True)
            for number, run in enumerate(runs)
        ]

    def start(self) -> None:
        """Begin to work."""
        for thread in self._threads:
            thread.start()

    def stop(self, timeout: float) -> bool:
        """Claim nothing more, let the steps that run come to their end, and tell whether they did.

        A step that does not end in time keeps its lease until that runs out.

        :param timeout: seconds for all threads together
        """
        self._stopping.set()
        self._deps.stopping.set()
        self._deps.wake.set()
        until = time.monotonic() + timeout
        for thread in self._threads:
            if thread.ident is not None:
                thread.join(max(0.0, until - time.monotonic()))
        return not any(thread.is_alive() for thread in self._threads)

    def step(self) -> bool:
        """Take one due request, do what there is to be done, and tell whether there was one."""
        hold = claim(self._deps)
        if hold is None:
            return False
        with self._deps.metrics.work_seconds.time():
            self._visit(hold)
        return True

    def _visit(self, hold: Hold) -> None:
        """Do all that there is to be done with a request now, and give it back."""
        try:
            due = self._worked(hold)
        except Lost:
            # Somebody cancelled it, or has it by now. What is ours of it, we give back at once.
            due = hold.now
        hold.release(due)

    def _worked(self, hold: Hold) -> datetime | None:
        """Return when the request has to be looked at next."""
        deps = self._deps
        began = hold.now
        failures = self._failures.get(hold.request.id, 0)
        again = self._tried(hold, "work", lambda: advance(deps, hold))
        if again is None and hold.request.trouble:
            hold.change(trouble="")
        # Whether or not that worked: people are told how the request stands.
        untold = self._tried(hold, "tell", lambda: follow(deps, hold))
        if failures == self._failures.get(hold.request.id, 0):
            self._failures.pop(hold.request.id, None)
        # What is told can wait until the work is due, and never makes that due earlier. What became
        # due meanwhile may have been too early to be seen, and is looked at once more.
        return again or untold or next_due(deps, hold.request, began)

    def _tried(
        self, hold: Hold, where: str, work: Callable[[], datetime | None]
    ) -> datetime | None:
        """Do it; where it fails, return when to try again."""
        try:
            return work()
        except (Lost, DatabaseError):
            raise
        except ChatDown as down:
            return self._later(hold, down.retry_after)
        except TryLater as later:
            return self._hindered(hold, later)
        except ChatRefused as refusal:
            refused_by_slack(self._deps, where, hold.request, refusal)
        except Exception:  # noqa: BLE001 - logged there; no error may stop the others' requests
            broken(self._deps, where, hold.request)
        return self._later(hold, None)

    def _hindered(self, hold: Hold, later: TryLater) -> datetime:
        """Write down what is in the way, and tell of it unless it may be over in a moment."""
        due = self._later(hold, later.retry_after)
        lasts = later.lasting or bool(hold.request.trouble)
        hinder(self._deps, hold, str(later))
        if lasts:
            self._tried(hold, "tell", lambda: tell.trouble(self._deps, hold))
        return due

    def _later(self, hold: Hold, asked: float | None) -> datetime:
        tries = self._failures.get(hold.request.id, 0) + 1
        self._failures[hold.request.id] = tries
        return hold.now + timedelta(seconds=seconds(tries, asked))

    def _run(self) -> None:
        while not self._stopping.is_set():
            if not self._guarded(self.step):
                self._deps.wake.wait(POLL * random.uniform(0.5, 1.0))  # noqa: S311
                self._deps.wake.clear()

    def _run_upkeep(self) -> None:
        while not self._stopping.wait(POLL):
            self._guarded(self._upkeep.run)
        self._guarded(self._upkeep.run)

    def _guarded(self, work: Callable[[], bool | None]) -> bool:
        """Do it and tell whether it did something; a thread outlives whatever goes wrong."""
        try:
            return bool(work())
        except Exception:  # noqa: BLE001 - logged there
            out_of_order(self._deps)
            return False


def advance(deps: Deps, hold: Hold) -> datetime | None:
    """Take a request as far as it goes now; return when it has to be tried again, if it has to.

    :raises ChatDown: Slack does not answer
    :raises TryLater: the mail service does not
    """
    try:
        return _advanced(deps, hold)
    except WontDo as refusal:
        # The mail service refused to be asked about it at all.
        hold.move(State.REFUSED, result=str(refusal))
        return None


def _advanced(deps: Deps, hold: Hold) -> datetime | None:
    with deps.people.one_look():
        if hold.request.state is State.NEW:
            examine(deps, hold)
        if hold.request.state is State.PENDING:
            judge(deps, hold)
    if hold.request.state in (State.APPROVED, State.EXECUTING):
        if hold.request.wish.action is Action.PASSWORD:
            passwords.watch(hold)
        elif (again := execute(deps, hold)) is not None:
            return again.at
    remove_ended(deps, hold)
    return None


def hinder(deps: Deps, hold: Hold, trouble: str) -> None:
    """Keep in a request what is in its way; it is not audited, however often it is tried."""
    request = hold.request
    if request.trouble == trouble:
        return
    is_new = request.state is State.NEW
    ends = given_up_at(deps, request) if is_new else request.expires_at
    hold.change(trouble=trouble, expires_at=ends)


def follow(deps: Deps, hold: Hold) -> None:
    """Have Slack show how a request stands.

    :raises ChatDown: Slack does not answer
    """
    tell.catch_up(deps, hold)
    tell.remind(deps, hold)
    tell.announce_end(deps, hold)
    refuse_late_votes(deps, hold)


def next_due(deps: Deps, request: Request, after: datetime) -> datetime | None:
    """Return when, after a time, time itself gives something to do, or None."""
    times = [request.ends_at, notice_due_at(deps, request)] if request.state is State.DONE else []
    if request.state is State.PENDING:
        times += [request.expires_at, request.remind_at]
    if request.state is State.APPROVED:
        times += [request.expires_at]
    return min((at for at in times if at is not None and at > after), default=None)
