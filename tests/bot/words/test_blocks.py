# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Building blocks fit into Slack's limits, whatever goes into them."""

from __future__ import annotations

from ansible_collections.postroom.email.tests.bot.words import drawn
from postroom_bot.words import blocks
from postroom_bot.words.message import Message


def test_long_paragraphs_are_cut() -> None:
    """A paragraph takes 3000 characters; no entity is halved at its end."""
    block = blocks.section("&amp;" * 1000)
    assert block["text"]["text"] == "&amp;" * 599 + "..."
    drawn.check(Message("Long.", [block]))


def test_nothing_is_shown_as_something() -> None:
    """Slack takes no empty text."""
    drawn.check(Message("Empty.", [blocks.section(""), blocks.verbatim("")]))


def test_lines_stay_whole() -> None:
    """Lines share paragraphs as long as there is room, and none is cut in two."""
    found = blocks.sections(["a" * 1000] * 7)
    assert [block["text"]["text"].count("\n") for block in found] == [1, 1, 1, 0]
    drawn.check(Message("Lines.", found))


def test_buttons() -> None:
    """What a button does is said in as many characters as Slack takes."""
    button = blocks.button("Go", "go", says="x" * 100, value="R-7K2M", style="danger")
    drawn.check(Message("Go.", [blocks.actions(button)]))
    assert "value" not in blocks.button("Go", "go", says="Go")
