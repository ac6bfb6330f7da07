# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A new request is looked at: who asks, what the policy says, whether it would work."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, datetime, time, timedelta
from typing import Any

from postroom_bot.executors.base import WontDo
from postroom_bot.executors.ledger import in_force
from postroom_bot.model import Action, Decision, Person, Request, State, Verdict, Wish
from postroom_bot.policy.case import ALIASES
from postroom_bot.store import ledger, requests
from postroom_common.database import Connection

from . import sentences
from .deps import Deps
from .facts import Asked, decided, in_full, owner_of
from .hold import Hold
from .standing import approves


def examine(deps: Deps, hold: Hold) -> None:
    """Take a new request to where it waits for approvals, is approved, or is refused.

    :raises ChatDown: Slack does not answer
    :raises TryLater: the mail service does not
    """
    request = hold.request
    if hold.now >= given_up_at(deps, request):
        hold.move(State.FAILED, result=sentences.TOO_LONG)
        return
    person = deps.people.person(request.requester, deps.workspace.team, fresh=True)
    wish = in_full(request.wish, person)
    decision = decided(deps, Asked(person, wish, request.created_at, request.id))
    hold.renew()
    changes = examined(request, wish, person, decision)
    if why := _why_not(deps, hold, person, wish, decision):
        hold.move(State.REFUSED, data={"rule": decision.rule}, result=why, **changes)
    else:
        _accept(deps, hold, decision, changes)


def given_up_at(deps: Deps, request: Request) -> datetime:
    """Return when a new request that could not be looked at ends."""
    return request.created_at + deps.policy().requests.expire_after


def examined(request: Request, wish: Wish, person: Person, decision: Decision) -> dict[str, Any]:
    """Return what a decision writes into its request."""
    changes: dict[str, Any] = {
        "wish": wish,
        "requester_mailbox": person.mailbox,
        "rule": decision.rule,
        "quorum": decision.quorum,
        "warnings": decision.warnings,
        "policy_digest": decision.policy_digest,
    }
    return {**changes, "digest": replace(request, **changes).right_digest()}


def _accept(deps: Deps, hold: Hold, decision: Decision, changes: dict[str, Any]) -> None:
    times = deps.policy().requests
    changes["expires_at"] = hold.now + times.expire_after
    changes["ends_at"] = _end_of_day(deps, changes["wish"])
    data = {
        "rule": decision.rule,
        "quorum": [list(one) for one in decision.quorum],
        "policy": decision.policy_digest,
        "digest": changes["digest"],
    }
    if decision.verdict is Verdict.ALLOW:
        hold.move(State.APPROVED, data=data, **changes)
        return
    if times.remind_after < times.expire_after:
        changes["remind_at"] = hold.now + times.remind_after
    hold.move(State.PENDING, data=data, **changes)


def _why_not(deps: Deps, hold: Hold, person: Person, wish: Wish, decision: Decision) -> str:
    """Return why the request is refused, a sentence, or ""."""
    if decision.verdict is Verdict.DENY:
        return decision.reason
    if wish.expires_on is not None and wish.expires_on < hold.now.astimezone(deps.zone).date():
        return sentences.DAY_OVER
    if twin := deps.database.read(lambda c: _earlier_twin(c, hold.request, wish)):
        return sentences.twin(twin.id)
    if wish.action is Action.PASSWORD:
        return _why_no_password(deps, person, wish)
    return _why_not_carried_out(deps, person, wish)


def _why_not_carried_out(deps: Deps, person: Person, wish: Wish) -> str:
    """Return why the mail service would not do it, or would find nothing to do."""
    try:
        if deps.mail.check(wish):
            return ""
    except WontDo as refusal:
        return str(refusal)
    comes = wish.action in (Action.ALIAS_ADD, Action.FORWARD_ADD)
    if comes and wish.expires_on != (end := _end_of(deps, wish)):
        # Another end is a change, though of the ledger alone. What has none is given none: to take
        # it away is another wish, by other rules.
        return "" if end else sentences.has_no_end(wish.target)
    return sentences.nothing_to_do(wish) if _may_know(deps, person, wish) else ""


def _end_of(deps: Deps, wish: Wish) -> date | None:
    """Return the last day of an alias or of destinations that are there, if they have one."""
    if wish.action is Action.FORWARD_ADD:
        added = deps.database.read(lambda c: requests.destinations_of(c, wish.target))
        ends = [added[one].wish.expires_on if one in added else None for one in wish.destinations]
        return None if None in ends else max(end for end in ends if end is not None)
    said = in_force(one.wish for one in deps.database.read(ledger.entries))
    named = (one for one in said if one.action is wish.action and one.target == wish.target)
    return next((one.expires_on for one in named), None)


def _end_of_day(deps: Deps, wish: Wish) -> datetime | None:
    """Return when the last day of a wish is over."""
    if wish.expires_on is None:
        return None
    return datetime.combine(wish.expires_on + timedelta(days=1), time(), deps.zone)


def _may_know(deps: Deps, person: Person, wish: Wish) -> bool:
    """Whether somebody may learn at once where an address leads to, by asking for it."""
    named = {wish.mailbox} if wish.action in ALIASES else set(wish.destinations)
    return named <= {person.mailbox} or approves(deps.policy(), person)


def _why_no_password(deps: Deps, person: Person, wish: Wish) -> str:
    if not deps.mail.mailbox_exists(wish.target):
        return sentences.no_mailbox(wish.target)
    # It is shown to the mailbox's owner and to nobody else.
    return "" if owner_of(deps, person, wish) else sentences.no_owner(wish.target)


def _earlier_twin(c: Connection, request: Request, wish: Wish) -> Request | None:
    """Find an open request for the same, which may have become visible only with the mailbox.

    Of two that are new, the one that was made first is looked at.
    """
    for other in requests.open_by(c, request.requester):
        same = other.wish.is_twin_of(wish)
        earlier = (other.created_at, other.id) < (request.created_at, request.id)
        if same and other.id != request.id and (earlier or other.state is not State.NEW):
            return other
    return None
