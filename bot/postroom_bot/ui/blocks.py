# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Slack's building blocks, as plain data; texts are cut to what each of them takes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from postroom_bot.ui import ids
from postroom_bot.ui.markup import cut, one_line

Block = dict[str, Any]
View = dict[str, Any]

_MAX_SECTION = 3000
_MAX_LABEL = 75
# Slack takes no empty text; what people typed may come down to nothing visible.
_NOTHING = "-"


def plain_text(text: str) -> Block:
    """Return a text object in which nothing has a meaning."""
    return {"type": "plain_text", "text": text, "emoji": False}


def section(text: str) -> Block:
    """Return a paragraph of finished markup; Slack makes no links of its own in it."""
    markup = {"type": "mrkdwn", "text": cut(text, _MAX_SECTION) or _NOTHING, "verbatim": True}
    return {"type": "section", "text": markup}


def header(text: str) -> Block:
    """Return a headline of ours."""
    return {"type": "header", "text": plain_text(text)}


def sections(lines: Iterable[str]) -> list[Block]:
    """Return as few paragraphs as take all lines, none of them cut in two."""
    texts: list[str] = []
    for line in lines:
        if texts and len(texts[-1]) + len(line) < _MAX_SECTION:
            texts[-1] += f"\n{line}"
        else:
            texts.append(line)
    return [section(text) for text in texts]


def button(label: str, action_id: str, *, says: str, value: str = "", style: str = "") -> Block:
    """Return a button.

    :param says: what it does, for a screen reader
    :param value: a request's id
    :param style: "primary" or "danger"
    """
    found: Block = {
        "type": "button",
        "text": plain_text(label),
        "action_id": action_id,
        "accessibility_label": one_line(says, _MAX_LABEL),
    }
    if value:
        found["value"] = value
    if style:
        found["style"] = style
    return found


def actions(*buttons: Block) -> Block:
    """Return a row of buttons."""
    return {"type": "actions", "elements": list(buttons)}


def text_input(longest: int, *, many_lines: bool = False) -> Block:
    """Return a line to type in, or several."""
    return {"type": "plain_text_input", "max_length": longest, "multiline": many_lines}


def input_of(
    block_id: str, label: str, element: Block, *, hint: str, optional: bool = False
) -> Block:
    """Return a field of a form; the element takes the name that all of them have."""
    return {
        "type": "input",
        "block_id": block_id,
        "label": plain_text(label),
        "hint": plain_text(hint),
        "element": {**element, "action_id": ids.VALUE},
        "optional": optional,
    }


def verbatim(text: str) -> Block:
    """Return text to be copied, in which Slack reads neither markup nor emoji."""
    piece = {"type": "text", "text": text or _NOTHING}
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
    close: str = "Close",
    metadata: str = "",
) -> View:
    """Return a modal window.

    :param submit: the button that sends it; "" for none
    :param metadata: what comes back with it
    """
    found: View = {
        "type": "modal",
        "callback_id": callback_id,
        "title": plain_text(title),
        "close": plain_text(close),
        "blocks": list(blocks),
    }
    if submit:
        found["submit"] = plain_text(submit)
    if metadata:
        found["private_metadata"] = metadata
    return found
