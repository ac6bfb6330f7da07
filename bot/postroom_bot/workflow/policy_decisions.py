# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Decide on a request with the current policy, and recheck the decision before acting on it.

Between a request and its execution, people may leave, accounts may change hands, policies may be
edited and rows may be tampered with. Therefore, everything that led to a decision is checked again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from postroom_bot.domain import (
    END_OF_CHANGE,
    Action,
    Change,
    Decision,
    Person,
    Reason,
    Request,
    Verdict,
    Vote,
)
from postroom_bot.policy.engine import (
    Facts,
    affected_mailbox,
    decide,
    groups_of,
    is_own_request,
    quorum_met,
)
from postroom_bot.store import requests, tombstones
from postroom_bot.workflow.dependencies import Dependencies
from postroom_bot.workflow.leased_request import LeasedRequest

_DAY = timedelta(days=1)


def current_decision(
    deps: Dependencies,
    person: Person,
    change: Change,
    *,
    earlier_than: tuple[datetime, str] | None = None,
) -> Decision:
    """Return the current policy's decision on a change.

    :param change: the change, including its mailbox
    :param earlier_than: for a new request, its creation time and its id ("" before it is saved).
        The limits on requests then count only earlier requests. None to ignore these limits.
    :raises Unavailable: if the mail service does not respond
    :raises SlackUnavailable: if Slack does not respond
    """
    alias_count = None
    if change.action.is_alias and change.mailbox is not None:
        found = deps.mail.aliases(change.mailbox)
        # An earlier attempt may have added the requested alias.
        alias_count = None if found is None else len(set(found) - {change.target})
    open_requests, requests_today = 0, 0
    if earlier_than is not None:
        open_requests, requests_today = deps.database.read(
            lambda c: requests.count_earlier(
                c, person.user, since=earlier_than[0] - _DAY, before=earlier_than
            )
        )
    facts = Facts(
        own_domains=deps.mail.domains(),
        today=deps.clock().astimezone(deps.zone).date(),
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


def recheck(leased: LeasedRequest, approvals: Sequence[Vote]) -> Reason | None:
    """Return the reason why a request must not continue, or None.

    :raises SlackUnavailable: if Slack does not respond
    :raises Unavailable: if the mail service does not respond
    """
    deps, request = leased.deps, leased.request
    if request.computed_digest() != request.digest:
        return Reason("request.edited")
    removals = (Action.ALIAS_REMOVE, Action.FORWARD_REMOVE)
    if request.origin == END_OF_CHANGE and request.change.action in removals:
        # The removal was approved together with the alias or the forwarder.
        return None
    requester = deps.people.person(request.requester, fresh=True)
    if requester.obstacle or requester.mailbox != request.requester_mailbox:
        return Reason("request.requester_changed")
    voters = [deps.people.person(one.voter, fresh=True) for one in approvals]
    mailboxes = [voter.mailbox for voter in voters if voter.mailbox]
    still = [
        groups_of(request, voter)
        for voter in voters
        if not voter.obstacle and not is_own_request(request, voter)
    ]
    if len(set(mailboxes)) < len(mailboxes) or not quorum_met(request.quorum, still):
        return Reason("request.approvers_changed")
    decision = current_decision(deps, requester, request.change)
    if decision.verdict is Verdict.DENY:
        return Reason("request.now_denied", {"why": decision.reason.as_list()})
    return None if decision.quorum == request.quorum else Reason("request.policy_changed")
