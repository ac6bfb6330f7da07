# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The lists, which are visible only to the person who requested them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from postroom_bot.domain import Request
from postroom_bot.ui import request_messages
from postroom_bot.ui.markup import (
    TEXT_LIMIT,
    Message,
    code,
    count,
    cut,
    enumerate_items,
    escaped_line,
    one_line,
    section,
    verbatim,
)
from postroom_bot.ui.parser import help_lines

_MAX_RECORDS = 20
_MAX_VALUE = 3000
# Characters to reserve for the line that counts the omitted items.
_ROOM = 40


def command_list() -> Message:
    """List the commands."""
    return Message(_bounded(help_lines()))


def alias_list(mailbox: str, aliases: Sequence[str]) -> Message:
    """List the addresses of a mailbox."""
    if not aliases:
        return Message(f"{code(mailbox)} has no other addresses.")
    head = f"{code(mailbox)} has {count(len(aliases), 'other address', 'other addresses')}:"
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
    return Message(_bounded(map(request_messages.summary, requests)))


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
        head = f"{escaped_line(record['type'])} record for {code(record['host'])}{priority}:"
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
