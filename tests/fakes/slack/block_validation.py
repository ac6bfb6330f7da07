# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Checks whether Slack would accept a message or a view.

Slack's own models in slack_sdk check lengths. This module also checks for problems that those
models miss: unknown types and keys (which they drop), rows without buttons, duplicate IDs, and
inputs that can't be submitted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from slack_sdk.errors import SlackObjectFormationError
from slack_sdk.models.basic_objects import JsonObject
from slack_sdk.models.blocks import Block
from slack_sdk.models.views import View

from postroom_bot.ui.markup import TEXT_LIMIT, Message

_MAX_BLOCKS = 50
_MAX_ELEMENTS = 25
_MAX_INPUT = 3000


def problems(payload: Message | Mapping[str, Any]) -> list[str]:
    """Return one sentence per problem.

    :param payload: a view, or a message's text and blocks
    """
    content = dict(payload._asdict() if isinstance(payload, Message) else payload)
    blocks = list(content.get("blocks") or ())
    has_input = any(block.get("type") == "input" for block in blocks)
    found: list[str] = []
    if content.get("type") in View.types:
        found += _lost(partial(View, **content), content, "view")
        if content["type"] == "modal" and "title" not in content:
            found.append("The title is missing.")
        if content["type"] == "modal" and "submit" not in content and has_input:
            found.append("The modal has an input that can't be submitted.")
    else:
        length = len(content.get("text") or "")
        if not (content.get("text") or "").strip():
            found.append("The text is missing, which screen readers need.")
        if length > TEXT_LIMIT or len(blocks) > _MAX_BLOCKS:
            found.append(f"{length} characters or {len(blocks)} blocks are too many.")
        if has_input:
            found.append("The message has an input that can't be submitted.")
        for place, block in enumerate(blocks):
            found += _lost(partial(Block.parse, dict(block)), block, f"blocks[{place}]")
    found += _duplicates([block.get("block_id") for block in blocks])
    for block in blocks:
        found += _problems_of(block)
    return found


def _problems_of(block: Mapping[str, Any]) -> Iterator[str]:
    if block.get("type") == "actions":
        elements = block.get("elements") or ()
        if not 1 <= len(elements) <= _MAX_ELEMENTS:
            yield f"A row has {len(elements)} elements. Use 1 to {_MAX_ELEMENTS}."
        yield from _duplicates([element.get("action_id") for element in elements])
    element = block.get("element") or {}
    if element.get("type") == "plain_text_input":
        longest = element.get("max_length", _MAX_INPUT)
        if not 1 <= longest <= _MAX_INPUT or len(element.get("initial_value", "")) > longest:
            yield f"The length of an input is invalid: {longest}. Use 1 to {_MAX_INPUT}."


def _duplicates(ids: list[Any]) -> list[str]:
    counts = Counter(ids).items()
    return [f"The id {name} occurs twice." for name, times in counts if name and times > 1]


def _lost(parse: Callable[[], JsonObject | None], given: Any, path: str) -> Iterator[str]:
    """Parse with Slack's models, and yield what they reject or drop."""
    try:
        parsed = parse()
        read = parsed.to_dict() if parsed else None
    except (SlackObjectFormationError, TypeError) as error:
        yield f"{path} is invalid: {error}."
    else:
        yield from _differences(dict(given), read, path)


def _differences(given: Any, read: Any, path: str) -> Iterator[str]:
    if isinstance(given, Mapping) and isinstance(read, Mapping):
        for key, value in given.items():
            yield from _differences(value, read.get(key), f"{path}.{key}")
    elif isinstance(given, list | tuple) and isinstance(read, list) and len(given) == len(read):
        for place, (one, other) in enumerate(zip(given, read, strict=True)):
            yield from _differences(one, other, f"{path}[{place}]")
    elif given != read:
        yield f"{path} is unknown to Slack."
