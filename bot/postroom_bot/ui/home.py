# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The Home tab: a person's mailbox, their requests, and the requests that they may approve."""

from __future__ import annotations

from collections.abc import Sequence

from postroom_bot.domain import FOLLOWING, Person, Reason, Request, State
from postroom_bot.ui import request_messages
from postroom_bot.ui.markup import Block, View, code, header, mention, section, sections
from postroom_bot.ui.modals import form_buttons
from postroom_bot.ui.reason_texts import reason_text

_MAX_ALIASES = 50
_MAX_REQUESTS = 10


def home_tab(
    person: Person,
    aliases: Sequence[str] | None,
    requests: Sequence[Request],
    approvals: Sequence[Request],
) -> View:
    """Return a person's Home tab.

    :param aliases: the aliases of their mailbox; None if the mail service did not respond
    :param requests: their open requests
    :param approvals: the pending requests that they may approve
    """
    title = header("My mail")
    if person.obstacle:
        return {"type": "home", "blocks": [title, section(reason_text(person.obstacle))]}
    if person.mailbox is None:
        lines = [reason_text(person.mailbox_obstacle or Reason("mailbox.unknown"))]
    elif aliases is None:
        lines = [
            f"Your mailbox: {code(person.mailbox)}",
            "The other addresses are not available right now. Open this tab again later.",
        ]
    else:
        shown = [f"Also: {code(alias)}" for alias in sorted(aliases)[:_MAX_ALIASES]]
        lines = [f"Your mailbox: {code(person.mailbox)}", *shown]
        if len(aliases) > _MAX_ALIASES:
            lines.append(f"And {len(aliases) - _MAX_ALIASES} more.")
    blocks = [title, *sections(lines), form_buttons(), header("My open requests")]
    for request in requests[:_MAX_REQUESTS]:
        blocks.append(section(request_messages.summary(request)))
        if State.CANCELLED in FOLLOWING.get(request.state, ()):
            buttons = [request_messages.cancel_button(request)]
            blocks.append({"type": "actions", "elements": buttons})
    blocks += _remainder(requests, "You have no open requests.")
    blocks.append(header("Waiting for my approval"))
    for request in approvals[:_MAX_REQUESTS]:
        # A request can only be approved on its card.
        where = f" Its card is in <#{request.card.channel}>." if request.card else ""
        asks = f"{mention(request.requester)} asks to {request_messages.change_text(request)}"
        blocks.append(section(f"{request_messages.title(request)}: {asks}.{where}"))
    blocks += _remainder(approvals, "No requests are waiting for your approval.")
    return {"type": "home", "blocks": blocks}


def _remainder(requests: Sequence[Request], none: str) -> list[Block]:
    """Return the number of omitted requests, or the text `none` if the list is empty."""
    if not requests:
        return [section(none)]
    more = len(requests) - _MAX_REQUESTS
    return [section(f"And {more} more.")] if more > 0 else []
