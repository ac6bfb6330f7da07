# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""An approved request is carried out: once more looked at, done, and written down.

At least once, with an executor that makes things so whatever was done already: after a crash
somebody else does it again, and only one of them can write that it is done.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from postroom_bot.backends.base import Done
from postroom_bot.backends.mail import FREEING
from postroom_bot.domain import Action, Request, State
from postroom_bot.errors import Rejected, Unavailable
from postroom_bot.store import ledger, reservations
from postroom_bot.ui import messages
from postroom_bot.workflow.backoff import seconds
from postroom_bot.workflow.dependencies import Dependencies
from postroom_bot.workflow.lease import BOT, LeasedRequest
from postroom_bot.workflow.recheck import approvals_of, why_stopped
from postroom_common.database import Connection

#: Tries, with growing pauses between them: about an hour.
MAX_ATTEMPTS = 12
#: Until a mailbox that is busy is looked at again.
BUSY = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class Again:
    """It could not be done now.

    :param at: when to look again
    """

    at: datetime


def execute(deps: Dependencies, leased: LeasedRequest) -> Again | None:
    """Carry out an approved request, or one that somebody began and did not end.

    :raises SlackUnavailable: Slack can't confirm the people's accounts; nothing was done
    """
    request = leased.request
    over = request.expires_at is not None and request.expires_at <= leased.now
    if request.state is State.APPROVED and over and not request.is_begun:
        leased.transition(State.EXPIRED)
    elif request.attempts >= MAX_ATTEMPTS:
        leased.transition(State.FAILED, result=messages.GAVE_UP)
    elif leased.lock(busy_name(request)):
        return _attempt(deps, leased, request.attempts + 1)
    else:
        return Again(leased.now + BUSY)
    return None


def busy_name(request: Request) -> str:
    """Return what is locked: the mailbox with all of its addresses, or the forwarder."""
    return request.change.mailbox or request.change.target


def _attempt(deps: Dependencies, leased: LeasedRequest, attempt: int) -> Again | None:
    try:
        with deps.people.one_look():
            why = why_stopped(deps, leased.request, approvals_of(deps, leased.request))
        if why:
            result = messages.stopped(why, begun=leased.request.is_begun)
            leased.transition(State.REFUSED, result=result)
            return None
        _begin(leased, attempt)
        done = deps.executor.execute(leased.request, _ExecutionContext(deps, leased))
    except Rejected as refusal:
        leased.transition(State.FAILED, result=str(refusal))
    except Unavailable as later:
        return _postpone(leased, attempt, later)
    else:
        _write_down(deps, leased, done)
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


def _postpone(leased: LeasedRequest, attempt: int, later: Unavailable) -> Again | None:
    if attempt >= MAX_ATTEMPTS:
        leased.transition(State.FAILED, result=messages.GAVE_UP)
        return None
    pause = seconds(attempt, later.retry_after)
    data = {"attempt": attempt, "why": str(later), "again_in": round(pause)}
    if leased.request.state is State.EXECUTING:
        leased.transition(State.APPROVED, data=data, attempts=attempt, trouble=str(later))
    else:
        leased.update(attempts=attempt, trouble=str(later))
    return Again(leased.now + timedelta(seconds=pause))


class _ExecutionContext:
    """What an executor is given of a request: its lease and its notes."""

    def __init__(self, deps: Dependencies, leased: LeasedRequest) -> None:
        self._deps = deps
        self._hold = leased

    def renew(self) -> None:
        """Hold the lease once more."""
        self._hold.renew()

    def note(self, progress: Mapping[str, Any]) -> None:
        """Save notes in place of the earlier ones; what they free is nobody else's from now on.

        Were it kept only when all is done, somebody quick could have it in between.
        """
        freeing = progress.get(FREEING, ())
        self._hold.update(
            also=lambda c: _reserve(self._deps, c, self._hold, freeing), progress=dict(progress)
        )


def _write_down(deps: Dependencies, leased: LeasedRequest, done: Done) -> None:
    """Write that it is done, with ledger and tombstones, all in one transaction."""
    change = leased.request.change

    def also(c: Connection) -> None:
        ledger.record(c, request_id=leased.request.id, change=done.stands, at=leased.now)
        if change.action in (Action.ALIAS_ADD, Action.FORWARD_ADD):
            reservations.release(c, change.target)
        _reserve(deps, c, leased, done.freed)

    leased.transition(State.DONE, data={"changed": done.changed}, also=also, result=done.sentence)


def _reserve(
    deps: Dependencies, c: Connection, leased: LeasedRequest, addresses: Iterable[str]
) -> None:
    """Keep addresses for the mailbox that had them; a forwarder's for another forwarder there."""
    at = leased.now
    owner = busy_name(leased.request)
    for address in addresses:
        until = at + deps.policy().requests.tombstone
        reservations.reserve(c, address, owner, at=at, until=until)
