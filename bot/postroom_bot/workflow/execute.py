# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Execute an approved request: recheck it, make the change and record the outcome.

A request may be executed more than once: after a crash, another worker repeats the execution, which
is idempotent. Only one worker can record the outcome.
"""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import datetime, timedelta

from postroom_bot.backends.executor import Outcome
from postroom_bot.domain import END_OF_CHANGE, EXTENSION, Change, Reason, State
from postroom_bot.errors import Rejected, Unavailable
from postroom_bot.store import audit, holdings, tombstones
from postroom_bot.workflow.end_dates import change_still_due
from postroom_bot.workflow.leased_request import LeasedRequest
from postroom_bot.workflow.policy_decisions import recheck
from postroom_common.database import Connection

#: The maximum number of attempts. With the increasing delays between them, they take about an hour.
MAX_ATTEMPTS = 13
#: The first and the longest delay before a retry, in seconds.
FIRST_DELAY = 2.0
MAX_DELAY = 900.0
#: The delay before another attempt to lock a busy mailbox.
BUSY_DELAY = timedelta(seconds=1)


def execute(leased: LeasedRequest) -> datetime | None:
    """Execute an approved request, or resume an interrupted execution.

    :returns: when to retry if the request could not be executed now, else None
    :raises SlackUnavailable: if Slack can't confirm the accounts; nothing was changed
    """
    request = leased.request
    overdue = request.state is State.APPROVED and request.is_overdue(leased.now)
    if overdue and not request.may_have_changed:
        leased.transition(State.EXPIRED)
        return None
    if _gave_up(leased, request.attempts):
        return None
    if not leased.lock():
        return leased.now + BUSY_DELAY
    attempt = request.attempts + 1
    try:
        why = recheck(leased, leased.approvals())
        change = change_still_due(leased.deps, request)
        if why or change is None:
            why = why or Reason("end.replaced")
            if request.may_have_changed:
                why = Reason("request.maybe_executed", {"why": why.as_list()})
            leased.transition(State.REFUSED, result=why)
            return None
        data = {"attempt": attempt}
        leased.renew()
        if request.state is State.APPROVED:
            leased.transition(State.EXECUTING, data=data, attempts=attempt)
        else:
            resumed = audit.Entry("request.resumed", audit.BOT, data)
            leased.update(also_audit=[resumed], attempts=attempt)
        outcome = _execute_change(leased, change)
    except Rejected as rejection:
        leased.transition(State.FAILED, result=rejection.reason)
    except Unavailable as later:
        return _postpone(leased, attempt, later)
    else:
        _record(leased, change, outcome)
    return None


def _execute_change(leased: LeasedRequest, change: Change) -> Outcome:
    deps, request = leased.deps, replace(leased.request, change=change)
    if request.origin != EXTENSION:
        return deps.executor.execute(request, leased)
    # An extension changes only the holdings, so it can't restore anything.
    there = deps.mail.deliveries(change)
    params = {"address": change.target, "day": str(change.last_day)}
    result = Reason("end.extended", params)
    return Outcome(changed=False, result=result, before=there, after=there)


def _gave_up(leased: LeasedRequest, attempts: int) -> bool:
    """Fail the request after the maximum number of attempts. Return whether it failed."""
    request = leased.request
    # Nobody repeats a failed removal after a last day, so the bot retries it until it succeeds.
    if attempts < MAX_ATTEMPTS or request.origin == END_OF_CHANGE:
        return False
    why = Reason("request.gave_up_unsure" if request.may_have_changed else "request.gave_up")
    leased.transition(State.FAILED, result=why)
    return True


def _postpone(leased: LeasedRequest, attempt: int, later: Unavailable) -> datetime | None:
    if _gave_up(leased, attempt):
        return None
    delay = retry_delay(attempt, later.retry_after)
    data = {"attempt": attempt, "why": later.reason.as_dict(), "again_in": round(delay)}
    if leased.request.state is State.EXECUTING:
        leased.transition(State.APPROVED, data=data, attempts=attempt, blocked=later.reason)
    else:
        leased.update(attempts=attempt, blocked=later.reason)
    return leased.now + timedelta(seconds=delay)


def _record(leased: LeasedRequest, change: Change, outcome: Outcome) -> None:
    """Record the outcome, the holdings and the freed addresses in one transaction.

    :param change: the part of the request's change that was executed
    """
    request = leased.request

    def also_write(c: Connection) -> None:
        holdings.record(c, request, change, before=outcome.before, after=outcome.after)
        if change.action.adds:
            tombstones.remove(c, change.target)
        leased.add_tombstones(c, outcome.freed)

    leased.transition(
        State.DONE, data={"changed": outcome.changed}, also_write=also_write, result=outcome.result
    )


def retry_delay(failures: int, retry_after: float | None = None) -> float:
    """Return the seconds to wait before a retry, which double with each failure up to MAX_DELAY.

    :param failures: the number of failures, at least 1
    :param retry_after: the minimum delay that the service asked for, if any
    """
    delay = min(FIRST_DELAY * 2.0 ** min(failures - 1, 20), MAX_DELAY)
    # Jitter, so that requests that failed together are not retried together.
    jitter = random.uniform(0.8, 1.0)  # noqa: S311 - not for security
    return max(delay * jitter, retry_after or 0.0)
