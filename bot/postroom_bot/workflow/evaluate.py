# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A new request is looked at: who asks, what the policy says, whether it would work."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, datetime, time, timedelta
from typing import Any

from postroom_bot.backends.ledger import in_force
from postroom_bot.domain import Action, Change, Decision, Person, Request, State, Verdict
from postroom_bot.errors import Rejected
from postroom_bot.policy.case import ALIASES
from postroom_bot.store import ledger, requests
from postroom_bot.ui import messages
from postroom_bot.workflow.decision import Query, decided, in_full, owner_of
from postroom_bot.workflow.dependencies import Dependencies
from postroom_bot.workflow.lease import LeasedRequest
from postroom_bot.workflow.recheck import approves
from postroom_common.database import Connection


def evaluate(deps: Dependencies, leased: LeasedRequest) -> None:
    """Take a new request to where it waits for approvals, is approved, or is refused.

    :raises SlackUnavailable: Slack does not answer
    :raises Unavailable: the mail service does not
    """
    request = leased.request
    if leased.now >= given_up_at(deps, request):
        leased.transition(State.FAILED, result=messages.TOO_LONG)
        return
    person = deps.people.person(request.requester, deps.workspace.team, fresh=True)
    change = in_full(request.change, person)
    decision = decided(deps, Query(person, change, request.created_at, request.id))
    leased.renew()
    changes = decision_fields(request, change, person, decision)
    if why := _why_not(deps, leased, person, change, decision):
        leased.transition(State.REFUSED, data={"rule": decision.rule}, result=why, **changes)
    else:
        _accept(deps, leased, decision, changes)


def given_up_at(deps: Dependencies, request: Request) -> datetime:
    """Return when a new request that could not be looked at ends."""
    return request.created_at + deps.policy().requests.expire_after


def decision_fields(
    request: Request, change: Change, person: Person, decision: Decision
) -> dict[str, Any]:
    """Return what a decision writes into its request."""
    changes: dict[str, Any] = {
        "change": change,
        "requester_mailbox": person.mailbox,
        "rule": decision.rule,
        "quorum": decision.quorum,
        "warnings": decision.warnings,
        "policy_digest": decision.policy_digest,
    }
    return {**changes, "digest": replace(request, **changes).right_digest()}


def _accept(
    deps: Dependencies, leased: LeasedRequest, decision: Decision, changes: dict[str, Any]
) -> None:
    times = deps.policy().requests
    changes["expires_at"] = leased.now + times.expire_after
    changes["ends_at"] = _end_of_day(deps, changes["change"])
    data = {
        "rule": decision.rule,
        "quorum": [list(one) for one in decision.quorum],
        "policy": decision.policy_digest,
        "digest": changes["digest"],
    }
    if decision.verdict is Verdict.ALLOW:
        leased.transition(State.APPROVED, data=data, **changes)
        return
    if times.remind_after < times.expire_after:
        changes["remind_at"] = leased.now + times.remind_after
    leased.transition(State.PENDING, data=data, **changes)


def _why_not(
    deps: Dependencies, leased: LeasedRequest, person: Person, change: Change, decision: Decision
) -> str:
    """Return why the request is refused, a sentence, or ""."""
    if decision.verdict is Verdict.DENY:
        return decision.reason
    if (
        change.expires_on is not None
        and change.expires_on < leased.now.astimezone(deps.zone).date()
    ):
        return messages.DAY_OVER
    if twin := deps.database.read(lambda c: _earlier_twin(c, leased.request, change)):
        return messages.twin(twin.id)
    if change.action is Action.PASSWORD:
        return _why_no_password(deps, person, change)
    return _why_not_carried_out(deps, person, change)


def _why_not_carried_out(deps: Dependencies, person: Person, change: Change) -> str:
    """Return why the mail service would not do it, or would find nothing to do."""
    try:
        if deps.mail.check(change):
            return ""
    except Rejected as refusal:
        return str(refusal)
    comes = change.action in (Action.ALIAS_ADD, Action.FORWARD_ADD)
    if comes and change.expires_on != (end := _end_of(deps, change)):
        # Another end is a change, though of the ledger alone. What has none is given none: to take
        # it away is another wish, by other rules.
        return "" if end else messages.has_no_end(change.target)
    return messages.nothing_to_do(change) if _may_know(deps, person, change) else ""


def _end_of(deps: Dependencies, change: Change) -> date | None:
    """Return the last day of an alias or of destinations that are there, if they have one."""
    if change.action is Action.FORWARD_ADD:
        added = deps.database.read(lambda c: requests.destinations_of(c, change.target))
        ends = [
            added[one].change.expires_on if one in added else None for one in change.destinations
        ]
        return None if None in ends else max(end for end in ends if end is not None)
    said = in_force(one.change for one in deps.database.read(ledger.entries))
    named = (one for one in said if one.action is change.action and one.target == change.target)
    return next((one.expires_on for one in named), None)


def _end_of_day(deps: Dependencies, change: Change) -> datetime | None:
    """Return when the last day of a wish is over."""
    if change.expires_on is None:
        return None
    return datetime.combine(change.expires_on + timedelta(days=1), time(), deps.zone)


def _may_know(deps: Dependencies, person: Person, change: Change) -> bool:
    """Whether somebody may learn at once where an address leads to, by asking for it."""
    named = {change.mailbox} if change.action in ALIASES else set(change.destinations)
    return named <= {person.mailbox} or approves(deps.policy(), person)


def _why_no_password(deps: Dependencies, person: Person, change: Change) -> str:
    if not deps.mail.mailbox_exists(change.target):
        return messages.no_mailbox(change.target)
    # It is shown to the mailbox's owner and to nobody else.
    return "" if owner_of(deps, person, change) else messages.no_owner(change.target)


def _earlier_twin(c: Connection, request: Request, change: Change) -> Request | None:
    """Find an open request for the same, which may have become visible only with the mailbox.

    Of two that are new, the one that was made first is looked at.
    """
    for other in requests.open_by(c, request.requester):
        same = other.change.is_twin_of(change)
        earlier = (other.created_at, other.id) < (request.created_at, request.id)
        if same and other.id != request.id and (earlier or other.state is not State.NEW):
            return other
    return None
