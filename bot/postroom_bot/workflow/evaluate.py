# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Evaluate a new request: who asks, what the policy decides, and whether the change is possible."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, datetime, time, timedelta
from typing import Any

from postroom_bot.backends.ledger import in_force
from postroom_bot.domain import Action, Change, Decision, Person, Reason, Request, State, Verdict
from postroom_bot.errors import Rejected
from postroom_bot.policy.engine import ALIASES, Facts, decide, mailbox_of
from postroom_bot.policy.model import EVERYONE, Policy
from postroom_bot.store import ledger, requests, reservations
from postroom_bot.workflow.dependencies import Dependencies
from postroom_bot.workflow.lease import LeasedRequest
from postroom_common.database import Connection

DAY = timedelta(days=1)


def evaluate(deps: Dependencies, leased: LeasedRequest) -> None:
    """Take a new request to where it waits for approvals, is approved, or is refused.

    :raises SlackUnavailable: Slack does not answer
    :raises Unavailable: the mail service does not
    """
    request = leased.request
    if leased.now >= given_up_at(deps, request):
        leased.transition(State.FAILED, result=Reason("request.not_evaluated"))
        return
    person = deps.people.person(request.requester, deps.workspace.team, fresh=True)
    change = in_full(request.change, person)
    decision = decided(deps, person, change, request.created_at, request.id)
    leased.renew()
    changes = decision_fields(request, change, person, decision)
    if why := _why_not(deps, leased, person, change, decision):
        leased.transition(State.REFUSED, data={"rule": decision.rule}, result=why, **changes)
    else:
        _accept(deps, leased, decision, changes)


def given_up_at(deps: Dependencies, request: Request) -> datetime:
    """Return when a new request that could not be evaluated fails."""
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
    changes["ends_at"] = _end_of_day(deps, changes["change"])
    data = {
        "rule": decision.rule,
        "quorum": [list(one) for one in decision.quorum],
        "policy": decision.policy_digest,
        "digest": changes["digest"],
    }
    deadline = leased.now + times.expire_after
    if decision.verdict is Verdict.ALLOW:
        leased.transition(State.APPROVED, data=data, execute_by=deadline, **changes)
        return
    if times.remind_after < times.expire_after:
        changes["remind_at"] = leased.now + times.remind_after
    leased.transition(State.PENDING, data=data, decide_by=deadline, **changes)


def _why_not(
    deps: Dependencies, leased: LeasedRequest, person: Person, change: Change, decision: Decision
) -> Reason | None:
    """Return why the request is refused, if so."""
    if decision.verdict is Verdict.DENY:
        return decision.reason
    if (
        change.expires_on is not None
        and change.expires_on < leased.now.astimezone(deps.zone).date()
    ):
        return Reason("end.passed")
    if twin := deps.database.read(lambda c: _earlier_twin(c, leased.request, change)):
        return Reason("request.duplicate", {"request": twin.id})
    if change.action is Action.PASSWORD:
        return _why_no_password(deps, person, change)
    return _why_not_executable(deps, person, change)


def _why_not_executable(deps: Dependencies, person: Person, change: Change) -> Reason | None:
    """Return why the mail service would reject the change, or that there is nothing to do."""
    try:
        if deps.mail.check(change):
            return None
    except Rejected as refusal:
        return refusal.reason
    comes = change.action in (Action.ALIAS_ADD, Action.FORWARD_ADD)
    if comes and change.expires_on != (end := _end_of(deps, change)):
        # Another end changes the ledger alone. An alias without an end does not get one: that would
        # be a removal, for which the policy has other rules.
        return None if end else Reason("end.none", {"address": change.target})
    # Only approvers may learn from a request where another address delivers to.
    named = {change.mailbox} if change.action in ALIASES else set(change.destinations)
    if named <= {person.mailbox} or approves(deps.policy(), person):
        return _nothing_to_do(change)
    return None


def _nothing_to_do(change: Change) -> Reason:
    alias = {"address": change.target, "mailbox": change.mailbox}
    forward = {"address": change.target, "destinations": sorted(change.destinations)}
    match change.action:
        case Action.ALIAS_ADD:
            return Reason("alias.exists", alias)
        case Action.ALIAS_REMOVE:
            return Reason("alias.missing", alias)
        case Action.FORWARD_ADD:
            return Reason("forward.exists", forward)
    if change.destinations:
        return Reason("forward.missing_destinations", forward)
    return Reason("forward.missing", {"address": change.target})


