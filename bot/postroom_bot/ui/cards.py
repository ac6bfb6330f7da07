# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The card of a request: what approvers see, from the first question to how it ended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from postroom_bot.domain import Request, State, Vote
from postroom_bot.ui import ids, phrases
from postroom_bot.ui.blocks import Block, actions, button, section, sections
from postroom_bot.ui.markup import Message, joined, mentions
from postroom_bot.ui.phrases import MARKUP, Style

_BUTTONS = "Buttons: Approve, and Deny, which asks you for a reason."
_DRAFT = "The buttons follow. If they do not appear, use the later card of this request."


def card(
    request: Request,
    votes: Sequence[Vote],
    *,
    names: Mapping[str, str],
    approvers: Sequence[str] = (),
    draft: bool = False,
) -> Message:
    """Return the card for the state that a request is in; only a pending one has buttons.

    :param votes: all of the request's votes; those that don't count are left out
    :param names: from Slack users' ids, their names, for the text that is read out
    :param approvers: ids of the Slack users and user groups to mention while it is pending
    :param draft: whether to leave out the buttons of a pending one
    """
    plain = phrases.plain(names)
    text = [*_asked(request, plain), *_warned(request, plain), *_stands(request, votes, plain)]
    blocks = [
        *sections(_asked(request, MARKUP)),
        *sections(_warned(request, MARKUP)),
        *sections(_stands(request, votes, MARKUP)),
    ]
    if request.state is State.PENDING:
        if approvers:
            blocks.append(section(mentions(approvers)))
        text.append(_DRAFT if draft else _BUTTONS)
        blocks.append(section(_DRAFT) if draft else _buttons(request))
    return Message(joined(text), blocks)


def _asked(request: Request, style: Style) -> list[str]:
    """Say who asks for what, and why."""
    mailbox = request.requester_mailbox
    who = style.person(request.requester) + (f" ({style.quote(mailbox)})" if mailbox else "")
    asks = f"{who} asks to {phrases.deed(request, style)}."
    if request.origin == "expiry":
        asks = f"The time that {who} asked for is over: {phrases.deed(request, style)}."
    reason = request.change.reason
    return [
        asks,
        *phrases.all_destinations(request.change, style),
        *([f"Reason: {style.quote(reason)}."] if reason else []),
    ]


def _warned(request: Request, style: Style) -> list[str]:
    """Say what approvers have to know."""
    mark = style.strong("Warning:")
    return [f"{mark} {style.sentence(warning)}" for warning in request.warnings]


def _stands(request: Request, votes: Sequence[Vote], style: Style) -> list[str]:
    """Say which request it is, who approved, and what has become of it."""
    return [
        *phrases.approved(request, votes, style),
        f"{phrases.title(request, style)}: {phrases.status_text(request, votes, style)}",
    ]


def _buttons(request: Request) -> Block:
    return actions(
        button(
            "Approve",
            ids.REQUEST_APPROVE,
            says=f"Approve request {request.id}",
            value=request.id,
            style="primary",
        ),
        button(
            "Deny",
            ids.REQUEST_DENY,
            says=f"Deny request {request.id} and say why",
            value=request.id,
            style="danger",
        ),
    )
