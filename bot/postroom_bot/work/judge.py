# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Votes on a pending request are judged, with what Slack says of the voters now."""

from __future__ import annotations

from postroom_bot.chat import ChatRefused
from postroom_bot.model import Person, Request, State, Vote, VoteState
from postroom_bot.store import votes
from postroom_bot.words.message import Message, sentence
from postroom_common.database import Connection

from . import sentences
from .deps import Deps
from .hold import Hold
from .standing import approvals_of, groups_of, is_own, met, why_stopped
from .troubles import refused_by_slack


def judge(deps: Deps, hold: Hold) -> None:
    """Judge the votes that have been cast, oldest first; then let the request expire in its time.

    :raises ChatDown: Slack does not answer
    :raises TryLater: the mail service does not
    """
    for vote in _cast(deps, hold):
        if hold.request.state is State.PENDING:
            hold.renew()
            _judge_one(deps, hold, vote)
    request = hold.request
    over = request.expires_at is not None and request.expires_at <= hold.now
    if request.state is State.PENDING and over:
        hold.move(State.EXPIRED)


def refuse_late_votes(deps: Deps, hold: Hold) -> None:
    """Refuse the votes that were cast before a request was decided or cancelled otherwise.

    :raises ChatDown: Slack does not answer
    """
    if hold.request.state not in (State.NEW, State.PENDING):
        for vote in _cast(deps, hold):
            hold.renew()
            _turn_away(deps, hold, vote, sentences.not_waiting(hold.request))


def _cast(deps: Deps, hold: Hold) -> list[Vote]:
    found = deps.database.read(lambda c: votes.of(c, hold.request.id))
    return [vote for vote in found if vote.state is VoteState.CAST]


def _judge_one(deps: Deps, hold: Hold, vote: Vote) -> None:
    request = hold.request
    if request.right_digest() != request.digest:
        hold.move(State.REFUSED, result=sentences.EDITED)
        return
    voter = deps.people.person(vote.voter, deps.workspace.team, fresh=True)
    approvals = approvals_of(deps, request)
    if why := _why_not(request, vote, voter, approvals):
        _turn_away(deps, hold, vote, why)
    elif not vote.approves:
        _deny(hold, vote, voter)
    else:
        try:
            _approve(deps, hold, vote, voter, approvals)
        except votes.SamePerson:
            _turn_away(deps, hold, vote, sentences.SAME_PERSON)


def _why_not(request: Request, vote: Vote, voter: Person, approvals: list[Vote]) -> str:
    """Return why a vote does not count, a sentence for the voter, or ""."""
    if out_of_place := voter.obstacle or _why_not_here(request, vote):
        return out_of_place
    if is_own(request, voter):
        return sentences.OWN_REQUEST
    if not groups_of(request, voter):
        return sentences.not_an_approver(request)
    if voter.mailbox and voter.mailbox in [one.mailbox for one in approvals] and vote.approves:
        return sentences.SAME_PERSON
    return ""


def _why_not_here(request: Request, vote: Vote) -> str:
    if vote.card != request.card:
        return sentences.WRONG_CARD
    late = request.expires_at is not None and vote.at >= request.expires_at
    return sentences.VOTED_LATE if late else ""


def _turn_away(deps: Deps, hold: Hold, vote: Vote, why: str) -> None:
    """Refuse a vote and tell the voter; telling comes first, so that a crash can't leave it out."""
    try:
        deps.chat.tell(vote.voter, Message(f"{hold.request.id}: {sentence(why)}"))
    except ChatRefused as refusal:
        refused_by_slack(deps, "vote", hold.request, refusal)

    def work(c: Connection) -> None:
        votes.settle(c, vote, VoteState.REFUSED, reason=why)
        hold.audit(c, "vote.refused", vote.voter, {"approves": vote.approves, "why": why})

    hold.change(also=work)


def _deny(hold: Hold, vote: Vote, voter: Person) -> None:
    hold.move(
        State.DENIED,
        actor=vote.voter,
        data={"reason": vote.reason},
        also=lambda c: _count(c, hold, vote, voter),
        result=vote.reason,
    )


def _approve(deps: Deps, hold: Hold, vote: Vote, voter: Person, approvals: list[Vote]) -> None:
    request = hold.request
    voters = [one.groups for one in approvals]
    if not met(request.quorum, [*voters, groups_of(request, voter)]):
        hold.change(also=lambda c: _count(c, hold, vote, voter))
        return
    why = why_stopped(deps, request, [*approvals, vote])
    hold.move(
        State.REFUSED if why else State.APPROVED,
        also=lambda c: _count(c, hold, vote, voter),
        result=why,
        # The time to decide is over; now begins the time to carry it out.
        expires_at=hold.now + deps.policy().requests.expire_after,
        remind_at=None,
    )


def _count(c: Connection, hold: Hold, vote: Vote, voter: Person) -> None:
    groups = groups_of(hold.request, voter)
    votes.settle(c, vote, VoteState.COUNTED, mailbox=voter.mailbox, groups=groups)
    data = {"approves": vote.approves, "reason": vote.reason, "groups": sorted(groups)}
    hold.audit(c, "vote.counted", vote.voter, {**data, "mailbox": voter.mailbox})
