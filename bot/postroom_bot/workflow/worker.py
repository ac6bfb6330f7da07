# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The worker. Each of its threads leases and processes one due request at a time.

A request is due when it is created, after each vote or cancellation, at its deadlines, and when a
failed step is due for a retry. If a process crashes, its leases expire, and other workers repeat
the interrupted steps, which are idempotent.
"""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Callable
from datetime import datetime, timedelta

from postroom_bot.domain import Action, Request, State
from postroom_bot.errors import LeaseLost, Rejected, SlackRejected, SlackUnavailable, Unavailable
from postroom_bot.store import audit, idempotency_keys, requests, tombstones
from postroom_bot.workflow import passwords
from postroom_bot.workflow.dependencies import Dependencies
from postroom_bot.workflow.end_dates import notice_due_at, remove_ended
from postroom_bot.workflow.evaluate import evaluate
from postroom_bot.workflow.execute import execute, retry_delay
from postroom_bot.workflow.leased_request import LeasedRequest, lease_request
from postroom_bot.workflow.notify import notify, notify_blocked
from postroom_bot.workflow.tally import tally
from postroom_common.database import Connection, DatabaseError

#: The maximum time in seconds between polls for requests that other processes have marked due.
POLL_SECONDS = 1.0
PURGE_EVERY = timedelta(hours=1)
#: How long to keep idempotency keys. Slack stops retrying much earlier, and its signatures are only
#: valid for five minutes.
KEEP_KEYS = timedelta(days=2)

_log = logging.getLogger(__name__)


class Worker:
    """A pool of threads that process due requests."""

    def __init__(self, deps: Dependencies, threads: int = 4) -> None:
        self._deps = deps
        self._purge_at = deps.clock()
        self._stopping = threading.Event()
        runs = [self._run] * threads + [self._run_upkeep]
        self._threads = [
            threading.Thread(target=run, name=f"worker-{number}", daemon=True)
            for number, run in enumerate(runs)
        ]

    def start(self) -> None:
        """Start the threads."""
        for thread in self._threads:
            thread.start()

    def stop(self, timeout: float) -> bool:
        """Stop leasing requests, wait for running steps, and return whether all steps have ended.

        A step that does not end in time keeps its lease until the lease expires.

        :param timeout: how many seconds to wait for all threads together
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
        """Lease, process and release one due request. Return whether a request was due."""
        leased = lease_request(self._deps)
        if leased is None:
            return False
        with self._deps.metrics.work_seconds.time():
            try:
                due_at = process(leased)
            except LeaseLost:
                # The request was cancelled, or another worker has leased it.
                due_at = leased.now
            leased.release(due_at)
        return True

    def upkeep(self) -> None:
        """Count the open requests, delete what has expired, and stream the audit."""
        deps, now = self._deps, self._deps.clock()
        for state, count in deps.database.read(requests.count_open).items():
            deps.metrics.open_requests.labels(state).set(count)
        if now >= self._purge_at:

            def purge(c: Connection) -> None:
                idempotency_keys.purge(c, now - KEEP_KEYS)
                tombstones.purge(c, now)
                requests.purge(c, now - deps.policy().requests.retention)

            deps.database.write(purge)
            self._purge_at = now + PURGE_EVERY
        # Stream the audit last, because it may fail.
        if deps.audit_lines is not None:
            audit.stream(deps.database, deps.audit_lines)

    def _run(self) -> None:
        while not self._stopping.is_set():
            if not self._survive_errors(self.step):
                self._deps.wake.wait(POLL_SECONDS * random.uniform(0.5, 1.0))  # noqa: S311
                self._deps.wake.clear()

    def _run_upkeep(self) -> None:
        while not self._stopping.wait(POLL_SECONDS):
            self._survive_errors(self.upkeep)
        self._survive_errors(self.upkeep)

    def _survive_errors(self, work: Callable[[], object]) -> bool:
        """Return the result of a function, or log its error and return False."""
        try:
            return bool(work())
        except DatabaseError as error:
            _log.error("%s; the bot will retry", error)
        except Exception:  # noqa: BLE001 - logged
            _log.exception("unexpected error; the bot will retry")
        self._deps.metrics.errors_total.labels("worker").inc()
        return False


def process(leased: LeasedRequest) -> datetime | None:
    """Advance a request as far as possible, and send notifications. Return when it is next due."""
    began, failures = leased.now, leased.request.failures
    retry_at = _run_step(leased, "work", _advance)
    if retry_at is None and leased.request.blocked:
        leased.update(blocked=None)
    # Notifications describe the state that was reached, even if a step has failed.
    notify_at = _run_step(leased, "notify", notify)
    if failures and leased.request.failures == failures:
        leased.update(failures=0)
    # A retry of the work takes precedence over a retry of a notification. Deadlines that passed
    # during this step count as well, because the step may have missed them.
    return retry_at or notify_at or _next_deadline(leased.deps, leased.request, began)


def _advance(leased: LeasedRequest) -> datetime | None:
    """Evaluate, tally or execute the request. Return when to retry, or None."""
    try:
        if leased.request.state is State.NEW:
            evaluate(leased)
        if leased.request.state is State.PENDING:
            tally(leased)
    except Rejected as rejection:
        # The mail service rejected a query.
        leased.transition(State.REFUSED, result=rejection.reason)
    if leased.request.state in (State.APPROVED, State.EXECUTING):
        if leased.request.change.action is Action.PASSWORD:
            passwords.clean_up_stale_request(leased)
        elif (retry_at := execute(leased)) is not None:
            return retry_at
    if leased.request.state is State.DONE:
        remove_ended(leased)
    return None


def _next_deadline(deps: Dependencies, request: Request, after: datetime) -> datetime | None:
    """Return the next time after `after` at which a request is due, or None."""
    times: list[datetime | None] = []
    if request.state is State.DONE:
        times = [request.removal_at, notice_due_at(deps, request)]
    elif request.state is State.PENDING:
        times = [request.decide_by, request.remind_at]
    elif request.state is State.APPROVED:
        times = [request.execute_by]
    return min((at for at in times if at is not None and at > after), default=None)


def _run_step(
    leased: LeasedRequest, step_name: str, work: Callable[[LeasedRequest], datetime | None]
) -> datetime | None:
    """Return the result of a function or, after an error, the time of the next attempt."""
    retry_after = None
    try:
        return work(leased)
    except (LeaseLost, DatabaseError):
        raise
    except SlackUnavailable as down:
        retry_after = down.retry_after
    except Unavailable as unavailable:
        retry_after = unavailable.retry_after
        _block(leased, unavailable)
    except SlackRejected as rejection:
        leased.report_rejected(step_name, rejection)
    except Exception:  # noqa: BLE001 - logged; no error may stop the work on other requests
        leased.deps.metrics.errors_total.labels(step_name).inc()
        _log.exception("%s: unexpected error; the bot will retry", leased.request.id)
    leased.update(failures=leased.request.failures + 1)
    return leased.now + timedelta(seconds=retry_delay(leased.request.failures, retry_after))


def _block(leased: LeasedRequest, unavailable: Unavailable) -> None:
    """Save the reason for a delay, and notify the requester if the problem persists."""
    lasts = unavailable.lasting or leased.request.blocked is not None
    if leased.request.blocked != unavailable.reason:
        leased.update(blocked=unavailable.reason)
    # The message to the requester states when the bot gives up.
    if leased.request.state is State.NEW and leased.request.decide_by is None:
        expire_after = leased.deps.policy().requests.expire_after
        leased.update(decide_by=leased.request.created_at + expire_after)
    if lasts:
        _run_step(leased, "notify", notify_blocked)
