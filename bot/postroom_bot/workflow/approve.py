# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Votes on a pending request are judged, with what Slack says of the voters now."""

from __future__ import annotations

from postroom_bot.domain import Person, Request, State, Vote, VoteState
from postroom_bot.errors import SlackRejected
from postroom_bot.store import votes
from postroom_bot.ui import messages
from postroom_bot.ui.markup import Message, sentence
from postroom_bot.workflow.dependencies import Dependencies
from postroom_bot.workflow.error_reporting import refused_by_slack
from postroom_bot.workflow.lease import LeasedRequest
from postroom_bot.workflow.recheck import approvals_of, groups_of, is_own, met, why_stopped
from postroom_common.database import Connection


def tally(deps: Dependencies, leased: LeasedRequest) -> None:
    """Judge the votes that have been cast, oldest first; then let the request expire in its time.

    :raises SlackUnavailable: Slack does not answer
    :raises Unavailable: the mail service does not
    """
    for vote in _cast(deps, leased):
        if leased.request.state is State.PENDING:
            leased.renew()
            _tally_one(deps, leased, vote)
    request = leased.request
    over = request.expires_at is not None and request.expires_at <= leased.now
    if request.state is State.PENDING and over:
        leased.transition(State.EXPIRED)


def refuse_late_votes(deps: Dependencies, leased: LeasedRequest) -> None:
    """Refuse the votes that were cast before a request was decided or cancelled otherwise.

    :raises SlackUnavailable: Slack does not answer
    """
    if leased.request.state not in (State.NEW, State.PENDING):
        for vote in _cast(deps, leased):
            leased.renew()
            _turn_away(deps, leased, vote, messages.not_waiting(leased.request))


def _cast(deps: Dependencies, leased: LeasedRequest) -> list[Vote]:
    found = deps.database.read(lambda c: votes.of(c, leased.request.id))
    return [vote for vote in found if vote.state is VoteState.CAST]


def _tally_one(deps: Dependencies, leased: LeasedRequest, vote: Vote) -> None:
    request = leased.request
    if request.right_digest() != request.digest:
        leased.transition(State.REFUSED, result=messages.EDITED)
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
            _turn_away(deps, leased, vote, messages.SAME_PERSON)


def _why_not(request: Request, vote: Vote, voter: Person, approvals: list[Vote]) -> str:
    """Return why a vote does not count, a sentence for the voter, or ""."""
    if out_of_place := voter.obstacle or _why_not_here(request, vote):
        return out_of_place
    if is_own(request, voter):
        return messages.OWN_REQUEST
    if not groups_of(request, voter):
        return messages.not_an_approver(request)
    if voter.mailbox and voter.mailbox in [one.mailbox for one in approvals] and vote.approves:
        return messages.SAME_PERSON
    return ""


def _why_not_here(request: Request, vote: Vote) -> str:
    if vote.card != request.card:
        return messages.WRONG_CARD
    late = request.expires_at is not None and vote.at >= request.expires_at
    return messages.VOTED_LATE if late else ""


def _turn_away(deps: Dependencies, leased: LeasedRequest, vote: Vote, why: str) -> None:
    """Refuse a vote and tell the voter; telling comes first, so that a crash can't leave it out."""
    try:
        deps.slack_api.send_direct_message(
            vote.voter, Message(f"{leased.request.id}: {sentence(why)}")
        )
    except SlackRejected as refusal:
        refused_by_slack(deps, "vote", leased.request, refusal)

    def work(c: Connection) -> None:
        votes.settle(c, vote, VoteState.REFUSED, reason=why)
        leased.audit(c, "vote.refused", vote.voter, {"approves": vote.approves, "why": why})

    leased.update(also=work)


def _deny(leased: LeasedRequest, vote: Vote, voter: Person) -> None:
    leased.transition(
        State.DENIED,
        actor=vote.voter,
        data={"reason": vote.reason},
        also=lambda c: _count(c, leased, vote, voter),
        result=vote.reason,
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
        # The time to decide is over; now begins the time to carry it out.
        expires_at=leased.now + deps.policy().requests.expire_after,
        remind_at=None,
    )


def _count(c: Connection, leased: LeasedRequest, vote: Vote, voter: Person) -> None:
    groups = groups_of(leased.request, voter)
    votes.settle(c, vote, VoteState.COUNTED, mailbox=voter.mailbox, groups=groups)
    data = {"approves": vote.approves, "reason": vote.reason, "groups": sorted(groups)}
    leased.audit(c, "vote.counted", vote.voter, {**data, "mailbox": voter.mailbox})
