# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Messages, modals and homes as text for a terminal.

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
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime

from ansible_collections.postroom.email.tests.fakes.slack.inputs import FIELDS, is_empty
from ansible_collections.postroom.email.tests.fakes.slack.records import (
    Block,
    Message,
    Payload,
    View,
)

WIDTH = 76
#: From a user's id, the name to show.
Names = Mapping[str, str]

_BRACKETS = re.compile(r"<([^<>|]+)(?:\|([^<>]*))?>")
_BOLD = re.compile(r"(?<!\w)\*([^*\n]+)\*(?!\w)")


def draw_message(message: Message, *, names: Names) -> str:
    """Draw a message in a box, with who says it, when, and who alone sees it."""
    at = datetime.fromtimestamp(float(message.ts), tz=UTC)
    heading = f"{names.get(message.author, message.author)}  {at:%H:%M}"
    if message.only_for:
        heading += "  (only visible to you)"
    if len(message.editions) > 1:
        heading += "  (edited)"
    blocks = message.blocks or [{"type": "section", "text": {"text": message.text}}]
    return f"{heading}\n{_box(_drawn(blocks, {}, {}, names))}"


def draw_view(view: View, *, names: Names) -> str:
    """Draw a modal with its title and its buttons, or a home."""
    lines = _drawn(view.blocks, view.values, view.errors, names)
    if view.trouble:
        lines += ["", "We had some trouble connecting. Try again?"]
    buttons = [_text(view.content[name], names) for name in ("close", "submit") if _has(view, name)]
    if buttons:
        lines += ["", " ".join(f"[{label}]" for label in buttons).rjust(WIDTH - 4)]
    title = _text(view.content["title"], names) if _has(view, "title") else "Home"
    return _box(lines, title)


def plain(text: str, names: Names) -> str:
    """Return Slack's markup as text that reads well: names, dates and links written out."""

    def written(match: re.Match[str]) -> str:
        target, label = match[1], match[2]
        if target.startswith("@"):
            return f"@{names.get(target[1:], label or target[1:])}"
        return label or target.removeprefix("mailto:")

    return html.unescape(_BOLD.sub(r"\1", _BRACKETS.sub(written, text)))


def _has(view: View, name: str) -> bool:
    return bool(view.content.get(name))


def _drawn(
    blocks: list[Block],
    values: Mapping[str, Mapping[str, Payload]],
    errors: Mapping[str, str],
    names: Names,
) -> list[str]:
    """Return the lines of all blocks, with what is filled in and what is wrong with it."""
    lines: list[str] = []
    for block in blocks:
        if lines:
            lines.append("")
        if block["type"] == "input":
            state = values.get(block["block_id"], {}).get(block["element"]["action_id"])
            lines += _input(block, state, errors.get(block["block_id"], ""), names)
        else:
            lines += _DRAWERS[block["type"]](block, names)
    return lines


def _section(block: Block, names: Names) -> list[str]:
    texts = [block["text"]] if "text" in block else []
    lines = [line for text in (*texts, *block.get("fields", ())) for line in _wrapped(text, names)]
    if "accessory" in block:
        lines.append(_pressable(block["accessory"], names))
    return lines


def _header(block: Block, names: Names) -> list[str]:
    title = _text(block["text"], names)
    return [title, "=" * len(title)]


def _context(block: Block, names: Names) -> list[str]:
    texts = [element for element in block["elements"] if "text" in element]
    return [line for text in texts for line in _wrapped(text, names)]


def _divider(block: Block, names: Names) -> list[str]:
    return ["-" * (WIDTH - 4)]


def _actions(block: Block, names: Names) -> list[str]:
    """Draw buttons side by side, in as many rows as they need."""
    rows: list[str] = []
    for button in (_pressable(element, names) for element in block["elements"]):
        if rows and len(rows[-1]) + len(button) < WIDTH - 4:
            rows[-1] += f" {button}"
        else:
            rows.append(button)
    return rows


def _rich_text(block: Block, names: Names) -> list[str]:
    """Draw what is to be copied as it is, a little to the right."""
    pieces = (piece for part in block["elements"] for piece in part["elements"])
    return [f"    {line}" for piece in pieces for line in piece.get("text", "").splitlines()]


_DRAWERS: Mapping[str, Callable[[Block, Names], list[str]]] = {
    "section": _section,
    "header": _header,
    "context": _context,
    "divider": _divider,
    "actions": _actions,
    "rich_text": _rich_text,
}


def _input(block: Block, state: Payload | None, error: str, names: Names) -> list[str]:
    """Draw a field with its label, what is in it, its hint and what is wrong."""
    optional = " (optional)" if block.get("optional") else ""
    lines = [f"{_text(block['label'], names)}{optional}", f"  [ {_value(state, names)} ]"]
    if "hint" in block:
        lines += _indented(_text(block["hint"], names))
    if error:
        lines += _indented(f"! {plain(error, names)}")
    return lines


def _value(state: Payload | None, names: Names) -> str:
    """Return what is filled in."""
    if state is None or is_empty(state):
        return " " * 20
    value = state[FIELDS[state["type"]]]
    chosen = value if isinstance(value, list) else [value]
    return ", ".join(_text(one["text"], names) if isinstance(one, dict) else one for one in chosen)


def _pressable(element: Payload, names: Names) -> str:
    """Draw a button or a menu."""
    label = element.get("text") or element.get("placeholder") or {"text": "..."}
    return f"[{_text(label, names)}]"


def _text(text: Payload, names: Names) -> str:
    return plain(text["text"], names)


def _wrapped(text: Payload, names: Names) -> Iterator[str]:
    """Give the lines of a text, none wider than the box."""
    for line in _text(text, names).split("\n"):
        yield from _fitting(line)


def _indented(text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH - 6, initial_indent="  ", subsequent_indent="  ")


def _fitting(line: str) -> list[str]:
    """Return a line in as many as it takes; an empty one stays one."""
    return textwrap.wrap(line, WIDTH - 4, break_on_hyphens=False) or [""]


def _box(lines: list[str], title: str = "") -> str:
    """Put lines into a box; those that are still too wide stick out of it."""
    top = f"─ {title} ".ljust(WIDTH - 2, "─") if title else "─" * (WIDTH - 2)
    middle = (f"│ {line.ljust(WIDTH - 4)} │" for line in lines)
    return "\n".join((f"┌{top}┐", *middle, f"└{'─' * (WIDTH - 2)}┘"))
