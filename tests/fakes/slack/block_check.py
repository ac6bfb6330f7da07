# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Whether Slack would take a message or a view, found out without Slack.

Slack's own models check lengths. What they let pass is checked here: blocks of unknown types and
keys (they drop both), empty actions, names that occur twice, an input that nothing sends.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from slack_sdk.errors import SlackObjectFormationError
from slack_sdk.models.blocks import Block
from slack_sdk.models.views import View

from postroom_bot.ui.markup import TEXT_LIMIT, Message

_MAX_BLOCKS = 50
_MAX_ELEMENTS = 25
_MAX_INPUT = 3000


def problems(payload: Message | Mapping[str, Any]) -> list[str]:
    """Return what is wrong with a message (text and blocks) or a view, a sentence each.

    A mapping with the type `modal` or `home` is a view, any other one a message; what a message's
    mapping holds besides text and blocks is not looked at.
    """
    if isinstance(payload, Message):
        payload = {"text": payload.text, "blocks": payload.blocks}
    blocks = list(payload.get("blocks") or ())
    own = _of_view(payload) if payload.get("type") in View.types else _of_message(payload, blocks)
    return [*own, *_of_names(blocks), *(said for block in blocks for said in _of_block(block))]


def _of_view(view: Mapping[str, Any]) -> Iterator[str]:
    try:
        read = View(**view).to_dict()
    except (SlackObjectFormationError, TypeError) as error:
        yield f"Not a view: {error}."
        return
    yield from _lost(dict(view), read, "view")
    is_modal = view["type"] == "modal"
    if is_modal and "title" not in view:
        yield "A modal has no title."
    if is_modal and "submit" not in view and _has_input(view["blocks"]):
        yield "A modal has an input, but no submit."


def _of_message(message: Mapping[str, Any], blocks: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    text = message.get("text") or ""
    if not text.strip():
        yield "A message has no text, so a screen reader says nothing."
    if len(text) > TEXT_LIMIT:
        yield f"A message's text has {len(text)} characters, more than {TEXT_LIMIT}."
    if len(blocks) > _MAX_BLOCKS:
        yield f"A message has {len(blocks)} blocks, more than {_MAX_BLOCKS}."
    if _has_input(blocks):
        yield "A message has an input, which nothing sends."
    for place, block in enumerate(blocks):
        try:
            parsed = Block.parse(dict(block))
            read = parsed.to_dict() if parsed else None
        except (SlackObjectFormationError, TypeError) as error:
            yield f"blocks[{place}] is not a block: {error}."
        else:
            yield from _lost(dict(block), read, f"blocks[{place}]")


def _lost(given: Any, read: Any, path: str) -> Iterator[str]:
    """Find what Slack's models dropped, so what is no part of the format."""
    if isinstance(given, Mapping) and isinstance(read, Mapping):
        for key, value in given.items():
            yield from _lost(value, read.get(key), f"{path}.{key}")
    elif isinstance(given, list | tuple) and isinstance(read, list) and len(given) == len(read):
        for place, (one, other) in enumerate(zip(given, read, strict=True)):
            yield from _lost(one, other, f"{path}[{place}]")
    elif given != read:
        yield f"{path} is nothing that Slack knows."


def _has_input(blocks: Iterable[Mapping[str, Any]]) -> bool:
    return any(block.get("type") == "input" for block in blocks)


def _of_names(blocks: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    for name in _twice(block.get("block_id") for block in blocks):
        yield f"The block_id {name} occurs twice."


def _of_block(block: Mapping[str, Any]) -> Iterator[str]:
    """Check one block alone."""
    if block.get("type") == "actions":
        elements = block.get("elements") or ()
        if not 1 <= len(elements) <= _MAX_ELEMENTS:
            yield f"Actions have {len(elements)} elements instead of 1 to {_MAX_ELEMENTS}."
        for name in _twice(element.get("action_id") for element in elements):
            yield f"The action_id {name} occurs twice in one block."
    if block.get("type") == "input":
        yield from _of_input(block.get("element") or {})


def _of_input(element: Mapping[str, Any]) -> Iterator[str]:
    if element.get("type") != "plain_text_input":
        return
    longest = element.get("max_length", _MAX_INPUT)
    if not 1 <= longest <= _MAX_INPUT:
        yield f"An input takes up to {longest} characters instead of 1 to {_MAX_INPUT}."
    if len(element.get("initial_value", "")) > longest:
        yield "An input begins with more than it takes."


def _twice(names: Iterable[Any]) -> list[Any]:
    return [name for name, times in Counter(names).items() if name is not None and times > 1]
