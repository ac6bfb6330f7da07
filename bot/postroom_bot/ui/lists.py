# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Answers that list something; only the person who asked sees them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from postroom_bot.domain import Request
from postroom_bot.ui import commands, phrases
from postroom_bot.ui.blocks import Block, section, verbatim
from postroom_bot.ui.markup import (
    TEXT_LIMIT,
    Message,
    address,
    bare,
    counted,
    cut,
    listed,
    one_line,
)
from postroom_bot.ui.phrases import MARKUP

_MAX_RECORDS = 20
_MAX_VALUE = 3000
# For the line that says how many are missing.
_ROOM = 40


class Record(Protocol):
    """A DNS record: its type, its name within the domain ("@" for the domain itself), its value."""

    @property
    def type(self) -> str:
        """Such as ``MX``."""

    @property
    def host(self) -> str:
        """Such as ``@`` or ``mail._domainkey``."""

    @property
    def value(self) -> str:
        """As it is entered, without quotes."""

    @property
    def priority(self) -> int | None:
        """For an MX record."""


def command_list() -> Message:
    """List what can be typed."""
    return Message(_bounded(commands.lines()))


def alias_list(mailbox: str, aliases: Sequence[str]) -> Message:
    """List the addresses of a mailbox."""
    if not aliases:
        return Message(f"{address(mailbox)} has no other addresses.")
    head = f"{address(mailbox)} has {counted(len(aliases), 'more address', 'more addresses')}:"
    return Message(_bounded([head, *map(address, sorted(aliases))]))


def forward_list(forwards: Sequence[tuple[str, Sequence[str]]]) -> Message:
    """List addresses, each with what its mail goes on to."""
    if not forwards:
        return Message("No address is forwarded.")
    return Message(_bounded(_forward(*one) for one in sorted(forwards)))


def request_list(requests: Sequence[Request]) -> Message:
    """List the person's requests, in the given order."""
    if not requests:
        return Message("You have no requests.")
    return Message(_bounded(_request(request) for request in requests))


def dns_records(domain: str, records: Sequence[Record]) -> Message:
    """Show the records that a domain needs, each value fit to be copied."""
    if not records:
        return Message(f"{address(domain)} needs no DNS records.")
    head = f"{address(domain)} needs {counted(len(records), 'DNS record')}."
    shown = records[:_MAX_RECORDS]
    text = [head, *(f"{_record(record)} {_said(record)}" for record in shown)]
    blocks = [section(head), *(block for record in shown for block in _record_blocks(record))]
    if len(records) > len(shown):
        more = f"The first {len(shown)} are shown."
        text.append(more)
        blocks.append(section(more))
    return Message(_bounded(text), blocks)


def _forward(source: str, destinations: Sequence[str]) -> str:
    to = listed([address(one) for one in sorted(destinations)]) or "nobody"
    return f"{address(source)} goes on to {to}."


def _request(request: Request) -> str:
    status_text = phrases.status_text(request, None, MARKUP)
    trouble = phrases.in_the_way(request, MARKUP)
    return f"{phrases.headline(request, MARKUP)} {status_text}{trouble}"


def _record(record: Record) -> str:
    priority = "" if record.priority is None else f", priority {record.priority}"
    return f"{bare(record.type)} record for {address(record.host)}{priority}:"


def _said(record: Record) -> str:
    return address(record.value)


def _record_blocks(record: Record) -> list[Block]:
    return [section(_record(record)), verbatim(one_line(record.value, _MAX_VALUE))]


def _bounded(lines: Iterable[str]) -> str:
    """Join as many lines as a message takes and say how many are left out."""
    waiting = list(lines)
    kept: list[str] = []
    room = TEXT_LIMIT - _ROOM
    while waiting and len(waiting[0]) < room:
        room -= len(waiting[0]) + 1
        kept.append(waiting.pop(0))
    if waiting:
        kept.append(f"And {len(waiting)} more.")
    return cut("\n".join(kept), TEXT_LIMIT)
