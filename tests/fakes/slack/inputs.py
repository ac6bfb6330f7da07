# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The interactive elements of the bot's blocks: their state, and the actions that they send.

The bot uses buttons, text inputs and date pickers; others are not implemented.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .records import Block, CannotDo, Payload

#: For each type of input, the field of its state and the element's field for the initial value.
_STATE = {
    "plain_text_input": ("value", "initial_value"),
    "datepicker": ("selected_date", "initial_date"),
}


def elements(block: Block) -> Iterator[Payload]:
    """Yield the interactive elements of a block."""
    if block["type"] == "input":
        yield block["element"]
    elif block["type"] == "actions":
        yield from block["elements"]
    elif "action_id" in block.get("accessory", {}):
        yield block["accessory"]


def find(blocks: list[Block], action_id: str) -> tuple[Block, Payload]:
    """Return an element and its block.

    :raises CannotDo: no block has such an element
    """
    shown = [(block, element) for block in blocks for element in elements(block)]
    for block, element in shown:
        if element.get("action_id") == action_id:
            return block, element
    known = sorted(str(element.get("action_id")) for _block, element in shown)
    raise CannotDo(f"no element has action_id {action_id!r}, only {known}")


def initial_values(blocks: list[Block]) -> dict[str, dict[str, Payload]]:
    """Return the state of a view that was just opened."""
    state: dict[str, dict[str, Payload]] = {}
    for block in blocks:
        for element in elements(block):
            if element["type"] in _STATE and "action_id" in element:
                name, initial = _STATE[element["type"]]
                value = {"type": element["type"], name: element.get(initial)}
                state.setdefault(block["block_id"], {})[element["action_id"]] = value
    return state


def is_input(element: Payload) -> bool:
    """Return True if an element has a state."""
    return element["type"] in _STATE


def filled_in(element: Payload, value: str | None) -> Payload:
    """Return the state of an element with a value.

    :raises CannotDo: Slack's form does not accept the value
    """
    limits = range(element.get("min_length", 0), element.get("max_length", 3000) + 1)
    if value and len(value) not in limits:
        raise CannotDo(f"{element['action_id']}: the form does not accept a text of this length")
    return {"type": element["type"], _STATE[element["type"]][0]: value or None}


def value_of(state: Payload) -> Any:
    """Return what a state holds, or None."""
    return state[_STATE[state["type"]][0]]


def pressed(block: Block, element: Payload, value: Any, at: str) -> Payload:
    """Return an entry of the `actions` of a `block_actions` payload."""
    action = {
        "type": element["type"],
        "action_id": element["action_id"],
        "block_id": block["block_id"],
        "action_ts": at,
    }
    if is_input(element):
        return {**action, **filled_in(element, value)}
    return {
        **action,
        **{name: element[name] for name in ("text", "value", "style") if name in element},
    }
