# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Evaluate a new request against the policy and the current state of the mail service.

`backends/mail_plans.py` decides whether the change is possible, for example whether an address is
already in use.
"""

from __future__ import annotations

from postroom_bot.domain import EXTENSION, Action, Change, Decision, Person, Reason, State, Verdict
from postroom_bot.errors import Rejected
from postroom_bot.policy.engine import is_approver
from postroom_bot.store import holdings
from postroom_bot.workflow.dependencies import Dependencies
from postroom_bot.workflow.end_dates import change_still_due
from postroom_bot.workflow.leased_request import LeasedRequest
from postroom_bot.workflow.policy_decisions import current_decision, decision_fields, owner_user_of


def evaluate(leased: LeasedRequest) -> None:
    """Evaluate a new request, which becomes pending, approved, refused or failed.

    :raises SlackUnavailable: if Slack does not respond
    :raises Unavailable: if the mail service does not respond
    """
    deps, request = leased.deps, leased.request
    if leased.now >= request.created_at + deps.policy().requests.expire_after:
        leased.transition(State.FAILED, result=Reason("request.not_evaluated"))
        return
    person = deps.people.person(request.requester, fresh=True)
    change = request.change.with_own_mailbox(person.mailbox)
    if request.origin == EXTENSION:
        if (due := change_still_due(deps, request)) is None:
            leased.transition(State.REFUSED, result=Reason("end.replaced"))
            return
        change = due
    decision = current_decision(deps, person, change, earlier_than=(request.created_at, request.id))
    leased.renew()
    changes = decision_fields(request, change, person, decision)
    if why := _why_refused(leased, person, change, decision):
        leased.transition(State.REFUSED, data={"rule": decision.rule}, result=why, **changes)
        return
    changes["removal_at"] = change.end_of_last_day(deps.zone)
    data = {
        "rule": decision.rule,
        "quorum": [list(one) for one in decision.quorum],
        "policy": decision.policy_digest,
        "digest": changes["digest"],
    }
    times = deps.policy().requests
    deadline = leased.now + times.expire_after
    if decision.verdict is Verdict.ALLOW:
        leased.transition(State.APPROVED, data=data, execute_by=deadline, **changes)
        return
    changes["remind_at"] = leased.now + times.remind_after
    leased.transition(State.PENDING, data=data, decide_by=deadline, **changes)


def _why_refused(
    leased: LeasedRequest, person: Person, change: Change, decision: Decision
) -> Reason | None:
    """Return the reason to refuse the request, or None."""
    deps, last_day = leased.deps, change.last_day
    if decision.verdict is Verdict.DENY:
        return decision.reason
    if last_day is not None and last_day < leased.now.astimezone(deps.zone).date():
        return Reason("end.passed")
    if change.action is Action.PASSWORD:
        params = {"mailbox": change.target}
        if deps.mail.aliases(change.target) is None:
            return Reason("mailbox.missing", params)
        # Only the mailbox's owner can see the new password.
        known = owner_user_of(deps, person, change) is not None
        return None if known else Reason("password.no_owner", params)
    # An extension changes nothing in the mail service.
    is_extension = leased.request.origin == EXTENSION
    return None if is_extension else _why_not_executable(deps, person, change)


def _why_not_executable(deps: Dependencies, person: Person, change: Change) -> Reason | None:
    """Return the reason why the change can't be executed or would have no effect, or None."""
    try:
        if deps.mail.preview(change).changed:
            return None
    except Rejected as rejection:
        return rejection.reason
    # Only approvers may learn from the answer where another person's address delivers.
    named = {change.mailbox} if change.action.is_alias else set(change.destinations)
    may_know = named <= {person.mailbox} or is_approver(deps.policy(), person)
    if change.action.adds:
        # A later end date changes only the holdings. An earlier one would be a removal, which is
        # subject to other rules of the policy.
        held = deps.database.read(lambda c: holdings.held_at(c, change.target, change.action))
        end = change.end_of_last_day(deps.zone)
        ends = (held[name].ends_at for name in change.deliveries if name in held)
        if any(holdings.lasts_longer(end, other) for other in ends):
            return None
        if end is not None:
            address = {"address": change.target}
            return Reason("end.not_later" if may_know else "address.taken", address)
    return _nothing_to_do(change) if may_know else None


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
