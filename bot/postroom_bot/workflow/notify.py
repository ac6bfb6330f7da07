# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Update the card, and notify the requester, the mailbox's owner and the audit channel.

Each message is recorded after Slack has accepted it. After a crash, a message may therefore be sent
twice, but it is never lost. Notifications don't change the outcome of a request, with one
exception: if Slack rejects the card, the request is refused, because it could never be approved.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from postroom_bot.domain import Action, MessageRef, Reason, Request, State, Vote, VoteState
from postroom_bot.errors import SlackRejected
from postroom_bot.store import audit, holdings, sent_notifications
from postroom_bot.ui import messages
from postroom_bot.ui.markup import Message
from postroom_bot.workflow.end_dates import notice_due_at
from postroom_bot.workflow.leased_request import LeasedRequest
from postroom_bot.workflow.tally import refuse_late_votes

#: How long to retry notifications about a request that has ended.
GIVE_UP = timedelta(days=3)


def notify(leased: LeasedRequest) -> None:
    """Update the card, and send all messages that are due. Refuse votes that are too late.

    :raises SlackUnavailable: if Slack does not respond; messages that were sent are recorded
    """
    ended, votes = leased.request.closed_at, leased.votes()
    if ended is None or leased.now - ended <= GIVE_UP:
        _show_card(leased, votes)
        request, state = leased.request, leased.request.state
        offered = request.change.action is Action.PASSWORD and state is State.APPROVED
        if _concerns_requester(request):
            _notify_requester(leased, state, messages.status_message(request, votes))
        if state is State.DONE or offered:
            _send_once(
                leased,
                sent_notifications.kind_for_owner(state),
                lambda: _notify_owner(leased, votes),
            )
        if state is State.DONE:
            _send_once(leased, f"{state}-audit", lambda: _notify_auditors(leased, votes))
        if state not in (State.PENDING, State.EXECUTING) and request.card is not None:
            _reply_on_card(leased, request.card, votes)
    state = leased.request.state
    if state is State.PENDING:
        _remind(leased, votes)
    if state is State.DONE:
        _announce_end(leased)
    if state not in (State.NEW, State.PENDING):
        refuse_late_votes(leased)


def notify_blocked(leased: LeasedRequest) -> None:
    """Notify the requester once of the reason for a delay.

    :raises SlackUnavailable: if Slack does not respond
    """
    message = messages.status_message(leased.request, leased.votes())
    _notify_requester(leased, sent_notifications.BLOCKED, message)


def _notify_requester(leased: LeasedRequest, kind: str, message: Message) -> None:
    send, user = leased.deps.slack_api.send_direct_message, leased.request.requester
    _send_once(leased, kind, lambda: send(user, message))


def _send_once(leased: LeasedRequest, kind: str, send: Callable[[], object]) -> None:
    if kind in leased.sent_notifications():
        return
    leased.renew()
    try:
        send()
    except SlackRejected as rejection:
        leased.report_rejected(kind, rejection)
    leased.record_notification(kind)


def _show_card(leased: LeasedRequest, votes: list[Vote]) -> None:
    request = leased.request
    counted = sum(1 for one in votes if one.state is VoteState.COUNTED)
    shown = f"{request.state}:{counted}"
    pending = request.state is State.PENDING
    if request.card_state == shown or (request.card is None and not pending):
        return
    approvers = leased.deps.policy().mentioned(request.quorum)
    card = messages.card(request, votes, approvers=approvers)
    leased.renew()
    is_shown = request.card is not None and _updated(leased, request.card, card)
    if pending and not is_shown:
        _post(leased, card, shown)
    else:
        leased.update(card_state=shown)


def _updated(leased: LeasedRequest, posted: MessageRef, card: Message) -> bool:
    try:
        leased.deps.slack_api.update(posted, card)
    except SlackRejected as rejection:
        # The card may have been deleted.
        leased.report_rejected("card", rejection)
        return False
    return True


