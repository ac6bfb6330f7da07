# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Evaluate a new request against the policy and the current state of the mail service.

`backends/mail_plans.py` decides whether the change is possible, for example whether an address is
already in use.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from postroom_bot.domain import Action, Change, Decision, Person, Reason, Request, State, Verdict
from postroom_bot.errors import Rejected
from postroom_bot.policy.engine import (
    Facts,
    affected_mailbox,
    decide,
    is_approver,
    with_own_mailbox,
)
from postroom_bot.store import requests, tombstones
from postroom_bot.workflow.dependencies import Dependencies
from postroom_bot.workflow.end_dates import current_end
from postroom_bot.workflow.leased_request import LeasedRequest

DAY = timedelta(days=1)


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
    change = with_own_mailbox(request.change, person)
    decision = current_decision(
        deps, person, change, limits_before=(request.created_at, request.id)
    )
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
    if times.remind_after < times.expire_after:
        changes["remind_at"] = leased.now + times.remind_after
    leased.transition(State.PENDING, data=data, decide_by=deadline, **changes)


def current_decision(
    deps: Dependencies,
    person: Person,
    change: Change,
    *,
    limits_before: tuple[datetime, str] | None = None,
) -> Decision:
    """Return the current policy's decision on a change.

    :param change: the change, including its mailbox
    :param limits_before: for a new request, its creation time and its id ("" before it is saved);
        the policy's limits then count only earlier requests. None to apply no limits.
    :raises Unavailable: if the mail service does not respond
    :raises SlackUnavailable: if Slack does not respond
    """
    alias_count = None
    if change.action.is_alias and change.mailbox is not None:
        found = deps.mail.aliases(change.mailbox)
        # An earlier attempt may have added the requested alias.
        alias_count = None if found is None else len(set(found) - {change.target})
    open_requests, requests_today = 0, 0
    if limits_before is not None:
        open_requests, requests_today = deps.database.read(
            lambda c: requests.count_earlier(
                c, person.user, since=limits_before[0] - DAY, before=limits_before
            )
        )
    facts = Facts(
        own_domains=deps.mail.domains(),
        open_requests=open_requests,
        requests_today=requests_today,
        alias_count=alias_count,
        tombstone_owner=deps.database.read(
            lambda c: tombstones.owner_of(c, change.target, now=deps.clock())
        ),
        mailbox_owner_user=owner_user_of(deps, person, change),
    )
    return decide(deps.policy(), person, change, facts)


def decision_fields(
    request: Request, change: Change, person: Person, decision: Decision
) -> dict[str, Any]:
    """Return the fields of a request that a decision sets."""
    changes: dict[str, Any] = {
        "change": change,
        "requester_mailbox": person.mailbox,
        "rule": decision.rule,
        "quorum": decision.quorum,
        "warnings": decision.warnings,
        "policy_digest": decision.policy_digest,
    }
    return {**changes, "digest": replace(request, **changes).computed_digest()}


def owner_user_of(deps: Dependencies, person: Person, change: Change) -> str | None:
    """Return the id of the Slack user who owns the affected mailbox, or None if unknown."""
    mailbox = affected_mailbox(person, change)
    if mailbox is None or mailbox == person.mailbox:
        return person.user if mailbox else None
    owner = deps.people.owner_of(mailbox)
    return owner.user if owner else None


def _why_refused(
    leased: LeasedRequest, person: Person, change: Change, decision: Decision
) -> Reason | None:
    """Return the reason to refuse the request, or None."""
    deps, last_day = leased.deps, change.last_day
    if decision.verdict is Verdict.DENY:
        return decision.reason
    if last_day is not None and last_day < leased.now.astimezone(deps.zone).date():
        return Reason("end.passed")
    # Now that the mailbox is filled in, the request may turn out to be a duplicate.
    duplicate = deps.database.read(
        lambda c: requests.open_duplicate(c, change, person.user, leased.request)
    )
    if duplicate is not None:
        return Reason("request.duplicate", {"request": duplicate.id})
    if change.action is Action.PASSWORD:
        params = {"mailbox": change.target}
        if deps.mail.aliases(change.target) is None:
            return Reason("mailbox.missing", params)
        # Only the mailbox's owner can see the new password.
        known = owner_user_of(deps, person, change) is not None
        return None if known else Reason("password.no_owner", params)
    return _why_not_executable(deps, person, change)


def _why_not_executable(deps: Dependencies, person: Person, change: Change) -> Reason | None:
    """Return the reason why the change can't be executed or would have no effect, or None."""
    try:
        if deps.mail.preview(change).changed:
            return None
    except Rejected as rejection:
        return rejection.reason
    if change.action.adds:
        end = current_end(deps, change)
        if change.last_day != end:
            # A different end date changes only the ledger. An alias without an end date can't get
            # one, because that would be a removal, which is subject to other rules of the policy.
            return None if end else Reason("end.none", {"address": change.target})
    # Only approvers may learn from the answer where another person's address delivers.
    named = {change.mailbox} if change.action.is_alias else set(change.destinations)
    if named <= {person.mailbox} or is_approver(deps.policy(), person):
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
