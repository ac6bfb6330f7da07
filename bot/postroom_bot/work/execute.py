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

from postroom_bot.executors.base import Done, TryLater, WontDo
from postroom_bot.executors.mail import FREEING
from postroom_bot.model import Action, Request, State
from postroom_bot.store import ledger, tombstones
from postroom_common.database import Connection

from . import sentences
from .backoff import seconds
from .deps import Deps
from .hold import BOT, Hold
from .standing import approvals_of, why_stopped

#: Tries, with growing pauses between them: about an hour.
MOST_ATTEMPTS = 12
#: Until a mailbox that is busy is looked at again.
BUSY = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class Again:
    """It could not be done now.

    :param at: when to look again
    """

    at: datetime


def execute(deps: Deps, hold: Hold) -> Again | None:
    """Carry out an approved request, or one that somebody began and did not end.

    :raises ChatDown: Slack can't say whether the people are still who they were; nothing was done
    """
    request = hold.request
    over = request.expires_at is not None and request.expires_at <= hold.now
    if request.state is State.APPROVED and over and not request.is_begun:
        hold.move(State.EXPIRED)
    elif request.attempts >= MOST_ATTEMPTS:
        hold.move(State.FAILED, result=sentences.GAVE_UP)
    elif hold.lock(busy_name(request)):
        return _attempt(deps, hold, request.attempts + 1)
    else:
        return Again(hold.now + BUSY)
    return None


def busy_name(request: Request) -> str:
    """Return what is locked: the mailbox with all of its addresses, or the forwarder."""
    return request.wish.mailbox or request.wish.target


def _attempt(deps: Deps, hold: Hold, attempt: int) -> Again | None:
    try:
        with deps.people.one_look():
            why = why_stopped(deps, hold.request, approvals_of(deps, hold.request))
        if why:
            result = sentences.stopped(why, begun=hold.request.is_begun)
            hold.move(State.REFUSED, result=result)
            return None
        _begin(hold, attempt)
        done = deps.executor.carry_out(hold.request, _Keeper(deps, hold))
    except WontDo as refusal:
        hold.move(State.FAILED, result=str(refusal))
    except TryLater as later:
        return _postpone(hold, attempt, later)
    else:
        _write_down(deps, hold, done)
    return None


def _begin(hold: Hold, attempt: int) -> None:
    data = {"attempt": attempt}
    hold.renew()
    if hold.request.state is State.APPROVED:
        hold.move(State.EXECUTING, data=data, attempts=attempt)
    else:
        hold.change(
            also=lambda c: hold.audit(c, "request.resumed", BOT, data),
            attempts=attempt,
        )


def _postpone(hold: Hold, attempt: int, later: TryLater) -> Again | None:
    if attempt >= MOST_ATTEMPTS:
        hold.move(State.FAILED, result=sentences.GAVE_UP)
        return None
    pause = seconds(attempt, later.retry_after)
    data = {"attempt": attempt, "why": str(later), "again_in": round(pause)}
    if hold.request.state is State.EXECUTING:
        hold.move(State.APPROVED, data=data, attempts=attempt, trouble=str(later))
    else:
        hold.change(attempts=attempt, trouble=str(later))
    return Again(hold.now + timedelta(seconds=pause))


class _Keeper:
    """What an executor is given of a request: its lease and its notes."""

    def __init__(self, deps: Deps, hold: Hold) -> None:
        self._deps = deps
        self._hold = hold

    def renew(self) -> None:
        """Hold the lease once more."""
        self._hold.renew()

    def note(self, progress: Mapping[str, Any]) -> None:
        """Save notes in place of the earlier ones; what they free is nobody else's from now on.

        Were it kept only when all is done, somebody quick could have it in between.
        """
        freeing = progress.get(FREEING, ())
        self._hold.change(
            also=lambda c: _bury(self._deps, c, self._hold, freeing), progress=dict(progress)
        )


def _write_down(deps: Deps, hold: Hold, done: Done) -> None:
    """Write that it is done, with ledger and tombstones, all in one transaction."""
    wish = hold.request.wish

    def also(c: Connection) -> None:
        ledger.record(c, request_id=hold.request.id, wish=done.stands, at=hold.now)
        if wish.action in (Action.ALIAS_ADD, Action.FORWARD_ADD):
            tombstones.lift(c, wish.target)
        _bury(deps, c, hold, done.freed)

    hold.move(State.DONE, data={"changed": done.changed}, also=also, result=done.sentence)


def _bury(deps: Deps, c: Connection, hold: Hold, addresses: Iterable[str]) -> None:
    """Keep addresses for the mailbox that had them; a forwarder's for another forwarder there."""
    at = hold.now
    heir = busy_name(hold.request)
    for address in addresses:
        until = at + deps.policy().requests.tombstone
        tombstones.bury(c, address, heir, at=at, until=until)
