# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Messages about a request: the card, and notices to requesters, owners and auditors."""

from __future__ import annotations

from collections.abc import Sequence

from postroom_bot.domain import Action, Reason, Request, State, Vote
from postroom_bot.ui import ids, messages
from postroom_bot.ui.blocks import Block, button, message
from postroom_bot.ui.markup import Message, code, escape, mention, mentions
from postroom_bot.ui.parser import COMMAND
from postroom_bot.ui.request_text import (
    OWN_MAILBOX,
    all_destinations,
    approved_by,
    blocked_text,
    change_text,
    end_text,
    headline,
    status_text,
    title,
)

_RECEIVED = "Got it. I'll message you when it's done."
_DRAFT = "The buttons follow. If they don't appear, use the later card of this request."


def card(
    request: Request, votes: Sequence[Vote], *, approvers: Sequence[str] = (), draft: bool = False
) -> Message:
    """Return the card of a request. It has buttons while the request is pending.

    :param votes: all of the request's votes
    :param approvers: the Slack users and user groups to mention while it is pending
    :param draft: leave out the buttons
    """
    who = _requester(request)
    lines = [f"{who} asks to {change_text(request)}."]
    if request.origin == "expiry":
        lines = [f"The end date that {who} chose has passed: {change_text(request)}."]
    lines += all_destinations(request)
    if request.change.reason:
        lines.append(f"Reason: {code(request.change.reason)}.")
    lines += [f"*Warning:* {messages.text(warning)}" for warning in request.warnings]
    lines += approved_by(request, votes)
    lines.append(f"{title(request)}: {status_text(request, votes)}")
    if request.state is not State.PENDING:
        return message(lines)
    lines.append(mentions(approvers))
    if draft:
        return message([*lines, _DRAFT])
    return message(
        lines,
        button(
            "Approve",
            ids.REQUEST_APPROVE,
            f"Approve request {request.id}",
            value=request.id,
            style="primary",
        ),
        button(
            "Deny",
            ids.REQUEST_DENY,
            f"Deny request {request.id} and give a reason",
            value=request.id,
            style="danger",
        ),
    )


def received(request: Request) -> Message:
    """Return the answer to a new request."""
    status = f"`{COMMAND} status {escape(request.id)}` shows its status."
    return message([headline(request), _RECEIVED, status])


def received_text(request: Request) -> str:
    """Return the same as a sentence for a modal."""
    return f"Request {request.id}: {change_text(request, OWN_MAILBOX)}. {_RECEIVED}"


def progress(request: Request, votes: Sequence[Vote] = ()) -> Message:
    """Return the request's current state for the requester, who can cancel a pending one.

    For an approved password it is for the mailbox's owner, with the button that creates it.
    """
    is_password = request.change.action is Action.PASSWORD
    text = f"{headline(request)} {status_text(request, votes)}{blocked_text(request)}"
    if request.state is State.DONE:
        text += end_text(request)
    if is_password and not request.quorum and request.state is State.FAILED:
        text += f" {messages.text(Reason('password.create_another'))}"
    if request.state is State.PENDING:
        return message([text], cancel_button(request))
    if is_password and request.state is State.APPROVED:
        text += f" {mention(request.requester)} asked for it."
        ready = "Create it when you are ready to copy it: it is shown once, and only to you."
        create = button(
            "Create password",
            ids.PASSWORD_SHOW,
            f"Create the new password of request {request.id}; asks for confirmation",
            value=request.id,
            style="primary",
        )
        return message([text, ready], create)
    return message([text])


def cancel_button(request: Request) -> Block:
    """Return the button that cancels a request."""
    return button("Cancel", ids.REQUEST_CANCEL, f"Cancel request {request.id}", value=request.id)


def reminder(
    request: Request, votes: Sequence[Vote] = (), *, link: str, approvers: Sequence[str] = ()
) -> Message:
    """Return the reminder to approvers of a pending request.

    :param link: to the card
    :param approvers: the Slack users and user groups to mention
    """
    return message(
        [
            mentions(approvers),
            f"{title(request)} is still waiting: {change_text(request)}.",
            status_text(request, votes),
            f"Approve or deny it on <{escape(link)}|its card>.",
        ]
    )


def ending(request: Request) -> Message:
    """Return the notice to the requester that an alias or a forwarder ends soon."""
    extend = button(
        "Extend by 30 days",
        ids.REQUEST_EXTEND,
        f"Ask for 30 more days for request {request.id}",
        value=request.id,
    )
    return message([f"{headline(request)}{end_text(request)}"], extend)


def owner_notice(request: Request, votes: Sequence[Vote] = ()) -> Message:
    """Return the notice to a mailbox's owner that its password was changed, and by whom."""
    mailbox = code(request.change.target or request.requester_mailbox or "")
    who = mention(request.requester)
    if request.change.target in ("", request.requester_mailbox):
        who = f"Your Slack account ({who})"
    return message(
        [
            f"The password of your mailbox {mailbox} was changed. {who} asked for it.",
            *approved_by(request, votes),
            f"The previous password no longer works. {title(request)}.",
            "If you did not expect this, tell your mail administrators immediately.",
        ]
    )


def audit_notice(request: Request, votes: Sequence[Vote] = ()) -> Message:
    """Return the notice to the audit channel, or to the owner of a mailbox that was changed."""
    rule = [f"Rule: {code(request.rule)}."] if request.rule else []
    return message(
        [
            f"{title(request)} by {_requester(request)}: {change_text(request)}.",
            *all_destinations(request),
            *approved_by(request, votes),
            status_text(request, votes),
            *rule,
        ]
    )


def _requester(request: Request) -> str:
    mailbox = request.requester_mailbox
    return mention(request.requester) + (f" ({code(mailbox)})" if mailbox else "")
