# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Update the card, and notify the requester, the mailbox's owner and the audit channel.

Each message is recorded after Slack accepted it: a crash in between repeats it, and none is lost.
Nothing here changes the outcome of a request, except that one whose card Slack rejects is refused,
since it could never be approved.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import timedelta
from functools import partial

from postroom_bot.domain import Action, MessageRef, Reason, Request, State, Vote, VoteState
from postroom_bot.errors import SlackRejected
from postroom_bot.policy.engine import ALIASES
from postroom_bot.store import notifications as notification_rows
from postroom_bot.store import votes
from postroom_bot.ui import notifications
from postroom_bot.ui.markup import Message
from postroom_bot.workflow.dependencies import Dependencies
from postroom_bot.workflow.error_reporting import refused_by_slack
from postroom_bot.workflow.lease import BOT, LeasedRequest
from postroom_bot.workflow.maintenance import notice_due_at, removal_of

#: How long notifications of an ended request are retried.
GIVE_UP = timedelta(days=3)
#: Kinds of notifications beside those named for a state: an alias or a forwarder ends soon, the
#: owner of a mailbox can create its approved password, and the decision or execution is blocked.
ENDING = "ending"
OFFERED = f"{State.APPROVED}-owner"
BLOCKED = "blocked"


def catch_up(deps: Dependencies, leased: LeasedRequest) -> None:
    """Update the card and send the notifications that are missing.

    :raises SlackUnavailable: Slack does not answer; sent messages are recorded
    """
    ended = leased.request.ended_at
    if ended is not None and leased.now - ended > GIVE_UP:
        return
    found = deps.database.read(lambda c: votes.of(c, leased.request.id))
    _show(deps, leased, found)
    sent = _sent(deps, leased.request)
    for kind, send in _due(deps, leased.request, found):
        if kind not in sent:
            leased.renew()
            _send(deps, leased, kind, send)


def blocked(deps: Dependencies, leased: LeasedRequest) -> None:
    """Notify the requester once of what delays the request.

    :raises SlackUnavailable: Slack does not answer
    """
    request = leased.request
    if BLOCKED not in _sent(deps, request):
        leased.renew()
        found = deps.database.read(lambda c: votes.of(c, request.id))
        message = notifications.progress(request, found)
        _send(
            deps,
            leased,
            BLOCKED,
            lambda: deps.slack_api.send_direct_message(request.requester, message),
        )


def remind(deps: Dependencies, leased: LeasedRequest) -> None:
    """Remind the approvers once, when that is due.

    :raises SlackUnavailable: Slack does not answer
    """
    request = leased.request
    if request.state is not State.PENDING or request.card is None:
        return
    if request.remind_at is None or request.remind_at > leased.now:
        return
    found = deps.database.read(lambda c: votes.of(c, request.id))
    leased.renew()
    try:
        link = deps.slack_api.link(request.card)
        approvers = deps.policy().mentioned(request.quorum)
        message = notifications.reminder(request, found, link=link, approvers=approvers)
        deps.slack_api.post(request.card.channel, message)
    except SlackRejected as refusal:
        refused_by_slack(deps, "reminder", request, refusal)
    leased.update(remind_at=None)


def announce_end(deps: Dependencies, leased: LeasedRequest) -> None:
    """Announce an end to the requester once, unless a later request has changed it.

    :raises SlackUnavailable: Slack does not answer
    """
    request, at = leased.request, notice_due_at(deps, leased.request)
    if at is None or not request.ends_at or not at <= leased.now < request.ends_at:
        return
    if ENDING in _sent(deps, request) or not deps.database.read(lambda c: removal_of(c, request)):
        return
    leased.renew()
    _send(
        deps,
        leased,
        ENDING,
        lambda: deps.slack_api.send_direct_message(
            request.requester, notifications.ending(request)
        ),
    )


def _show(deps: Dependencies, leased: LeasedRequest, found: list[Vote]) -> None:
    request = leased.request
    counted = sum(1 for one in found if one.state is VoteState.COUNTED)
    shown = f"{request.state}:{counted}"
    pending = request.state is State.PENDING
    if request.card_state == shown or (request.card is None and not pending):
        return
    approvers = deps.policy().mentioned(request.quorum)
    card = partial(notifications.card, request, found, approvers=approvers)
    leased.renew()
    is_shown = request.card is not None and _updated(deps, request, request.card, card())
    if not is_shown and pending:
        # First without buttons: if Slack's answer is lost, the next attempt posts a second card,
        # and the first must not take votes.
        posted = _post(deps, leased, card(draft=True))
        is_shown = posted is not None and (
            _updated(deps, request, posted, card()) or _post(deps, leased, card()) is not None
        )
    if is_shown or not pending:
        leased.update(card_state=shown)


