# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Execute an approved request: recheck it, make the change and record the outcome.

Each request is executed at least once, because after a crash another worker repeats the idempotent
execution. Only one worker can record the outcome.
"""

from __future__ import annotations

import random
from datetime import datetime, timedelta

from postroom_bot.backends.executor import Outcome
from postroom_bot.domain import Reason, State
from postroom_bot.errors import Rejected, Unavailable
from postroom_bot.store import audit, ledger
from postroom_bot.workflow.evaluate import reason_to_stop
from postroom_bot.workflow.leased_request import LeasedRequest
from postroom_common.database import Connection

#: The maximum number of attempts. Together with the growing pauses in between, the attempts take
#: about an hour.
MAX_ATTEMPTS = 12
#: The first and the longest pause, in seconds.
FIRST_PAUSE = 2.0
MAX_PAUSE = 900.0
#: The pause before another attempt to lock a busy mailbox.
BUSY_PAUSE = timedelta(seconds=1)


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
    if request.attempts >= MAX_ATTEMPTS:
        leased.transition(State.FAILED, result=Reason("request.gave_up"))
        return None
    if not leased.lock():
        return leased.now + BUSY_PAUSE
    attempt = request.attempts + 1
    try:
        with leased.deps.people.cached():
            why = reason_to_stop(leased, leased.approvals())
        if why:
            if request.may_have_changed:
                why = Reason("request.maybe_executed", {"why": why.as_list()})
            leased.transition(State.REFUSED, result=why)
            return None
        data = {"attempt": attempt}
        leased.renew()
        if request.state is State.APPROVED:
            leased.transition(State.EXECUTING, data=data, attempts=attempt)
        else:
            leased.update(
                also_write=lambda c: leased.audit(c, "request.resumed", audit.BOT, data),
                attempts=attempt,
            )
        outcome = leased.deps.executor.execute(leased.request, leased)
    except Rejected as rejection:
        leased.transition(State.FAILED, result=rejection.reason)
    except Unavailable as later:
        return _postpone(leased, attempt, later)
    else:
        _record(leased, outcome)
    return None


def _postpone(leased: LeasedRequest, attempt: int, later: Unavailable) -> datetime | None:
    if attempt >= MAX_ATTEMPTS:
        leased.transition(State.FAILED, result=Reason("request.gave_up"))
        return None
    pause = pause_after(attempt, later.retry_after)
    data = {"attempt": attempt, "why": later.reason.as_dict(), "again_in": round(pause)}
    if leased.request.state is State.EXECUTING:
        leased.transition(State.APPROVED, data=data, attempts=attempt, blocked=later.reason)
    else:
        leased.update(attempts=attempt, blocked=later.reason)
    return leased.now + timedelta(seconds=pause)


def _record(leased: LeasedRequest, outcome: Outcome) -> None:
    """Record the outcome, the ledger's entry and the freed addresses in one transaction."""
    change = leased.request.change

    def also_write(c: Connection) -> None:
        ledger.record(
            c, request_id=leased.request.id, change=outcome.recorded_change, at=leased.now
        )
        if change.action.adds:
            ledger.delete_tombstone(c, change.target)
        leased.add_tombstones(c, outcome.freed)

    leased.transition(
        State.DONE, data={"changed": outcome.changed}, also_write=also_write, result=outcome.result
    )


def pause_after(failures: int, asked: float | None = None) -> float:
    """Return how many seconds to wait before a retry. The wait doubles with each failure.

    :param failures: the number of failures, at least 1
    :param asked: the minimum pause that the service asked for, if any
    """
    pause = min(FIRST_PAUSE * 2.0 ** min(failures - 1, 20), MAX_PAUSE)
    # Jitter, so that requests that failed together are not retried together.
    spread = random.uniform(0.8, 1.0)  # noqa: S311 - not for security
    return max(pause * spread, asked or 0.0)
