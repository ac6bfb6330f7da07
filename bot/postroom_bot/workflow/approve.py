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
from postroom_bot.workflow.dependencies import Dependencies
from postroom_bot.workflow.error_reporting import refused_by_slack
from postroom_bot.workflow.evaluate import decided_again
from postroom_bot.workflow.intake import not_pending
from postroom_bot.workflow.lease import LeasedRequest
from postroom_common.database import Connection


def tally(deps: Dependencies, leased: LeasedRequest) -> None:
    """Tally the cast votes, oldest first; then expire the request if it is overdue.

    :raises SlackUnavailable: Slack does not answer
    :raises Unavailable: the mail service does not
    """
    for vote in _cast(deps, leased):
        if leased.request.state is State.PENDING:
            leased.renew()
            _tally_one(deps, leased, vote)
    request = leased.request
    over = request.decide_by is not None and request.decide_by <= leased.now
    if request.state is State.PENDING and over:
        leased.transition(State.EXPIRED)


def refuse_late_votes(deps: Dependencies, leased: LeasedRequest) -> None:
    """Refuse votes that were cast before the request was decided or cancelled.

    :raises SlackUnavailable: Slack does not answer
    """
    if leased.request.state not in (State.NEW, State.PENDING):
        for vote in _cast(deps, leased):
            leased.renew()
            _turn_away(deps, leased, vote, not_pending(leased.request))


def _cast(deps: Dependencies, leased: LeasedRequest) -> list[Vote]:
    found = deps.database.read(lambda c: votes.of(c, leased.request.id))
    return [vote for vote in found if vote.state is VoteState.CAST]


def _tally_one(deps: Dependencies, leased: LeasedRequest, vote: Vote) -> None:
    request = leased.request
    if request.right_digest() != request.digest:
        leased.transition(State.REFUSED, result=Reason("request.edited"))
        return
    voter = deps.people.person(vote.voter, deps.workspace.team, fresh=True)
    approvals = approvals_of(deps, request)
    if why := _why_not(request, vote, voter, approvals):
        _turn_away(deps, leased, vote, why)
    elif not vote.approves:
        _deny(leased, vote, voter)
    else:
        try:
            _approve(deps, leased, vote, voter, approvals)
        except votes.SamePerson:
            _turn_away(deps, leased, vote, Reason("vote.same_person"))


def _why_not(request: Request, vote: Vote, voter: Person, approvals: list[Vote]) -> Reason | None:
    """Return why a vote does not count, if so."""
    if voter.obstacle:
        return voter.obstacle
    if vote.card != request.card:
        return Reason("vote.wrong_card")
    if request.decide_by is not None and vote.at >= request.decide_by:
        return Reason("vote.too_late")
    if is_own(request, voter):
        return Reason("vote.own_request")
    if not groups_of(request, voter):
        return Reason("vote.not_an_approver", {"groups": [one.group for one in request.quorum]})
    if voter.mailbox and voter.mailbox in [one.mailbox for one in approvals] and vote.approves:
        return Reason("vote.same_person")
    return None


def _turn_away(deps: Dependencies, leased: LeasedRequest, vote: Vote, why: Reason) -> None:
    """Notify the voter, then refuse the vote: a crash in between repeats the notification."""
    try:
        deps.slack_api.send_direct_message(
            vote.voter, Message(f"{leased.request.id}: {messages.text(why)}")
        )
    except SlackRejected as refusal:
        refused_by_slack(deps, "vote", leased.request, refusal)

    def work(c: Connection) -> None:
        votes.settle(c, vote, VoteState.REFUSED, refusal=why)
        leased.audit(
            c, "vote.refused", vote.voter, {"approves": vote.approves, "why": why.as_dict()}
        )

    leased.update(also=work)


def _deny(leased: LeasedRequest, vote: Vote, voter: Person) -> None:
    leased.transition(
        State.DENIED,
        actor=vote.voter,
        data={"reason": vote.reason},
        also=lambda c: _count(c, leased, vote, voter),
        result=Reason("request.denied", {"reason": vote.reason}) if vote.reason else None,
    )


def _approve(
    deps: Dependencies, leased: LeasedRequest, vote: Vote, voter: Person, approvals: list[Vote]
) -> None:
    request = leased.request
    voters = [one.groups for one in approvals]
    if not met(request.quorum, [*voters, groups_of(request, voter)]):
        leased.update(also=lambda c: _count(c, leased, vote, voter))
        return
    why = why_stopped(deps, request, [*approvals, vote])
    leased.transition(
        State.REFUSED if why else State.APPROVED,
        also=lambda c: _count(c, leased, vote, voter),
        result=why,
        execute_by=leased.now + deps.policy().requests.expire_after,
        remind_at=None,
    )


def _count(c: Connection, leased: LeasedRequest, vote: Vote, voter: Person) -> None:
    groups = groups_of(leased.request, voter)
    votes.settle(c, vote, VoteState.COUNTED, mailbox=voter.mailbox, groups=groups)
    data = {"approves": vote.approves, "reason": vote.reason, "groups": sorted(groups)}
    leased.audit(c, "vote.counted", vote.voter, {**data, "mailbox": voter.mailbox})


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
    """Return the groups of the quorum that the voter is in."""
    return voter.groups & {one.group for one in request.quorum}


def is_own(request: Request, voter: Person) -> bool:
    """Whether the voter is the requester, by Slack id or by mailbox."""
    same_mailbox = voter.mailbox is not None and voter.mailbox == request.requester_mailbox
    return voter.user == request.requester or same_mailbox


def why_stopped(deps: Dependencies, request: Request, approvals: Sequence[Vote]) -> Reason | None:
    """Return why a request must not continue, if so.

    :param approvals: those that count
    :raises SlackUnavailable: Slack does not answer
    :raises Unavailable: the mail service does not
    """
    if request.right_digest() != request.digest:
        return Reason("request.edited")
    removes = request.change.action in (Action.ALIAS_REMOVE, Action.FORWARD_REMOVE)
    if request.origin == EXPIRY and removes:
        # The removal was approved with the alias or the forwarder.
        return None
    requester = deps.people.person(request.requester, deps.workspace.team, fresh=True)
    if requester.obstacle or requester.mailbox != request.requester_mailbox:
        return Reason("request.requester_changed")
    return _why_not_approved(deps, request, approvals) or _why_not_again(deps, requester, request)


def approvals_of(deps: Dependencies, request: Request) -> list[Vote]:
    """Return the approvals that a request has."""
    return counted(deps.database.read(lambda c: votes.of(c, request.id)))


def _why_not_approved(
    deps: Dependencies, request: Request, approvals: Sequence[Vote]
) -> Reason | None:
    team = deps.workspace.team
    voters = [deps.people.person(one.voter, team, fresh=True) for one in approvals]
    mailboxes = [voter.mailbox for voter in voters if voter.mailbox]
    still = [
        groups_of(request, voter)
        for voter in voters
        if not voter.obstacle and not is_own(request, voter)
    ]
    if len(set(mailboxes)) < len(mailboxes) or not met(request.quorum, still):
        return Reason("request.approvers_changed")
    return None


def _why_not_again(deps: Dependencies, requester: Person, request: Request) -> Reason | None:
    decision = decided_again(deps, requester, request)
    if decision.verdict is Verdict.DENY:
        return Reason("request.now_denied", {"why": decision.reason.as_list()})
    return None if decision.quorum == request.quorum else Reason("request.policy_changed")
