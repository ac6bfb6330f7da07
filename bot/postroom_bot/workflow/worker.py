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

from postroom_bot.domain import Action, Request, State
from postroom_bot.errors import LeaseLost, Rejected, SlackRejected, SlackUnavailable, Unavailable
from postroom_bot.workflow import notify, passwords
from postroom_bot.workflow.approve import refuse_late_votes, tally
from postroom_bot.workflow.backoff import seconds
from postroom_bot.workflow.dependencies import Dependencies
from postroom_bot.workflow.error_reporting import broken, out_of_order, refused_by_slack
from postroom_bot.workflow.evaluate import evaluate, given_up_at
from postroom_bot.workflow.execute import execute
from postroom_bot.workflow.lease import LeasedRequest, claim
from postroom_bot.workflow.maintenance import Upkeep, notice_due_at, remove_ended
from postroom_common.database import DatabaseError

#: Seconds between looks for what another process was told; each thread's differ a little.
POLL = 1.0


class Worker:
    """Carries requests through.

    :param threads: how many requests at a time
    """

    def __init__(self, deps: Dependencies, threads: int = 4) -> None:
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
        leased = claim(self._deps)
        if leased is None:
            return False
        with self._deps.metrics.work_seconds.time():
            self._visit(leased)
        return True

    def _visit(self, leased: LeasedRequest) -> None:
        """Do all that there is to be done with a request now, and give it back."""
        try:
            due = self._worked(leased)
        except LeaseLost:
            # Somebody cancelled it, or has it by now. What is ours of it, we give back at once.
            due = leased.now
        leased.release(due)

    def _worked(self, leased: LeasedRequest) -> datetime | None:
        """Return when the request has to be looked at next."""
        deps = self._deps
        began = leased.now
        failures = self._failures.get(leased.request.id, 0)
        again = self._tried(leased, "work", lambda: advance(deps, leased))
        if again is None and leased.request.trouble:
            leased.update(trouble="")
        # Whether or not that worked: people are told how the request stands.
        untold = self._tried(leased, "tell", lambda: follow(deps, leased))
        if failures == self._failures.get(leased.request.id, 0):
            self._failures.pop(leased.request.id, None)
        # What is told can wait until the work is due, and never makes that due earlier. What became
        # due meanwhile may have been too early to be seen, and is looked at once more.
        return again or untold or next_due(deps, leased.request, began)

    def _tried(
        self, leased: LeasedRequest, where: str, work: Callable[[], datetime | None]
    ) -> datetime | None:
        """Do it; where it fails, return when to try again."""
        try:
            return work()
        except (LeaseLost, DatabaseError):
            raise
        except SlackUnavailable as down:
            return self._later(leased, down.retry_after)
        except Unavailable as later:
            return self._hindered(leased, later)
        except SlackRejected as refusal:
            refused_by_slack(self._deps, where, leased.request, refusal)
        except Exception:  # noqa: BLE001 - logged there; no error may stop the others' requests
            broken(self._deps, where, leased.request)
        return self._later(leased, None)

    def _hindered(self, leased: LeasedRequest, later: Unavailable) -> datetime:
        """Write down what is in the way, and tell of it unless it may be over in a moment."""
        due = self._later(leased, later.retry_after)
        lasts = later.lasting or bool(leased.request.trouble)
        block(self._deps, leased, str(later))
        if lasts:
            self._tried(leased, "tell", lambda: notify.trouble(self._deps, leased))
        return due

    def _later(self, leased: LeasedRequest, asked: float | None) -> datetime:
        tries = self._failures.get(leased.request.id, 0) + 1
        self._failures[leased.request.id] = tries
        return leased.now + timedelta(seconds=seconds(tries, asked))

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


def advance(deps: Dependencies, leased: LeasedRequest) -> datetime | None:
    """Take a request as far as it goes now; return when it has to be tried again, if it has to.

    :raises SlackUnavailable: Slack does not answer
    :raises Unavailable: the mail service does not
    """
    try:
        return _advanced(deps, leased)
    except Rejected as refusal:
        # The mail service refused to be asked about it at all.
        leased.transition(State.REFUSED, result=str(refusal))
        return None


def _advanced(deps: Dependencies, leased: LeasedRequest) -> datetime | None:
    with deps.people.one_look():
        if leased.request.state is State.NEW:
            evaluate(deps, leased)
        if leased.request.state is State.PENDING:
            tally(deps, leased)
    if leased.request.state in (State.APPROVED, State.EXECUTING):
        if leased.request.change.action is Action.PASSWORD:
            passwords.watch(leased)
        elif (again := execute(deps, leased)) is not None:
            return again.at
    remove_ended(deps, leased)
    return None


def block(deps: Dependencies, leased: LeasedRequest, trouble: str) -> None:
    """Keep in a request what is in its way; it is not audited, however often it is tried."""
    request = leased.request
    if request.trouble == trouble:
        return
    is_new = request.state is State.NEW
    ends = given_up_at(deps, request) if is_new else request.expires_at
    leased.update(trouble=trouble, expires_at=ends)


def follow(deps: Dependencies, leased: LeasedRequest) -> None:
    """Have Slack show how a request stands.

    :raises SlackUnavailable: Slack does not answer
    """
    notify.catch_up(deps, leased)
    notify.remind(deps, leased)
    notify.announce_end(deps, leased)
    refuse_late_votes(deps, leased)


def next_due(deps: Dependencies, request: Request, after: datetime) -> datetime | None:
    """Return when, after a time, time itself gives something to do, or None."""
    times = [request.ends_at, notice_due_at(deps, request)] if request.state is State.DONE else []
    if request.state is State.PENDING:
        times += [request.expires_at, request.remind_at]
    if request.state is State.APPROVED:
        times += [request.expires_at]
    return min((at for at in times if at is not None and at > after), default=None)