def _post(leased: LeasedRequest, card: Message, shown: str) -> None:
    """Post a card, or refuse the request if Slack rejects the card.

    If Slack's response is lost, the next attempt posts a second card. Votes on the first one don't
    count, because only the second one is stored.
    """
    request = leased.request
    channel = leased.deps.policy().channel_of(request.quorum)
    try:
        posted = leased.deps.slack_api.post(channel, card)
    except SlackRejected as rejection:
        remedy = (
            f"Invite the bot to the channel {channel}, or correct channels.approvals or the "
            "approving group's channel in the policy."
        )
        leased.report_rejected("card", rejection, remedy)
        data, result = {"slack": rejection.code}, Reason("request.no_card")
        leased.transition(State.REFUSED, data=data, result=result)
        return
    data = {"channel": posted.channel, "ts": posted.ts, "digest": request.digest}
    posted_entry = audit.Entry("card.posted", audit.BOT, data)
    leased.update(also_audit=[posted_entry], card=posted, card_state=shown)


def _reply_on_card(leased: LeasedRequest, card: MessageRef, votes: list[Vote]) -> None:
    """Post the decision or its result in the card's thread, because an edit notifies nobody."""
    decision, post = messages.decision(leased.request, votes), leased.deps.slack_api.post
    kind = f"{leased.request.state}-thread"
    _send_once(leased, kind, lambda: post(card.channel, decision, thread=card.ts))


def _concerns_requester(request: Request) -> bool:
    """Return whether to notify the requester of the request's state."""
    if request.change.action is Action.PASSWORD:
        # The mailbox's owner gets these notifications, even if the owner is the requester.
        own = request.change.target == request.requester_mailbox
        return request.state is not State.APPROVED and not (own and request.state is State.DONE)
    if request.state is State.APPROVED:
        # Notify them of the approval only if the execution takes several attempts.
        return request.attempts > 0
    return request.state not in (State.NEW, State.EXECUTING)


def _notify_owner(leased: LeasedRequest, votes: list[Vote]) -> None:
    """Notify a mailbox's owner of a change by another person, or of a new password."""
    deps, request, change = leased.deps, leased.request, leased.request.change
    is_password = change.action is Action.PASSWORD
    mailbox = change.target if is_password else change.mailbox
    owner = deps.people.owner_of(mailbox) if mailbox else None
    if owner is None:
        return
    if is_password and request.state is State.APPROVED:
        message = messages.status_message(request, votes)
    elif is_password:
        message = messages.password_notice(request, votes)
    elif change.action.is_alias and owner.user != request.requester:
        message = messages.change_notice(request, votes)
    else:
        return
    deps.slack_api.send_direct_message(owner.user, message)


def _notify_auditors(leased: LeasedRequest, votes: list[Vote]) -> None:
    channel = leased.deps.policy().channels.audit
    if channel is None:
        return
    try:
        leased.deps.slack_api.post(channel, messages.change_notice(leased.request, votes))
    except SlackRejected as rejection:
        remedy = (
            f"Invite the bot to the channel {channel}, or correct channels.audit in the policy."
        )
        leased.report_rejected("done-audit", rejection, remedy)


def _remind(leased: LeasedRequest, votes: list[Vote]) -> None:
    """Remind the approvers when a reminder is due. Each one comes after twice the time."""
    request, slack_api = leased.request, leased.deps.slack_api
    if request.card is None or request.remind_at is None or request.remind_at > leased.now:
        return
    leased.renew()
    try:
        link = slack_api.link(request.card)
        approvers = leased.deps.policy().mentioned(request.quorum)
        message = messages.reminder(request, votes, link=link, approvers=approvers)
        slack_api.post(request.card.channel, message)
    except SlackRejected as rejection:
        leased.report_rejected("reminder", rejection)
    again = leased.now + (leased.now - request.created_at)
    ends = request.decide_by is not None and again >= request.decide_by
    leased.update(remind_at=None if ends else again)


def _announce_end(leased: LeasedRequest) -> None:
    """Announce the end of an alias or a forwarder once, if the request still holds it."""
    deps, request = leased.deps, leased.request
    at = notice_due_at(deps, request)
    if at is None or not request.removal_at or not at <= leased.now < request.removal_at:
        return
    if deps.database.read(lambda c: holdings.held_by(c, request.id)):
        _notify_requester(leased, sent_notifications.END_NOTICE, messages.end_notice(request))