def _end_of(deps: Dependencies, change: Change) -> date | None:
    """Return the last day of an alias or of destinations that are there, if they have one."""
    if change.action is Action.FORWARD_ADD:
        added = deps.database.read(lambda c: requests.destinations_of(c, change.target))
        ends = [
            added[one].change.expires_on if one in added else None for one in change.destinations
        ]
        return None if None in ends else max(end for end in ends if end is not None)
    changes = in_force(one.change for one in deps.database.read(ledger.entries))
    named = (one for one in changes if one.action is change.action and one.target == change.target)
    return next((one.expires_on for one in named), None)


def _end_of_day(deps: Dependencies, change: Change) -> datetime | None:
    """Return when the last day of a change is over."""
    if change.expires_on is None:
        return None
    return datetime.combine(change.expires_on + timedelta(days=1), time(), deps.zone)


def _why_no_password(deps: Dependencies, person: Person, change: Change) -> Reason | None:
    params = {"mailbox": change.target}
    if not deps.mail.mailbox_exists(change.target):
        return Reason("mailbox.missing", params)
    # Only the mailbox's owner can see the new password.
    return None if owner_of(deps, person, change) else Reason("password.no_owner", params)


def _earlier_twin(c: Connection, request: Request, change: Change) -> Request | None:
    """Find an open request for the same, which may have become visible only with the mailbox.

    Of two new requests, the first one is evaluated.
    """
    for other in requests.open_by(c, request.requester):
        same = other.change.is_twin_of(change)
        earlier = (other.created_at, other.id) < (request.created_at, request.id)
        if same and other.id != request.id and (earlier or other.state is not State.NEW):
            return other
    return None


def in_full(change: Change, person: Person) -> Change:
    """Return a change with the person's own mailbox if it names none."""
    mailbox = mailbox_of(person, change)
    if change.action is Action.PASSWORD:
        return replace(change, target=mailbox or "")
    return replace(change, mailbox=mailbox)


def decided(
    deps: Dependencies, person: Person, change: Change, at: datetime, request_id: str = ""
) -> Decision:
    """Return the decision of the policy in force about a new request, with its limits.

    :param change: with the mailbox
    :param at: when it was requested; later requests do not count for limits
    :param request_id: "" if there is no request yet

    :raises Unavailable: the mail service does not answer
    :raises SlackUnavailable: Slack does not
    """

    def count(c: Connection) -> tuple[int, int]:
        user, key = person.user, (at, request_id)
        earlier = [one for one in requests.open_by(c, user) if (one.created_at, one.id) < key]
        today = requests.count_since(c, user, at - DAY) - requests.count_since(c, user, at)
        return len(earlier), today

    open_requests, today = deps.database.read(count)
    facts = replace(_facts(deps, person, change), open_requests=open_requests, requests_today=today)
    return decide(deps.policy(), person, change, facts)


def decided_again(deps: Dependencies, person: Person, request: Request) -> Decision:
    """Return the decision of the policy in force about an existing request, without limits.

    :raises Unavailable: the mail service does not answer
    :raises SlackUnavailable: Slack does not
    """
    facts = _facts(deps, person, request.change)
    return decide(deps.policy(), person, request.change, facts)


def _facts(deps: Dependencies, person: Person, change: Change) -> Facts:
    """Return the facts for a decision, except the person's earlier requests."""
    reservation = deps.database.read(lambda c: reservations.get(c, change.target, now=deps.clock()))
    return Facts(
        own_domains=deps.mail.domains(),
        aliases=_other_aliases(deps, change),
        reserved_for=reservation.owner if reservation else None,
        mailbox_owner_user=owner_of(deps, person, change),
    )


def owner_of(deps: Dependencies, person: Person, change: Change) -> str | None:
    """Return the Slack user who owns the mailbox of a change, if known."""
    mailbox = mailbox_of(person, change)
    if mailbox is None or mailbox == person.mailbox:
        return person.user if mailbox else None
    owner = deps.people.owner_of(mailbox, deps.workspace.team)
    return owner.user if owner else None


def _other_aliases(deps: Dependencies, change: Change) -> int | None:
    """Count the mailbox's aliases without the requested one, which an attempt may have added."""
    if change.action not in ALIASES or change.mailbox is None:
        return None
    aliases = deps.mail.aliases(change.mailbox)
    return None if aliases is None else len(set(aliases) - {change.target})


def approves(policy: Policy, person: Person) -> bool:
    """Whether the person is an approver by the policy; approvers may list all mailboxes."""
    groups = {policy.approvers, *(one.group for rule in policy.rules for one in rule.quorum)}
    return not person.groups.isdisjoint(groups - {EVERYONE})
