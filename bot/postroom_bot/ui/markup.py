# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Slack markup: messages, and how text from outside gets into them.

Text from outside passes through one of these functions. Each returns one line of bounded length in
which `& < >` are escaped, so that no input can add a mention, a link or a line of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

#: Slack recommends at most this for a message's text, and cuts far longer ones.
TEXT_LIMIT = 4000
MAX_ADDRESS = 254
_MAX_SENTENCE = 1000

_USER = re.compile(r"[UW][A-Z0-9]+")
_USERGROUP = re.compile(r"S[A-Z0-9]+")
_CHANNEL = re.compile(r"[CDG][A-Z0-9]+")
_PIECE = re.compile(r"&\w+;|<[^<>]*>|.", re.DOTALL)


class Message(NamedTuple):
    """A Slack message.

    :param text: the whole message, including what its buttons do: screen readers and notifications
        use nothing else
    :param blocks: what people see instead of the text, if given
    """

    text: str
    blocks: Sequence[dict[str, Any]] = ()


def escape(text: str) -> str:
    """Return text without mentions, links or entities."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def one_line(text: str, limit: int) -> str:
    """Return text, not yet escaped, as one line of at most ``limit`` characters."""
    # Characters that aren't printable can be invisible or reverse the direction of writing.
    visible = (
        " " if character.isspace() else character
        for character in text
        if character.isspace() or character.isprintable()
    )
    line = " ".join("".join(visible).split())
    return line if len(line) <= limit else line[: limit - 3] + "..."


def code(text: str) -> str:
    """Return an address or another name as inline code, without links or formatting."""
    # Inline code can't contain a backtick.
    return f"`{escape(one_line(text, MAX_ADDRESS)).replace('`', chr(0x02CB))}`"


def plain(text: str) -> str:
    """Return a name without formatting."""
    return escape(one_line(text, MAX_ADDRESS))


def sentence(text: str) -> str:
    """Return a sentence in which backticks mark addresses."""
    return escape(one_line(text, _MAX_SENTENCE))


def mention(user: str) -> str:
    """Return a mention of a Slack user."""
    return f"<@{user}>" if _USER.fullmatch(user) else plain(user)


def mentions(ids: Iterable[str]) -> str:
    """Return a line that notifies Slack users and user groups."""
    return " ".join(f"<!subteam^{id}>" if _USERGROUP.fullmatch(id) else mention(id) for id in ids)


def channel(identifier: str) -> str:
    """Return a link to a Slack channel."""
    return f"<#{identifier}>" if _CHANNEL.fullmatch(identifier) else plain(identifier)


def time(at: datetime) -> str:
    """Return a time that Slack shows in each reader's own time zone."""
    utc = at.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")
    return f"<!date^{int(at.timestamp())}^{{date_short_pretty}} at {{time}}|{utc}>"


def count(number: int, singular: str, plural: str | None = None) -> str:
    """Return "1 approval" or "2 approvals"."""
    return f"{number} {singular if number == 1 else plural or singular + 's'}"


def enumerate_items(items: Sequence[str]) -> str:
    """Return "a", "a and b" or "a, b and c"."""
    if len(items) < 2:
        return "".join(items)
    return f"{', '.join(items[:-1])} and {items[-1]}"


def cut(text: str, limit: int) -> str:
    """Return markup of at most ``limit`` characters, without cutting an entity or a link in two."""
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
