# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The Home tab: a person's addresses and requests, and the requests waiting for their approval."""

from __future__ import annotations

from collections.abc import Sequence

from postroom_bot.domain import FOLLOWING, Person, Reason, Request, State
from postroom_bot.ui import messages
from postroom_bot.ui.blocks import Block, View, actions, header, section, sections
from postroom_bot.ui.markup import channel, code, mention
from postroom_bot.ui.notifications import cancel_button
from postroom_bot.ui.request_text import blocked_text, change_text, headline, status_text, title
from postroom_bot.ui.views import form_buttons

_MAX_ALIASES = 50
_MAX_REQUESTS = 10


def home(
    person: Person,
    aliases: Sequence[str] | None,
    requests: Sequence[Request],
    approvals: Sequence[Request],
) -> View:
    """Return the Home tab of a person.

    :param aliases: the other addresses of their mailbox; None if the mail service did not answer
    :param requests: their open requests
    :param approvals: the pending requests that they may approve
    """
    if person.obstacle:
        blocks = [section(messages.text(person.obstacle))]
    else:
        blocks = [
            *_mailbox(person, aliases),
            form_buttons(),
            header("My open requests"),
            *(block for request in requests[:_MAX_REQUESTS] for block in _own(request)),
            *_remainder(requests, "You have no open requests."),
            header("Waiting for my approval"),
            *(_to_approve(request) for request in approvals[:_MAX_REQUESTS]),
            *_remainder(approvals, "No request is waiting for your approval."),
        ]
    return {"type": "home", "blocks": [header("My mail"), *blocks]}


def _mailbox(person: Person, aliases: Sequence[str] | None) -> list[Block]:
    if person.mailbox is None:
        return [section(messages.text(person.mailbox_obstacle or Reason("mailbox.unknown")))]
    lines = [f"Your mailbox: {code(person.mailbox)}"]
    if aliases is None:
        lines.append("Its other addresses are not available right now. Open this tab again later.")
    else:
        lines += [f"Also: {code(alias)}" for alias in sorted(aliases)[:_MAX_ALIASES]]
        if len(aliases) > _MAX_ALIASES:
            lines.append(f"And {len(aliases) - _MAX_ALIASES} more.")
    return sections(lines)


def _own(request: Request) -> list[Block]:
    text = f"{headline(request)} {status_text(request)}{blocked_text(request)}"
    can_be_cancelled = State.CANCELLED in FOLLOWING.get(request.state, ())
    return [section(text), *([actions(cancel_button(request))] if can_be_cancelled else [])]


def _to_approve(request: Request) -> Block:
    """Return a request that can be approved on its card only."""
    where = f" Its card is in {channel(request.card.channel)}." if request.card else ""
    who = mention(request.requester)
    return section(f"{title(request)}: {who} asks to {change_text(request)}.{where}")


def _remainder(requests: Sequence[Request], none: str) -> list[Block]:
    """Return that there are none, or how many are not shown."""
    if not requests:
        return [section(none)]
    more = len(requests) - _MAX_REQUESTS
    return [section(f"And {more} more.")] if more > 0 else []