def _updated(deps: Dependencies, request: Request, posted: MessageRef, card: Message) -> bool:
    try:
        deps.slack_api.update(posted, card)
    except SlackRejected as refusal:
        # It may have been deleted.
        refused_by_slack(deps, "card", request, refusal)
        return False
    return True


def _post(deps: Dependencies, leased: LeasedRequest, card: Message) -> MessageRef | None:
    request = leased.request
    channel = deps.policy().channel_of(request.quorum)
    try:
        posted = deps.slack_api.post(channel, card)
    except SlackRejected as refusal:
        key = "channels.approvals, or the approving group's channel, in the policy"
        refused_by_slack(deps, "card", request, refusal, _uninvited(channel, key))
        leased.transition(
            State.REFUSED, data={"slack": refusal.code}, result=Reason("request.no_card")
        )
        return None
    data = {"channel": posted.channel, "ts": posted.ts, "digest": request.digest}
    leased.update(also=lambda c: leased.audit(c, "card.posted", BOT, data), card=posted)
    return posted


def _uninvited(channel: str, key: str) -> str:
    """Return the remedy for a channel that rejects messages."""
    return f"Invite the bot to the channel {channel}, or correct {key}."


Send = Callable[[], object]


def _due(deps: Dependencies, request: Request, found: list[Vote]) -> Iterable[tuple[str, Send]]:
    """Yield the notifications that a request requires in its state: kind and how to send it."""
    state, change = request.state, request.change
    shown = change.action is Action.PASSWORD and state is State.APPROVED
    if _concerns_requester(request):
        yield (
            state,
            lambda: deps.slack_api.send_direct_message(
                request.requester, notifications.progress(request, found)
            ),
        )
    if state is State.DONE or shown:
        yield f"{state}-owner", lambda: _tell_owner(deps, request, found)
    if state is State.DONE:
        yield f"{state}-audit", lambda: _tell_auditors(deps, request, found)


def _concerns_requester(request: Request) -> bool:
    """Return whether the requester is notified of this state."""
    if request.change.action is Action.PASSWORD:
        # The mailbox's owner gets these notifications, also if that is the requester.
        own = request.change.target == request.requester_mailbox
        return request.state is not State.APPROVED and not (own and request.state is State.DONE)
    if request.state is State.APPROVED:
        # Only if the execution takes several attempts.
        return request.attempts > 0
    return request.state not in (State.NEW, State.EXECUTING)


def _send(deps: Dependencies, leased: LeasedRequest, kind: str, send: Send) -> None:
    try:
        send()
    except SlackRejected as refusal:
        refused_by_slack(deps, kind, leased.request, refusal)
    request = leased.request
    leased.update(also=lambda c: notification_rows.record(c, request.id, kind, at=leased.now))


def _sent(deps: Dependencies, request: Request) -> frozenset[str]:
    return deps.database.read(lambda c: notification_rows.sent(c, request.id))


def _tell_owner(deps: Dependencies, request: Request, found: list[Vote]) -> None:
    """Notify the owner of a mailbox of a change by another person, or of a new password."""
    change = request.change
    mailbox = change.target if change.action is Action.PASSWORD else change.mailbox
    owner = deps.people.owner_of(mailbox, deps.workspace.team) if mailbox else None
    if owner is None:
        return
    if change.action is Action.PASSWORD and request.state is State.APPROVED:
        deps.slack_api.send_direct_message(owner.user, notifications.progress(request, found))
    elif change.action is Action.PASSWORD and request.state is State.DONE:
        deps.slack_api.send_direct_message(owner.user, notifications.owner_notice(request, found))
    elif change.action in ALIASES and owner.user != request.requester:
        deps.slack_api.send_direct_message(owner.user, notifications.audit_notice(request, found))


def _tell_auditors(deps: Dependencies, request: Request, found: list[Vote]) -> None:
    channel = deps.policy().channels.audit
    if channel is not None:
        try:
            deps.slack_api.post(channel, notifications.audit_notice(request, found))
        except SlackRejected as refusal:
            remedy = _uninvited(channel, "channels.audit in the policy")
            refused_by_slack(deps, "done-audit", request, refusal, remedy)
