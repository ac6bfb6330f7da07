# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tally the votes on a request: count or refuse each vote, and approve or deny the request."""

from __future__ import annotations

from postroom_bot.domain import Person, Reason, Request, State, Vote, VoteState
from postroom_bot.errors import SlackRejected
from postroom_bot.policy.engine import groups_of, quorum_met, why_not_approver
from postroom_bot.store import audit, votes
from postroom_bot.ui.markup import Message
from postroom_bot.ui.reason_texts import reason_text
from postroom_bot.workflow.leased_request import LeasedRequest
from postroom_bot.workflow.policy_decisions import recheck
from postroom_common.database import Connection


def tally(leased: LeasedRequest) -> None:
    """Tally the cast votes, oldest first. Then expire the request if it is overdue.

    :raises SlackUnavailable: if Slack does not respond
    :raises Unavailable: if the mail service does not respond
    """
    for vote in leased.votes():
        if vote.state is VoteState.CAST and leased.request.state is State.PENDING:
            leased.renew()
            _tally_one(leased, vote)
    if leased.request.state is State.PENDING and leased.request.is_overdue(leased.now):
        leased.transition(State.EXPIRED)


def refuse_late_votes(leased: LeasedRequest) -> None:
    """Refuse votes that were cast but not tallied before the request was decided or cancelled.

    :raises SlackUnavailable: if Slack does not respond
    """
    params = {"request": leased.request.id, "state": str(leased.request.state)}
    for vote in leased.votes():
        if vote.state is VoteState.CAST:
            leased.renew()
            _refuse(leased, vote, Reason("request.not_pending", params))


def _tally_one(leased: LeasedRequest, vote: Vote) -> None:
    deps, request = leased.deps, leased.request
    if request.computed_digest() != request.digest:
        leased.transition(State.REFUSED, result=Reason("request.edited"))
        return
    voter = deps.people.person(vote.voter, fresh=True)
    groups, approvals = groups_of(request, voter), leased.approvals()
    if why := _why_not_counted(request, vote, voter, approvals):
        _refuse(leased, vote, why)
        return

    def count(c: Connection) -> None:
        leased.set_vote(c, vote, VoteState.COUNTED, mailbox=voter.mailbox, groups=groups)

    data = {"approves": vote.approves, "reason": vote.justification, "groups": sorted(groups)}
    counted = audit.Entry("vote.counted", vote.voter, {**data, "mailbox": voter.mailbox})

    if not vote.approves:
        given = {"reason": vote.justification}
        result = Reason("request.denied", given) if vote.justification else None
        leased.transition(
            State.DENIED,
            actor=vote.voter,
            data=given,
            also_write=count,
            also_audit=[counted],
            result=result,
        )
        return
    try:
        if not quorum_met(request.quorum, [*(one.groups for one in approvals), groups]):
            leased.update(also_write=count, also_audit=[counted])
            return
        stopped = recheck(leased, [*approvals, vote])
        leased.transition(
            State.REFUSED if stopped else State.APPROVED,
            also_write=count,
            also_audit=[counted],
            result=stopped,
            execute_by=leased.now + deps.policy().requests.expire_after,
            remind_at=None,
        )
    except votes.MailboxAlreadyApproved:
        _refuse(leased, vote, Reason("vote.same_person"))


def _why_not_counted(
    request: Request, vote: Vote, voter: Person, approvals: list[Vote]
) -> Reason | None:
    """Return why a vote does not count, or None.

    :param approvals: the approvals that count already
    """
    if why := why_not_approver(request, voter):
        return why
    if vote.card != request.card:
        return Reason("vote.wrong_card")
    if request.is_overdue(vote.at):
        return Reason("vote.too_late")
    if voter.mailbox and voter.mailbox in [one.mailbox for one in approvals] and vote.approves:
        return Reason("vote.same_person")
    return None


def _refuse(leased: LeasedRequest, vote: Vote, why: Reason) -> None:
    """Notify the voter, then refuse the vote. After a crash, the voter may be notified again."""
    text = f"{leased.request.id}: {reason_text(why)}"
    try:
        leased.deps.slack_api.send_direct_message(vote.voter, Message(text))
    except SlackRejected as rejection:
        leased.report_rejected("vote", rejection)

    refused = audit.Entry(
        "vote.refused", vote.voter, {"approves": vote.approves, "why": why.as_dict()}
    )
    leased.update(
        also_write=lambda c: leased.set_vote(c, vote, VoteState.REFUSED, refusal=why),
        also_audit=[refused],
    )
