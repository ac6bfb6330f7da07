# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Recheck a request before it is approved, and again before it is executed.

Between a request and its execution, people may leave, accounts may change hands, policies may be
edited and rows may be tampered with. Therefore, everything that led to a decision is checked again.
"""

from __future__ import annotations

from collections.abc import Sequence

from postroom_bot.domain import END_OF_CHANGE, Action, Reason, Verdict, Vote
from postroom_bot.policy.engine import groups_of, is_own_request, quorum_met
from postroom_bot.workflow.evaluate import current_decision
from postroom_bot.workflow.leased_request import LeasedRequest


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
