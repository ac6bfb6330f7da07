# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The check of messages and views finds what Slack would refuse."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from postroom_bot.words.check import problems
from postroom_bot.words.message import Message

Block = dict[str, Any]


def plain(text: str) -> Block:
    """Return a plain text object."""
    return {"type": "plain_text", "text": text}


def section(text: str = "Hello.", **more: Any) -> Block:
    """Return a paragraph."""
    return {"type": "section", "text": plain(text), **more}


def button(action_id: str, text: str = "Press", **more: Any) -> Block:
    """Return a button."""
    return {"type": "button", "action_id": action_id, "text": plain(text), **more}


def actions(*elements: Block) -> Block:
    """Return a row of buttons."""
    return {"type": "actions", "elements": list(elements)}


def field(**more: Any) -> Block:
    """Return a field to type in."""
    element = {"type": "plain_text_input", "action_id": "value", **more}
    return {"type": "input", "block_id": "name", "label": plain("Name"), "element": element}


def modal(*blocks: Block, **more: Any) -> Block:
    """Return a modal."""
    return {"type": "modal", "title": plain("Email"), "blocks": list(blocks), **more}


def message(*blocks: Block, **more: Any) -> Block:
    """Return a message as it goes to Slack."""
    return {"channel": "C1", "text": "Hello.", "blocks": list(blocks), **more}


@pytest.mark.parametrize(
    "payload",
    [
        Message("Hello."),
        Message("Hello.", [section()]),
        message(),
        message(section(), actions(button("a"), button("b")), actions(button("a"))),
        modal(section()),
        modal(field(), submit=plain("Send")),
        {"type": "home", "blocks": [section()]},
    ],
)
def test_right_ones(payload: Message | Mapping[str, Any]) -> None:
    """Nothing is wrong with what Slack takes."""
    assert problems(payload) == []


WRONG: list[tuple[Message | Mapping[str, Any], str]] = [
    (Message(" "), "no text"),
    (message(text=None), "no text"),
    (message(text="x" * 4001), "4001 characters"),
    (message(*[section()] * 51), "51 blocks"),
    (message(field()), "an input"),
    (message({"type": "sectoin"}), "blocks[0] is nothing that Slack knows"),
    (message(section("x" * 3001)), "3000 characters"),
    (message(section(colour="red")), "blocks[0].colour is nothing that Slack knows"),
    (message(actions()), "0 elements"),
    (message(actions(*(button(f"b{place}") for place in range(26)))), "25"),
    (message(actions(button("a"), button("a"))), "action_id a occurs twice"),
    (message(actions(button("a", "x" * 76))), "75 characters"),
    (message(section(block_id="b"), section(block_id="b")), "block_id b occurs twice"),
    (modal(), "between 1 and 100 blocks"),
    (modal(*[section()] * 101), "between 1 and 100 blocks"),
    (modal(section(), title=plain("x" * 25)), "24 characters"),
    ({"type": "modal", "blocks": [section()]}, "no title"),
    (modal(field()), "no submit"),
    (modal(section(), private_metadata="x" * 3001), "private_metadata"),
    (modal(section(), colour="red"), "view.colour is nothing that Slack knows"),
    (modal({"type": "sectoin"}), "view.blocks[0] is nothing that Slack knows"),
    (modal(field(max_length=3001), submit=plain("Send")), "3001 characters"),
    (modal(field(max_length=2, initial_value="abc"), submit=plain("Send")), "more than it takes"),
    ({"type": "home", "blocks": [section()], "submit": plain("Send")}, "home view"),
]


@pytest.mark.parametrize(("payload", "said"), WRONG, ids=[said for _, said in WRONG])
def test_wrong_ones(payload: Message | Mapping[str, Any], said: str) -> None:
    """What Slack refuses, or silently drops, is found and said."""
    assert any(said in problem for problem in problems(payload)), problems(payload)
