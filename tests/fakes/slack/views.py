# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Modals, Home tabs and their inputs: the `views.*` methods, and responses to submissions.

Only buttons, text inputs and date pickers are implemented, because the bot uses nothing else.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator

from .workspace_state import (
    Block,
    CannotDo,
    Payload,
    Refused,
    Scopes,
    View,
    WorkspaceState,
    plain,
    with_block_ids,
)

MAX_VIEW_SIZE = 250_000
OPENED_FROM_MODAL = (
    "views.open with the trigger of an interaction in a modal: Slack answers ok, but not every "
    "client shows the new modal. Update the open one."
)
#: For each type of input: the field for its state and the field for its initial value.
_STATE = {
    "plain_text_input": ("value", "initial_value"),
    "datepicker": ("selected_date", "initial_date"),
    "static_select": ("selected_option", "initial_option"),
}


def open_view(workspace: WorkspaceState, args: Payload, scopes: Scopes) -> Payload:
    """Show a new modal, which replaces any open modal."""
    content = _content(workspace, args, "modal")
    trigger = workspace.exchange(str(args.get("trigger_id", "")))
    if trigger.in_modal:
        workspace.problems.append(OPENED_FROM_MODAL)
    view = View(workspace.fresh_id("V"), trigger.user, {}, "")
    replace(workspace, view, content)
    workspace.modals[trigger.user] = view
    return {"view": as_slack(view)}


def update_view(workspace: WorkspaceState, args: Payload, scopes: Scopes) -> Payload:
    """Replace the content of an open view."""
    views = (*workspace.modals.values(), *workspace.homes.values())
    view = next((view for view in views if view.id == args.get("view_id")), None)
    if view is None:
        raise Refused("not_found")
    if args.get("hash") not in (None, "", view.hash):
        raise Refused("hash_conflict")
    replace(workspace, view, _content(workspace, args, view.content["type"]))
    return {"view": as_slack(view)}


def publish_view(workspace: WorkspaceState, args: Payload, scopes: Scopes) -> Payload:
    """Show a user's Home tab."""
    content = _content(workspace, args, "home")
    user = str(args.get("user_id", ""))
    if user not in workspace.users:
        raise Refused("user_not_found")
    home = workspace.homes.setdefault(user, View(workspace.fresh_id("V"), user, {}, ""))
    replace(workspace, home, content)
    return {"view": as_slack(home)}


def replace(workspace: WorkspaceState, view: View, content: Payload) -> None:
    """Replace a view's content. Inputs with the same block and action IDs keep their values."""
    view.content = {**content, "blocks": with_block_ids(content["blocks"])}
    before, view.values = view.values, initial_values(view.blocks)
    for block_id, actions in view.values.items():
        kept = before.get(block_id, {})
        actions.update({name: state for name, state in kept.items() if name in actions})
    view.hash = f"{int(workspace.clock().timestamp())}.{secrets.token_hex(4)}"
    view.errors = {}
    workspace.changed.notify_all()


def close(workspace: WorkspaceState, view: View) -> None:
    """Close a modal."""
    if workspace.modals.get(view.user) is view:
        del workspace.modals[view.user]
    workspace.changed.notify_all()


def as_slack(view: View) -> Payload:
    """Return the view object for responses and interaction payloads."""
    return {
        "private_metadata": "",
        "callback_id": "",
        **view.content,
        "id": view.id,
        "state": {"values": view.values},
        "hash": view.hash,
    }


def follow(workspace: WorkspaceState, view: View, body: Payload) -> None:
    """Process the app's response to a submission, and record any problems in it."""
    action = body.get("response_action")
    if action is None:
        close(workspace, view)
    elif action == "update":
        if not workspace.wrong_with(body["view"]):
            replace(workspace, view, body["view"])
    elif action == "errors":
        view.errors = dict(body.get("errors") or {})
        inputs = {block["block_id"] for block in view.blocks if block["type"] == "input"}
        if not view.errors or not view.errors.keys() <= inputs:
            workspace.problems.append(
                f"errors at blocks that are not inputs: {sorted(view.errors)}"
            )
    else:
        workspace.problems.append(f"response_action {action!r} is unknown")


def _content(workspace: WorkspaceState, args: Payload, kind: str) -> Payload:
    content = args.get("view")
    if (
        not isinstance(content, dict)
        or content.get("type") != kind
        or workspace.wrong_with(content)
    ):
        raise Refused("invalid_arguments")
    if len(plain(content)) > MAX_VIEW_SIZE:
        raise Refused("view_too_large")
    return content


def _elements(block: Block) -> Iterator[Payload]:
    """Yield the interactive elements of a block."""
    if block["type"] == "input":
        yield block["element"]
    elif block["type"] == "actions":
        yield from block["elements"]


def find(blocks: list[Block], action_id: str) -> tuple[Block, Payload]:
    """Return an element with its block.

    :raises CannotDo: if no block contains the element
    """
    for block in blocks:
        for element in _elements(block):
            if element.get("action_id") == action_id:
                return block, element
    raise CannotDo(f"no element has action_id {action_id!r}")


def initial_values(blocks: list[Block]) -> dict[str, dict[str, Payload]]:
    """Return the state of a view that has just been opened."""
    state: dict[str, dict[str, Payload]] = {}
    for block in blocks:
        for element in _elements(block):
            if element["type"] in _STATE:
                name, initial = _STATE[element["type"]]
                value = {"type": element["type"], name: element.get(initial)}
                state.setdefault(block["block_id"], {})[element["action_id"]] = value
    return state


def filled_in(element: Payload, value: str | None) -> Payload:
    """Return the state of an element with a value.

    :raises CannotDo: if Slack's form does not accept the value
    """
    if element["type"] == "static_select":
        chosen = next((one for one in element["options"] if one["value"] == value), None)
        if value and chosen is None:
            raise CannotDo(f"{element['action_id']}: the list has no {value}")
        return {"type": element["type"], "selected_option": chosen}
    limits = range(element.get("min_length", 0), element.get("max_length", 3000) + 1)
    if value and len(value) not in limits:
        raise CannotDo(f"{element['action_id']}: the form does not accept a text of this length")
    return {"type": element["type"], _STATE[element["type"]][0]: value or None}


def pressed(block: Block, element: Payload, at: str) -> Payload:
    """Return a button's entry in the `actions` of a `block_actions` payload."""
    return {
        "type": element["type"],
        "action_id": element["action_id"],
        "block_id": block["block_id"],
        "action_ts": at,
        **{name: element[name] for name in ("text", "value") if name in element},
    }
