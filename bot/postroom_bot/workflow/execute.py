# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Execute an approved request: recheck it, make the change and record the outcome.

At least once: after a crash another worker repeats the idempotent execution, and only one of them
can record the outcome.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from postroom_bot.backends.base import Done
from postroom_bot.backends.mail import FREEING
from postroom_bot.domain import Action, Reason, Request, State
from postroom_bot.errors import Rejected, Unavailable
from postroom_bot.store import ledger, reservations
from postroom_bot.workflow.approve import approvals_of, why_stopped
from postroom_bot.workflow.backoff import seconds
from postroom_bot.workflow.dependencies import Dependencies
from postroom_bot.workflow.lease import BOT, LeasedRequest
from postroom_common.database import Connection

#: Attempts, with growing pauses between them: about an hour.
MAX_ATTEMPTS = 12
#: The pause until a busy mailbox is tried again.
BUSY_PAUSE = timedelta(seconds=1)


def execute(deps: Dependencies, leased: LeasedRequest) -> datetime | None:
    """Execute an approved request, or one whose execution was interrupted.

    :returns: when to try again, if it could not be executed now
    :raises SlackUnavailable: Slack can't confirm the people's accounts; nothing was changed
    """
    request = leased.request
    over = request.execute_by is not None and request.execute_by <= leased.now
    if request.state is State.APPROVED and over and not request.is_begun:
        leased.transition(State.EXPIRED)
    elif request.attempts >= MAX_ATTEMPTS:
        leased.transition(State.FAILED, result=Reason("request.gave_up"))
    elif leased.lock(busy_name(request)):
        return _attempt(deps, leased, request.attempts + 1)
    else:
        return leased.now + BUSY_PAUSE
    return None


def busy_name(request: Request) -> str:
    """Return the name to lock: the mailbox with all of its addresses, or the forwarder."""
    return request.change.mailbox or request.change.target


def _attempt(deps: Dependencies, leased: LeasedRequest, attempt: int) -> datetime | None:
    try:
        with deps.people.cached():
            why = why_stopped(deps, leased.request, approvals_of(deps, leased.request))
        if why:
            if leased.request.is_begun:
                why = Reason("request.maybe_executed", {"why": why.as_list()})
            leased.transition(State.REFUSED, result=why)
            return None
        _begin(leased, attempt)
        done = deps.executor.execute(leased.request, _ExecutionContext(deps, leased))
    except Rejected as refusal:
        leased.transition(State.FAILED, result=refusal.reason)
    except Unavailable as later:
        return _postpone(leased, attempt, later)
    else:
        _record(deps, leased, done)
    return None


def _begin(leased: LeasedRequest, attempt: int) -> None:
    data = {"attempt": attempt}
    leased.renew()
    if leased.request.state is State.APPROVED:
        leased.transition(State.EXECUTING, data=data, attempts=attempt)
    else:
        leased.update(
            also=lambda c: leased.audit(c, "request.resumed", BOT, data),
            attempts=attempt,
        )


def _postpone(leased: LeasedRequest, attempt: int, later: Unavailable) -> datetime | None:
    if attempt >= MAX_ATTEMPTS:
        leased.transition(State.FAILED, result=Reason("request.gave_up"))
        return None
    pause = seconds(attempt, later.retry_after)
    data = {"attempt": attempt, "why": later.reason.as_dict(), "again_in": round(pause)}
    if leased.request.state is State.EXECUTING:
        leased.transition(State.APPROVED, data=data, attempts=attempt, blocked=later.reason)
    else:
        leased.update(attempts=attempt, blocked=later.reason)
    return leased.now + timedelta(seconds=pause)


class _ExecutionContext:
    """Gives an executor the lease and the notes of its request."""

    def __init__(self, deps: Dependencies, leased: LeasedRequest) -> None:
        self._deps = deps
        self._leased = leased

    def renew(self) -> None:
        """Renew the lease."""
        self._leased.renew()

    def note(self, progress: Mapping[str, Any]) -> None:
        """Save notes in place of the earlier ones, and reserve the addresses to be freed.

        A reservation after the execution would let another request take an address in between.
        """
        freeing = progress.get(FREEING, ())
        self._leased.update(
            also=lambda c: _reserve(self._deps, c, self._leased, freeing), progress=dict(progress)
        )


def _record(deps: Dependencies, leased: LeasedRequest, done: Done) -> None:
    """Record the outcome, the ledger's entry and the reservations in one transaction."""
    change = leased.request.change

    def also(c: Connection) -> None:
        ledger.record(c, request_id=leased.request.id, change=done.ledger, at=leased.now)
        if change.action in (Action.ALIAS_ADD, Action.FORWARD_ADD):
            reservations.release(c, change.target)
        _reserve(deps, c, leased, done.freed)

    leased.transition(State.DONE, data={"changed": done.changed}, also=also, result=done.result)


def _reserve(
    deps: Dependencies, c: Connection, leased: LeasedRequest, addresses: Iterable[str]
) -> None:
    """Reserve addresses for their last mailbox; a forwarder's for a forwarder of that name."""
    at = leased.now
    owner = busy_name(leased.request)
    for address in addresses:
        until = at + deps.policy().requests.tombstone
        reservations.reserve(c, address, owner, at=at, until=until)
