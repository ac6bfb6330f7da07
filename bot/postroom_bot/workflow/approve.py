# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tally the votes on a request, and recheck a request before it is approved and executed.

Between request and execution, people leave, accounts change hands, policies are edited and rows may
be tampered with. So everything that led to a decision is checked again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import combinations

from postroom_bot.domain import (
    EXPIRY,
    Action,
    Person,
    Quorum,
    Reason,
    Request,
    State,
    Verdict,
    Vote,
    VoteState,
)
from postroom_bot.errors import SlackRejected
from postroom_bot.store import votes
from postroom_bot.ui import messages
from postroom_bot.ui.markup import Message
from postroom_bot.workflow.evaluate import decided
from postroom_bot.workflow.intake import not_pending
from postroom_bot.workflow.lease import LeasedRequest
from postroom_common.database import Connection


def tally(leased: LeasedRequest) -> None:
    """Tally the cast votes, oldest first; then expire the request if it is overdue.

    :raises SlackUnavailable: Slack does not answer
    :raises Unavailable: the mail service does not answer
    """
    for vote in leased.votes():
        if vote.state is VoteState.CAST and leased.request.state is State.PENDING:
            leased.renew()
            _tally_one(leased, vote)
    if leased.request.state is State.PENDING and leased.request.is_overdue(leased.now):
        leased.transition(State.EXPIRED)


def refuse_late_votes(leased: LeasedRequest) -> None:
    """Refuse cast votes that were not tallied before the request was decided or cancelled.

    :raises SlackUnavailable: Slack does not answer
    """
    if leased.request.state not in (State.NEW, State.PENDING):
        for vote in leased.votes():
            if vote.state is VoteState.CAST:
                leased.renew()
                _refuse(leased, vote, not_pending(leased.request))


def approvals_of(leased: LeasedRequest) -> list[Vote]:
    """Return the counted approvals."""
    return [vote for vote in leased.votes() if vote.state is VoteState.COUNTED and vote.approves]


def _tally_one(leased: LeasedRequest, vote: Vote) -> None:
    deps, request = leased.deps, leased.request
    if request.right_digest() != request.digest:
        leased.transition(State.REFUSED, result=Reason("request.edited"))
        return
    voter = deps.people.person(vote.voter, deps.workspace.team, fresh=True)
    groups, approvals = groups_of(request, voter), approvals_of(leased)
    if why := _why_not_counted(request, vote, voter, approvals):
        _refuse(leased, vote, why)
        return

    def count(c: Connection) -> None:
        votes.settle(c, vote, VoteState.COUNTED, mailbox=voter.mailbox, groups=groups)
        data = {"approves": vote.approves, "reason": vote.reason, "groups": sorted(groups)}
        leased.audit(c, "vote.counted", vote.voter, {**data, "mailbox": voter.mailbox})

    if not vote.approves:
        given = {"reason": vote.reason}
        result = Reason("request.denied", given) if vote.reason else None
        leased.transition(State.DENIED, actor=vote.voter, data=given, also=count, result=result)
        return
    try:
        if not met(request.quorum, [*(one.groups for one in approvals), groups]):
            leased.update(also=count)
            return
        stopped = why_stopped(leased, [*approvals, vote])
        leased.transition(
            State.REFUSED if stopped else State.APPROVED,
            also=count,
            result=stopped,
            execute_by=leased.now + deps.policy().requests.expire_after,
            remind_at=None,
        )
    except votes.SamePerson:
        _refuse(leased, vote, Reason("vote.same_person"))


def _why_not_counted(
    request: Request, vote: Vote, voter: Person, approvals: list[Vote]
) -> Reason | None:
    if voter.obstacle:
        return voter.obstacle
    if vote.card != request.card:
        return Reason("vote.wrong_card")
    if request.is_overdue(vote.at):
        return Reason("vote.too_late")
    if is_own(request, voter):
        return Reason("vote.own_request")
    if not groups_of(request, voter):
        return Reason("vote.not_an_approver", {"groups": [one.group for one in request.quorum]})
    if voter.mailbox and voter.mailbox in [one.mailbox for one in approvals] and vote.approves:
        return Reason("vote.same_person")
    return None


def _refuse(leased: LeasedRequest, vote: Vote, why: Reason) -> None:
    """Notify the voter, then refuse the vote. A crash in between repeats the notification."""
    text = f"{leased.request.id}: {messages.text(why)}"
    try:
        leased.deps.slack_api.send_direct_message(vote.voter, Message(text))
    except SlackRejected as refusal:
        leased.report_rejected("vote", refusal)

    def work(c: Connection) -> None:
        votes.settle(c, vote, VoteState.REFUSED, refusal=why)
        data = {"approves": vote.approves, "why": why.as_dict()}
        leased.audit(c, "vote.refused", vote.voter, data)

    leased.update(also=work)


def met(quorum: Sequence[Quorum], voters: Iterable[Collection[str]]) -> bool:
    """Return whether approvals meet a quorum. Each approval counts for only one group.

    By Hall's theorem, they do if no subset of the groups needs more approvals than its members
    have given.

    :param voters: the groups of each voter
    """
    members = [frozenset(groups) for groups in voters]
    for size in range(1, len(quorum) + 1):
        for chosen in combinations(quorum, size):
            names = {one.group for one in chosen}
            have = sum(1 for groups in members if groups & names)
            if have < sum(one.approvals for one in chosen):
                return False
    return True


def groups_of(request: Request, voter: Person) -> frozenset[str]:
    """Return the quorum's groups to which the voter belongs."""
    return voter.groups & {one.group for one in request.quorum}


def is_own(request: Request, voter: Person) -> bool:
    """Return whether the voter is the requester, by Slack id or by mailbox."""
    same_mailbox = voter.mailbox is not None and voter.mailbox == request.requester_mailbox
    return voter.user == request.requester or same_mailbox


def why_stopped(leased: LeasedRequest, approvals: Sequence[Vote]) -> Reason | None:
    """Return why a request must not continue, or None.

    :param approvals: the counted approvals
    :raises SlackUnavailable: Slack does not answer
    :raises Unavailable: the mail service does not answer
    """
    deps, request = leased.deps, leased.request
    if request.right_digest() != request.digest:
        return Reason("request.edited")
    removes = request.change.action in (Action.ALIAS_REMOVE, Action.FORWARD_REMOVE)
    if request.origin == EXPIRY and removes:
        # The removal was approved with the alias or the forwarder.
        return None
    team = deps.workspace.team
    requester = deps.people.person(request.requester, team, fresh=True)
    if requester.obstacle or requester.mailbox != request.requester_mailbox:
        return Reason("request.requester_changed")
    voters = [deps.people.person(one.voter, team, fresh=True) for one in approvals]
    mailboxes = [voter.mailbox for voter in voters if voter.mailbox]
    still = [
        groups_of(request, voter)
        for voter in voters
        if not voter.obstacle and not is_own(request, voter)
    ]
    if len(set(mailboxes)) < len(mailboxes) or not met(request.quorum, still):
        return Reason("request.approvers_changed")
    decision = decided(deps, requester, request.change)
    if decision.verdict is Verdict.DENY:
        return Reason("request.now_denied", {"why": decision.reason.as_list()})
    return None if decision.quorum == request.quorum else Reason("request.policy_changed")
