# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Messages, and how text that people typed gets into them.

Slack's markup is made here and nowhere else. Text from outside passes through one of these
functions: each returns one line of bounded length in which `& < >` are escaped, so that nobody can
write a mention, a link or a line of their own into the bot's mouth.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

#: Slack recommends no more for a message's text, and cuts far longer ones.
TEXT_LIMIT = 4000
MAX_ADDRESS = 254
_MAX_SENTENCE = 1000

_USER = re.compile(r"[UW][A-Z0-9]+")
_USERGROUP = re.compile(r"S[A-Z0-9]+")
_CHANNEL = re.compile(r"[CDG][A-Z0-9]+")
_PIECE = re.compile(r"&\w+;|<[^<>]*>|.", re.DOTALL)


class Message(NamedTuple):
    """A message for Slack.

    :param text: all of it, what its buttons do included; where there are blocks, a screen reader
        and a notification say nothing else
    :param blocks: what people see; where there are none, they see the text
    """

    text: str
    blocks: Sequence[dict[str, Any]] = ()


def escape(text: str) -> str:
    """Return text in which nothing is a mention, a link or an entity."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def one_line(text: str, limit: int) -> str:
    """Return text, not yet escaped, as one line of at most ``limit`` characters."""
    # What is not printable can be invisible or turn the direction of writing round.
    visible = (
        " " if character.isspace() else character
        for character in text
        if character.isspace() or character.isprintable()
    )
    line = " ".join("".join(visible).split())
    return line if len(line) <= limit else line[: limit - 3] + "..."


def address(text: str) -> str:
    """Return an address or another name as code: escaped, never linked, never formatted."""
    # Nothing can stand for a grave accent within code.
    return f"`{escape(one_line(text, MAX_ADDRESS)).replace('`', chr(0x02CB))}`"


def bare(text: str) -> str:
    """Return an address or another name for a place without formatting."""
    return escape(one_line(text, MAX_ADDRESS))


def sentence(text: str) -> str:
    """Return a sentence from a row or a policy, whose backticks set off addresses."""
    return escape(one_line(text, _MAX_SENTENCE))


def mention(user: str) -> str:
    """Return a Slack user as everybody sees them by name."""
    return f"<@{user}>" if _USER.fullmatch(user) else bare(user)


def mentions(ids: Iterable[str]) -> str:
    """Return a line that notifies Slack users and user groups."""
    groups = "<!subteam^{}>".format
    return " ".join(groups(one) if _USERGROUP.fullmatch(one) else mention(one) for one in ids)


def channel(identifier: str) -> str:
    """Return a Slack channel as a link to it."""
    return f"<#{identifier}>" if _CHANNEL.fullmatch(identifier) else bare(identifier)


def when(at: datetime) -> str:
    """Return a time as everybody reads it in their own zone; without Slack, in UTC."""
    return f"<!date^{int(at.timestamp())}^{{date_short_pretty}} at {{time}}|{utc(at)}>"


def utc(at: datetime) -> str:
    """Return a time in UTC, for text that nothing translates."""
    return at.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")


def counted(number: int, one: str, many: str | None = None) -> str:
    """Return such as "1 approval" and "2 approvals"."""
    return f"{number} {one if number == 1 else many or one + 's'}"


def listed(items: Sequence[str]) -> str:
    """Return such as "a", "a and b" and "a, b and c"."""
    if len(items) < 2:
        return "".join(items)
    return f"{', '.join(items[:-1])} and {items[-1]}"


def cut(text: str, limit: int) -> str:
    """Return finished markup of at most ``limit`` characters, no entity and no link halved."""
    if len(text) <= limit:
        return text
    kept: list[str] = []
    room = limit - 3
    for piece in _PIECE.findall(text):
        room -= len(piece)
        if room < 0:
            break
        kept.append(piece)
    return "".join(kept) + "..."


def joined(parts: Iterable[str]) -> str:
    """Return a message's text made of finished sentences; empty ones are left out."""
    return cut(" ".join(part for part in parts if part), TEXT_LIMIT)
