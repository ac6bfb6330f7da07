# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Lists that only the person who asked for them sees, and the Home tab."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from postroom_bot.domain import FOLLOWING, Person, Reason, Request, State
from postroom_bot.ui import messages, notifications
from postroom_bot.ui.markup import (
    TEXT_LIMIT,
    Block,
    Message,
    View,
    code,
    count,
    cut,
    enumerate_items,
    header,
    mention,
    one_line,
    plain,
    section,
    sections,
    verbatim,
)
from postroom_bot.ui.parser import help_lines
from postroom_bot.ui.views import form_buttons

_MAX_RECORDS = 20
_MAX_VALUE = 3000
# Characters to reserve for the line that counts the omitted items.
_ROOM = 40
# The limits of the Home tab.
_MAX_ALIASES = 50
_MAX_REQUESTS = 10


def command_list() -> Message:
    """List the commands."""
    return Message(_bounded(help_lines()))


def alias_list(mailbox: str, aliases: Sequence[str]) -> Message:
    """List the addresses of a mailbox."""
    if not aliases:
        return Message(f"{code(mailbox)} has no other addresses.")
    head = f"{code(mailbox)} has {count(len(aliases), 'more address', 'more addresses')}:"
    return Message(_bounded([head, *map(code, sorted(aliases))]))


def forward_list(forwards: Sequence[tuple[str, Sequence[str]]]) -> Message:
    """List the forwarders, each with its destinations."""
    if not forwards:
        return Message("No address is forwarded.")
    return Message(
        _bounded(
            f"{code(source)} forwards to "
            f"{enumerate_items([code(one) for one in sorted(destinations)]) or 'no address'}."
            for source, destinations in sorted(forwards)
        )
    )


def request_list(requests: Sequence[Request]) -> Message:
    """List the person's requests in the given order."""
    if not requests:
        return Message("You have no requests.")
    return Message(_bounded(map(notifications.summary, requests)))


def dns_records(domain: str, records: Sequence[Mapping[str, Any]]) -> Message:
    """List the DNS records that a domain needs, with values that can be copied.

    :param records: mappings with ``type``, ``value``, ``host`` (relative to the domain) and, for
        MX records, ``priority``
    """
    if not records:
        return Message(f"{code(domain)} needs no DNS records.")
    text = [f"{code(domain)} needs {count(len(records), 'DNS record')}."]
    blocks = [section(text[0])]
    for record in records[:_MAX_RECORDS]:
        priority = f", priority {record['priority']}" if "priority" in record else ""
        head = f"{plain(record['type'])} record for {code(record['host'])}{priority}:"
        text.append(f"{head} {code(record['value'])}")
        blocks += [section(head), verbatim(one_line(record["value"], _MAX_VALUE))]
    if len(records) > _MAX_RECORDS:
        more = f"Only the first {_MAX_RECORDS} are shown."
        text.append(more)
        blocks.append(section(more))
    return Message(_bounded(text), blocks)


def _bounded(lines: Iterable[str]) -> str:
    """Join as many lines as fit into a message, and append the number of omitted lines."""
    waiting = list(lines)
    kept: list[str] = []
    room = TEXT_LIMIT - _ROOM
    while waiting and len(waiting[0]) < room:
        room -= len(waiting[0]) + 1
        kept.append(waiting.pop(0))
    if waiting:
        kept.append(f"And {len(waiting)} more.")
    return cut("\n".join(kept), TEXT_LIMIT)


def home(
    person: Person,
    aliases: Sequence[str] | None,
    requests: Sequence[Request],
    approvals: Sequence[Request],
) -> View:
    """Return a person's Home tab.

    :param aliases: the aliases of their mailbox; None if the mail service did not answer
    :param requests: their open requests
    :param approvals: the pending requests that they may approve
    """
    title = header("My mail")
    if person.obstacle:
        return {"type": "home", "blocks": [title, section(messages.text(person.obstacle))]}
    if person.mailbox is None:
        lines = [messages.text(person.mailbox_obstacle or Reason("mailbox.unknown"))]
    elif aliases is None:
        lines = [
            f"Your mailbox: {code(person.mailbox)}",
            "Its other addresses are not available right now. Open this tab again later.",
        ]
    else:
        shown = [f"Also: {code(alias)}" for alias in sorted(aliases)[:_MAX_ALIASES]]
        lines = [f"Your mailbox: {code(person.mailbox)}", *shown]
        if len(aliases) > _MAX_ALIASES:
            lines.append(f"And {len(aliases) - _MAX_ALIASES} more.")
    blocks = [title, *sections(lines), form_buttons(), header("My open requests")]
    for request in requests[:_MAX_REQUESTS]:
        blocks.append(section(notifications.summary(request)))
        if State.CANCELLED in FOLLOWING.get(request.state, ()):
            buttons = [notifications.cancel_button(request)]
            blocks.append({"type": "actions", "elements": buttons})
    blocks += _remainder(requests, "You have no open requests.")
    blocks.append(header("Waiting for my approval"))
    for request in approvals[:_MAX_REQUESTS]:
        # A request can only be approved on its card.
        where = f" Its card is in <#{request.card.channel}>." if request.card else ""
        asks = f"{mention(request.requester)} asks to {notifications.change_text(request)}"
        blocks.append(section(f"{notifications.title(request)}: {asks}.{where}"))
    blocks += _remainder(approvals, "No request is waiting for your approval.")
    return {"type": "home", "blocks": blocks}


def _remainder(requests: Sequence[Request], none: str) -> list[Block]:
    """Return a section with a text for no requests or with the number of omitted ones."""
    if not requests:
        return [section(none)]
    more = len(requests) - _MAX_REQUESTS
    return [section(f"And {more} more.")] if more > 0 else []
