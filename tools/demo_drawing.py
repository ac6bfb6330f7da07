# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Draw Slack's messages and modals as text for the demo.

Postroom  14:05
┌──────────────────────────────────────────┐
│ @alice asks to add `sales@example.com`.  │
│                                          │
│ [Approve] [Deny]                         │
└──────────────────────────────────────────┘
"""

from __future__ import annotations

import html
import re
import textwrap
from collections.abc import Mapping
from datetime import UTC, datetime

from ansible_collections.postroom.email.tests.fakes.slack.workspace_state import (
    Block,
    Message,
    Payload,
    View,
)

WIDTH = 76
#: Names of users, keyed by ID.
Names = Mapping[str, str]

_BRACKETS = re.compile(r"<([^<>|]+)(?:\|([^<>]*))?>")
_BOLD = re.compile(r"(?<!\w)\*([^*\n]+)\*(?!\w)")


def draw_message(message: Message, *, names: Names) -> str:
    """Return a drawing of a message with its author and time."""
    at = datetime.fromtimestamp(float(message.ts), tz=UTC)
    heading = f"{names.get(message.author, message.author)}  {at:%H:%M}"
    if message.only_for:
        heading += "  (only visible to you)"
    if message.is_edited:
        heading += "  (edited)"
    blocks = message.blocks or [{"type": "section", "text": {"text": message.text}}]
    return f"{heading}\n{_box(_all_lines(blocks, names))}"


def draw_view(view: View, *, names: Names) -> str:
    """Return a drawing of a modal with its title and buttons. Inputs are not supported."""
    lines = _all_lines(view.blocks, names)
    labels = [
        _text(view.content[name], names) for name in ("close", "submit") if view.content.get(name)
    ]
    lines += ["", " ".join(f"[{label}]" for label in labels).rjust(WIDTH - 4)]
    return _box(lines, _text(view.content["title"], names))


def _all_lines(blocks: list[Block], names: Names) -> list[str]:
    lines: list[str] = []
    for block in blocks:
        lines += [""] if lines else []
        lines += _block(block, names)
    return lines


def _block(block: Block, names: Names) -> list[str]:
    kind = block["type"]
    lines: list[str] = []
    if kind in ("section", "context"):
        texts = [block["text"]] if "text" in block else []
        texts += [*block.get("elements", ()), *block.get("fields", ())]
        lines = [line for text in texts if "text" in text for line in _wrapped(text, names)]
        lines += [_button(block["accessory"], names)] if "accessory" in block else []
    elif kind == "actions":
        buttons = (_button(one, names).replace(" ", "\xa0") for one in block["elements"])
        rows = textwrap.wrap(" ".join(buttons), WIDTH - 4, break_on_hyphens=False)
        lines = [row.replace("\xa0", " ") for row in rows]
    elif kind == "rich_text":
        pieces = (piece for part in block["elements"] for piece in part["elements"])
        lines = [f"    {line}" for one in pieces for line in one.get("text", "").splitlines()]
    return lines


def _button(element: Payload, names: Names) -> str:
    return f"[{_text(element.get('text') or element.get('placeholder') or {'text': '...'}, names)}]"


def _text(text: Payload, names: Names) -> str:
    """Convert mrkdwn to plain text, with names for user IDs and labels for links."""

    def written(match: re.Match[str]) -> str:
        target, label = match[1], match[2]
        if target.startswith("@"):
            return f"@{names.get(target[1:], label or target[1:])}"
        return label or target.removeprefix("mailto:")

    return html.unescape(_BOLD.sub(r"\1", _BRACKETS.sub(written, text["text"])))


def _wrapped(text: Payload, names: Names) -> list[str]:
    return [
        part
        for line in _text(text, names).split("\n")
        for part in textwrap.wrap(line, WIDTH - 4, break_on_hyphens=False) or [""]
    ]


def _box(lines: list[str], title: str = "") -> str:
    top = f"─ {title} ".ljust(WIDTH - 2, "─") if title else "─" * (WIDTH - 2)
    middle = (f"│ {line.ljust(WIDTH - 4)} │" for line in lines)
    return "\n".join((f"┌{top}┐", *middle, f"└{'─' * (WIDTH - 2)}┘"))
