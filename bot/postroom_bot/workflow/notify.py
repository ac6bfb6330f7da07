# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The card, the requester, the mailbox's owner and the audit channel follow the request.

What has been shown and told is kept in the request, each after Slack took it: a crash between the
two says something twice, and nothing is left out. Nothing here changes what becomes of a request,
but for one whose card Slack does not take: nobody could ever approve it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import timedelta
from functools import partial

from postroom_bot.domain import Action, MessageRef, Request, State, Vote, VoteState
from postroom_bot.errors import SlackRejected
from postroom_bot.policy.case import ALIASES
from postroom_bot.store import votes
from postroom_bot.ui import cards, messages, notifications
from postroom_bot.ui.markup import Message
from postroom_bot.workflow.dependencies import Dependencies
from postroom_bot.workflow.error_reporting import refused_by_slack
from postroom_bot.workflow.lease import BOT, LeasedRequest
from postroom_bot.workflow.maintenance import notice_due_at, removal_of

#: After this, what Slack did not take of an ended request is left untold.
GIVE_UP = timedelta(days=3)
#: The word for the requester having been told that something ends soon.
ENDING = "ending"
#: The word for the owner of a mailbox having been offered an approved password.
OFFERED = f"{State.APPROVED}-owner"
#: The word for the requester having been told, once, what is in the way of a decision.
TROUBLE = "trouble"


def catch_up(deps: Dependencies, leased: LeasedRequest) -> None:
    """Show and tell what has not been shown and told yet.

    :raises SlackUnavailable: Slack does not answer; what it took before is kept
    """
    ended = leased.request.ended_at
    if ended is not None and leased.now - ended > GIVE_UP:
        return
    found = deps.database.read(lambda c: votes.of(c, leased.request.id))
    _show(deps, leased, found)
    for word, send in _due(deps, leased.request, found):
        if word not in leased.request.told.split():
            leased.renew()
            _send(deps, leased, word, send)


def trouble(deps: Dependencies, leased: LeasedRequest) -> None:
    """Tell the requester once what keeps a request from going on.

    :raises SlackUnavailable: Slack does not answer
    """
    request = leased.request
    if TROUBLE not in request.told.split():
        leased.renew()
        found = deps.database.read(lambda c: votes.of(c, request.id))
        message = notifications.progress(request, found)
        _send(
            deps,
            leased,
            TROUBLE,
            lambda: deps.slack_api.send_direct_message(request.requester, message),
        )


def remind(deps: Dependencies, leased: LeasedRequest) -> None:
    """Remind the approvers once, when it is time.

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
    """Tell the requester once that something ends soon, unless it was extended or removed.

    :raises SlackUnavailable: Slack does not answer
    """
    request, at = leased.request, notice_due_at(deps, leased.request)
    if at is None or not request.ends_at or not at <= leased.now < request.ends_at:
        return
    if ENDING in request.told.split() or not deps.database.read(lambda c: removal_of(c, request)):
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


def names_of(deps: Dependencies, request: Request, found: Iterable[Vote]) -> dict[str, str]:
    """Return the names of the people that a card speaks of, by their ids.

    :raises SlackUnavailable: Slack does not answer
    """
    users = {request.requester, *(one.voter for one in found)}
    return {user: deps.people.person(user, deps.workspace.team).name for user in users}


def _show(deps: Dependencies, leased: LeasedRequest, found: list[Vote]) -> None:
    request = leased.request
    counted = sum(1 for one in found if one.state is VoteState.COUNTED)
    shown = f"{request.state}:{counted}"
    pending = request.state is State.PENDING
    if request.shown == shown or (request.card is None and not pending):
        return
    names, approvers = names_of(deps, request, found), deps.policy().mentioned(request.quorum)
    card = partial(cards.card, request, found, names=names, approvers=approvers)
    leased.renew()
    is_shown = request.card is not None and _updated(deps, request, request.card, card())
    if not is_shown and pending:
        # Without buttons first: if Slack's answer is lost, the next try posts a second card, and
        # nobody is to vote on the first.
        posted = _post(deps, leased, card(draft=True))
        is_shown = posted is not None and (
            _updated(deps, request, posted, card()) or _post(deps, leased, card()) is not None
        )
    if is_shown or not pending:
        leased.update(shown=shown)


def _updated(deps: Dependencies, request: Request, posted: MessageRef, card: Message) -> bool:
    try:
        deps.slack_api.update(posted, card)
    except SlackRejected as refusal:
        # Somebody deleted it, perhaps.
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
        leased.transition(State.REFUSED, data={"slack": refusal.code}, result=messages.NO_CARD)
        return None
    data = {"channel": posted.channel, "ts": posted.ts, "digest": request.digest}
    leased.update(also=lambda c: leased.audit(c, "card.posted", BOT, data), card=posted)
    return posted


def _uninvited(channel: str, key: str) -> str:
    """Return what an operator can do about a channel that takes no message."""
    return f"Invite the bot to the channel {channel}, or correct {key}."


Send = Callable[[], object]


def _due(deps: Dependencies, request: Request, found: list[Vote]) -> Iterable[tuple[str, Send]]:
    """Yield who has to be told of the state that a request is in: a word for each, and how."""
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
    """Whether the requester is told of this state."""
    if request.change.action is Action.PASSWORD:
        # The owner is told, with the button; one who did it for themselves is the owner.
        own = request.change.target == request.requester_mailbox
        return request.state is not State.APPROVED and not (own and request.state is State.DONE)
    if request.state is State.APPROVED:
        # Only if it takes longer than until the next state.
        return request.attempts > 0
    return request.state not in (State.NEW, State.EXECUTING)


def _send(deps: Dependencies, leased: LeasedRequest, word: str, send: Send) -> None:
    try:
        send()
    except SlackRejected as refusal:
        refused_by_slack(deps, word, leased.request, refusal)
    leased.update(told=f"{leased.request.told} {word}".strip())


def _tell_owner(deps: Dependencies, request: Request, found: list[Vote]) -> None:
    """Tell the owner of a mailbox what is done to it; of their own wishes they know."""
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
        names = names_of(deps, request, found)
        deps.slack_api.send_direct_message(
            owner.user, notifications.audit_notice(request, found, names=names)
        )


def _tell_auditors(deps: Dependencies, request: Request, found: list[Vote]) -> None:
    channel = deps.policy().channels.audit
    if channel is not None:
        names = names_of(deps, request, found)
        try:
            deps.slack_api.post(channel, notifications.audit_notice(request, found, names=names))
        except SlackRejected as refusal:
            remedy = _uninvited(channel, "channels.audit in the policy")
            refused_by_slack(deps, "done-audit", request, refusal, remedy)
