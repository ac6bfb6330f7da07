# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Slack markup and blocks, and functions that make untrusted text safe to include.

Untrusted text must pass through `code` or `escaped_line`. Both functions return a single line of
limited length in which `& < >` are escaped, so that no input can add a mention, a link or another
line.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any, NamedTuple

from slack_sdk.models import blocks as models
from slack_sdk.models.views import View as ViewModel

#: The maximum length that Slack recommends for a message. Slack truncates much longer text.
TEXT_LIMIT = 4000
MAX_ADDRESS = 254
_MAX_SECTION = 3000
_MAX_TITLE = 24
_MAX_LABEL = 75
# Slack rejects empty text, and input may consist of invisible characters.
_EMPTY = "-"

#: The action id of the input in every field. Fields are distinguished by their block ids.
VALUE = "value"

Block = dict[str, Any]
View = dict[str, Any]

_USER = re.compile(r"[UW][A-Z0-9]+")
_USERGROUP = re.compile(r"S[A-Z0-9]+")
_PIECE = re.compile(r"&\w+;|<[^<>]*>|.", re.DOTALL)


#: Escapes text, so that Slack finds no mentions, links or entities in it.
escape = partial(html.escape, quote=False)


class Message(NamedTuple):
    """A Slack message.

    :param text: the complete message, including what its buttons do, because screen readers and
        notifications use only the text
    :param blocks: the blocks that Slack displays instead of the text, if any
    """

    text: str
    blocks: Sequence[Block] = ()


def one_line(text: str, limit: int) -> str:
    """Return unescaped text as one line of at most ``limit`` characters."""
    # Unprintable characters can be invisible or change the direction of text.
    visible = (
        " " if character.isspace() else character
        for character in text
        if character.isspace() or character.isprintable()
    )
    line = " ".join("".join(visible).split())
    return line if len(line) <= limit else line[: limit - 3] + "..."


def code(text: str) -> str:
    """Return an address or a name as inline code, without links or formatting."""
    # Inline code can't contain a backtick.
    return f"`{escape(one_line(text, MAX_ADDRESS)).replace('`', chr(0x02CB))}`"


def escaped_line(text: str) -> str:
    """Return a name without formatting."""
    return escape(one_line(text, MAX_ADDRESS))


def mention(user: str) -> str:
    """Return a mention of a Slack user."""
    return f"<@{user}>" if _USER.fullmatch(user) else escaped_line(user)


def mentions(ids: Iterable[str]) -> str:
    """Return a line that notifies Slack users and user groups."""
    return " ".join(f"<!subteam^{id}>" if _USERGROUP.fullmatch(id) else mention(id) for id in ids)


def time(at: datetime) -> str:
    """Return markup for a time, which Slack shows in each reader's own time zone."""
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
    """Truncate markup to ``limit`` characters, without splitting an entity or a link."""
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


def section(text: str) -> Block:
    """Return a paragraph of markup, in which Slack adds no automatic links."""
    markup = models.MarkdownTextObject(text=cut(text, _MAX_SECTION) or _EMPTY, verbatim=True)
    return models.SectionBlock(text=markup).to_dict()


def header(text: str) -> Block:
    """Return a heading."""
    return models.HeaderBlock(text=text).to_dict()


def sections(lines: Iterable[str]) -> list[Block]:
    """Return the lines in as few paragraphs as possible, without splitting a line."""
    texts: list[str] = []
    for line in lines:
        if texts and len(texts[-1]) + len(line) < _MAX_SECTION:
            texts[-1] += f"\n{line}"
        else:
            texts.append(line)
    return [section(text) for text in texts]


def button(label: str, action_id: str, description: str, value: str = "", style: str = "") -> Block:
    """Return a button.

    :param description: what the button does, for screen readers
    :param value: the id of a request
    :param style: "primary" or "danger"
    """
    return models.ButtonElement(
        text=label,
        action_id=action_id,
        accessibility_label=one_line(description, _MAX_LABEL),
        value=value or None,
        style=style or None,
    ).to_dict()


def message(lines: Iterable[str], *buttons: Block) -> Message:
    """Return a message with lines and buttons. Empty lines are omitted."""
    kept = [line for line in lines if line]
    described = [f"Button: {one['accessibility_label']}." for one in buttons]
    text = cut(" ".join([*kept, *described]), TEXT_LIMIT)
    row = [{"type": "actions", "elements": list(buttons)}] if buttons else []
    return Message(text, [*sections(kept), *row])


def verbatim(text: str) -> Block:
    """Return a block of text to copy, in which Slack interprets neither markup nor emoji."""
    piece = {"type": "text", "text": text or _EMPTY}
    return {
        "type": "rich_text",
        "elements": [{"type": "rich_text_preformatted", "elements": [piece]}],
    }


def modal(
    callback_id: str,
    title: str,
    blocks: Sequence[Block],
    *,
    submit: str = "",
    metadata: str = "",
) -> View:
    """Return a modal.

    :param submit: the label of the submit button; "" for no button
    :param metadata: text that Slack returns with the submission
    """
    return ViewModel(
        type="modal",
        callback_id=callback_id,
        title=one_line(title, _MAX_TITLE) or _EMPTY,
        close="Cancel" if submit else "Close",
        blocks=list(blocks),
        submit=submit or None,
        private_metadata=metadata or None,
    ).to_dict()
