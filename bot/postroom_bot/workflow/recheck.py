# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Whether a request still stands: asked when it is decided, and again when it is carried out.

Between asking and doing, people leave, accounts change hands, policies are edited and rows may be
tampered with. So everything that led to a decision is looked at once more.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import combinations

from postroom_bot.domain import Action, Person, Quorum, Request, Verdict, Vote, VoteState
from postroom_bot.policy.model import EVERYONE, Policy
from postroom_bot.store import votes
from postroom_bot.ui import messages
from postroom_bot.workflow.decision import decided_again
from postroom_bot.workflow.dependencies import Dependencies

#: The origin of the bot's own requests, at the end of the last day of an alias or a forwarder.
EXPIRY = "expiry"


def met(quorum: Sequence[Quorum], voters: Iterable[Collection[str]]) -> bool:
    """Tell whether approvals meet a quorum, each of them counting for one group only.

    By Hall's theorem they do if no choice of groups needs more approvals than have come from its
    members.

    :param voters: of each voter, the groups
    """
    members = [frozenset(groups) for groups in voters]
    for size in range(1, len(quorum) + 1):
        for chosen in combinations(quorum, size):
            names = {one.group for one in chosen}
            have = sum(1 for groups in members if groups & names)
            if have < sum(one.approvals for one in chosen):
                return False
    return True


def counted(found: Iterable[Vote]) -> list[Vote]:
    """Return the approvals that count."""
    return [one for one in found if one.state is VoteState.COUNTED and one.approves]


def groups_of(request: Request, voter: Person) -> frozenset[str]:
    """Return the groups of the quorum that somebody is in."""
    return voter.groups & {one.group for one in request.quorum}


def is_own(request: Request, voter: Person) -> bool:
    """Whether the voter is the one who asked, by Slack's id or by the mailbox."""
    same_mailbox = voter.mailbox is not None and voter.mailbox == request.requester_mailbox
    return voter.user == request.requester or same_mailbox


def approves(policy: Policy, person: Person) -> bool:
    """Whether the policy has somebody approve anything; those may look at all mailboxes."""
    groups = {policy.approvers, *(one.group for rule in policy.rules for one in rule.quorum)}
    return not person.groups.isdisjoint(groups - {EVERYONE})


def why_stopped(deps: Dependencies, request: Request, approvals: Sequence[Vote]) -> str:
    """Return why a request can't go on, a sentence for people; "" where it still stands.

    :param approvals: those that count
    :raises SlackUnavailable: Slack does not answer, so that nobody knows
    :raises Unavailable: the mail service does not
    """
    if request.right_digest() != request.digest:
        return messages.EDITED
    removes = request.change.action in (Action.ALIAS_REMOVE, Action.FORWARD_REMOVE)
    if request.origin == EXPIRY and removes:
        # The bot asks by itself for what was approved with the alias or the forwarder.
        return ""
    requester = deps.people.person(request.requester, deps.workspace.team, fresh=True)
    if requester.obstacle or requester.mailbox != request.requester_mailbox:
        return messages.REQUESTER_CHANGED
    return _why_not_approved(deps, request, approvals) or _why_not_again(deps, requester, request)


def approvals_of(deps: Dependencies, request: Request) -> list[Vote]:
    """Return the approvals that a request has."""
    return counted(deps.database.read(lambda c: votes.of(c, request.id)))


def _why_not_approved(deps: Dependencies, request: Request, approvals: Sequence[Vote]) -> str:
    team = deps.workspace.team
    voters = [deps.people.person(one.voter, team, fresh=True) for one in approvals]
    mailboxes = [voter.mailbox for voter in voters if voter.mailbox]
    still = [
        groups_of(request, voter)
        for voter in voters
        if not voter.obstacle and not is_own(request, voter)
    ]
    if len(set(mailboxes)) < len(mailboxes) or not met(request.quorum, still):
        return messages.APPROVERS_CHANGED
    return ""


def _why_not_again(deps: Dependencies, requester: Person, request: Request) -> str:
    decision = decided_again(deps, requester, request)
    if decision.verdict is Verdict.DENY:
        return messages.now_denied(decision.reason)
    return "" if decision.quorum == request.quorum else messages.POLICY_CHANGED
