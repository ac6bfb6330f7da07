# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What people can fill in and press, and how Slack speaks of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ansible_collections.postroom.email.tests.fakes.slack.records import Block, CannotDo, Payload

#: The field of the state that holds what was filled in, by the element's type.
FIELDS = {
    "plain_text_input": "value",
    "email_text_input": "value",
    "number_input": "value",
    "url_text_input": "value",
    "datepicker": "selected_date",
    "static_select": "selected_option",
    "radio_buttons": "selected_option",
    "overflow": "selected_option",
    "checkboxes": "selected_options",
    "users_select": "selected_user",
    "conversations_select": "selected_conversation",
    "channels_select": "selected_channel",
}


def elements(block: Block) -> Iterator[Payload]:
    """Give all that can be pressed or filled in in a block."""
    if block["type"] == "input":
        yield block["element"]
    elif block["type"] == "actions":
        yield from block["elements"]
    elif "action_id" in block.get("accessory", {}):
        yield block["accessory"]


def find(blocks: list[Block], action_id: str) -> tuple[Block, Payload]:
    """Return the element with an id, and its block.

    :raises CannotDo: nothing like that is shown
    """
    shown = [(block, element) for block in blocks for element in elements(block)]
    for block, element in shown:
        if element.get("action_id") == action_id:
            return block, element
    there = sorted(str(element.get("action_id")) for _block, element in shown)
    raise CannotDo(f"nothing with action_id {action_id!r} is shown, only {there}")


def initial_values(blocks: list[Block]) -> dict[str, dict[str, Payload]]:
    """Return a view's state before anybody fills something in."""
    state: dict[str, dict[str, Payload]] = {}
    for block in blocks:
        for element in elements(block):
            if element["type"] in FIELDS and "action_id" in element:
                actions = state.setdefault(block["block_id"], {})
                actions[element["action_id"]] = _initial(element)
    return state


def filled_in(element: Payload, value: Any) -> Payload:
    """Return the state of an element into which somebody put a value.

    :param value: text, or the ``value`` of an option, a list of them, an id, an ISO date;
        None to empty it
    :raises CannotDo: the element does not take this
    """
    name = FIELDS[element["type"]]
    if value is not None and name == "selected_option":
        value = _option(element, value)
    elif name == "selected_options":
        value = [_option(element, one) for one in value or ()]
    elif isinstance(value, str):
        _check_length(element, value)
    return {"type": element["type"], name: value or _nothing(name)}


def is_empty(state: Payload) -> bool:
    """Whether nothing has been filled in."""
    return not state[FIELDS[state["type"]]]


def pressed(block: Block, element: Payload, value: Any, at: str) -> Payload:
    """Return the entry of a payload's ``actions``."""
    action = {
        "type": element["type"],
        "action_id": element["action_id"],
        "block_id": block["block_id"],
        "action_ts": at,
    }
    if element["type"] in FIELDS:
        return {**action, **filled_in(element, value)}
    for name in ("text", "value", "style"):
        if name in element:
            action[name] = element[name]
    return action


def _initial(element: Payload) -> Payload:
    """Return the state of an element that nobody has touched."""
    name = FIELDS[element["type"]]
    first = {
        "value": "initial_value",
        "selected_option": "initial_option",
        "selected_options": "initial_options",
        "selected_date": "initial_date",
        "selected_user": "initial_user",
        "selected_conversation": "initial_conversation",
        "selected_channel": "initial_channel",
    }[name]
    return {"type": element["type"], name: element.get(first, _nothing(name))}


def _nothing(name: str) -> list[Payload] | None:
    """Return how a field of the state says that it is empty."""
    return [] if name == "selected_options" else None


def _option(element: Payload, value: str) -> Payload:
    """Return the option that has a value."""
    groups = element.get("option_groups", ())
    options = [*element.get("options", ()), *(one for group in groups for one in group["options"])]
    for option in options:
        if option["value"] == value:
            return dict(option)
    offered = [option["value"] for option in options]
    raise CannotDo(f"{value!r} is not among the options: {offered}")


def _check_length(element: Payload, value: str) -> None:
    """Refuse text that Slack's own form does not let through."""
    if len(value) > element.get("max_length", 3000):
        raise CannotDo(f"{element['action_id']}: the form takes no text that long")
    if len(value) < element.get("min_length", 0):
        raise CannotDo(f"{element['action_id']}: the form wants a longer text")
