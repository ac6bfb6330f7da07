# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What the bot tells people about requests: requesters, approvers, owners and the audit channel.

The card is in `cards`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from postroom_bot.domain import Action, Request, State, Vote
from postroom_bot.ui import commands, ids, phrases
from postroom_bot.ui.blocks import Block, actions, button, section
from postroom_bot.ui.markup import Message, escape, joined, mentions
from postroom_bot.ui.phrases import MARKUP, PLAIN, Style

ANOTHER = "Use `/email password` to make another."
_LOOKING = "I am looking into it and will tell you what becomes of it."
_READY = "Make the new password when you are ready to copy it: it is shown once, to you alone."


def received(request: Request) -> Message:
    """Answer the person who has just asked; only they see it."""
    return Message(
        joined(
            [
                phrases.headline(request, MARKUP),
                _LOOKING,
                f"`{commands.COMMAND} status {request.id}` shows how it stands.",
            ]
        )
    )


def taken(request: Request) -> str:
    """Return what a window says of what has just been asked for."""
    deed = phrases.deed(request, MARKUP, phrases.YOURS)
    return f"Request {request.id}: {deed}. {_LOOKING}"


def progress(request: Request, votes: Sequence[Vote] = ()) -> Message:
    """Tell the requester how the request stands now; a pending one can be cancelled by a button.

    Of an approved new password this tells whoever is to make it, by a button, and who asked for it.
    """
    plain, blocks = [_told(request, votes, PLAIN)], [section(_told(request, votes, MARKUP))]
    if request.state is State.PENDING:
        plain.append("Button: Cancel, which takes it back.")
        blocks.append(actions(cancel_button(request)))
    if _is_to_be_made(request):
        plain.append(f"{_READY} Button: Make it, which asks you once more.")
        blocks += [section(_READY), actions(_password_button(request))]
    return Message(joined(plain), blocks)


def _is_own_failed(request: Request) -> bool:
    own = request.change.action is Action.PASSWORD and not request.quorum
    return own and request.state is State.FAILED


def _is_to_be_made(request: Request) -> bool:
    return request.change.action is Action.PASSWORD and request.state is State.APPROVED


def _told(request: Request, votes: Sequence[Vote], style: Style) -> str:
    told = f"{phrases.headline(request, style)} {phrases.status_text(request, votes, style)}"
    told += phrases.in_the_way(request, style)
    if request.state is State.DONE:
        told += phrases.ending(request, style)
    if _is_own_failed(request):
        told += f" {style.sentence(ANOTHER)}"
    if _is_to_be_made(request):
        told += f" {style.person(request.requester)} asked for it."
    return told


def cancel_button(request: Request) -> Block:
    """Return the button by which a requester takes a request back."""
    return button(
        "Cancel",
        ids.REQUEST_CANCEL,
        says=f"Cancel request {request.id}",
        value=request.id,
    )


def reminder(
    request: Request, votes: Sequence[Vote] = (), *, link: str, approvers: Sequence[str] = ()
) -> Message:
    """Remind approvers of a pending request, in the channel that has its card.

    :param link: to the card
    :param approvers: ids of the Slack users and user groups to mention
    """
    return Message(
        joined(
            [
                *([mentions(approvers)] if approvers else []),
                f"{phrases.title(request, MARKUP)} still waits: {phrases.deed(request, MARKUP)}.",
                phrases.status_text(request, votes, MARKUP),
                f"Approve or deny it on <{escape(link)}|its card>.",
            ]
        )
    )


def ending(request: Request) -> Message:
    """Tell the requester that an alias or a forwarder ends soon, with a button to extend it."""
    said = [
        f"{phrases.headline(request, style)}{phrases.ending(request, style)}"
        for style in (PLAIN, MARKUP)
    ]
    extend = button(
        "Extend by 30 days",
        ids.REQUEST_EXTEND,
        says=f"Ask for 30 more days for request {request.id}",
        value=request.id,
    )
    text = joined([said[0], "Button: Extend by 30 days, which asks for it."])
    return Message(text, [section(said[1]), actions(extend)])


def owner_notice(request: Request, votes: Sequence[Vote] = ()) -> Message:
    """Tell the owner of a mailbox that its password has been made anew, and who did it."""
    mailbox = MARKUP.quote(request.change.target or request.requester_mailbox or "")
    who = MARKUP.person(request.requester)
    if request.change.target in ("", request.requester_mailbox):
        who = f"Your Slack account ({who})"
    return Message(
        joined(
            [
                f"A new password was made for your mailbox {mailbox}. {who} asked for it.",
                *phrases.approved(request, votes, MARKUP),
                f"The old one no longer works. {phrases.title(request, MARKUP)}.",
                "If you did not expect this, tell your mail administrators at once.",
            ]
        )
    )


def audit_notice(
    request: Request, votes: Sequence[Vote] = (), *, names: Mapping[str, str] | None = None
) -> Message:
    """Tell the audit channel how a request stands.

    :param names: from Slack users' ids, their names, for the text that is read out
    """
    return Message(
        joined(_audited(request, votes, phrases.plain(names or {}))),
        [section(" ".join(_audited(request, votes, MARKUP)))],
    )


def _audited(request: Request, votes: Sequence[Vote], style: Style) -> list[str]:
    mailbox = request.requester_mailbox
    own = f" ({style.quote(mailbox)})" if mailbox else ""
    return [
        f"{phrases.title(request, style)} by {style.person(request.requester)}{own}:",
        f"{phrases.deed(request, style)}.",
        *phrases.all_destinations(request.change, style),
        *phrases.approved(request, votes, style),
        phrases.status_text(request, votes, style),
        *([f"Rule: {style.quote(request.rule)}."] if request.rule else []),
    ]


def _password_button(request: Request) -> Block:
    return button(
        "Make it",
        ids.PASSWORD_SHOW,
        says=f"Make the new password of request {request.id}",
        value=request.id,
        style="primary",
    )
