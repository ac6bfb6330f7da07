# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Modals and Home tabs: the `views.*` methods, and the app's answers to submissions."""

from __future__ import annotations

import secrets

from .inputs import initial_values
from .records import Payload, Refused, Token, View
from .world import World, plain, with_block_ids

MAX_VIEW_SIZE = 250_000
OPENED_FROM_MODAL = (
    "views.open with the trigger of an interaction in a modal: Slack answers ok, but not every "
    "client shows the new modal. Update the open one."
)


def open_view(world: World, args: Payload, token: Token) -> Payload:
    """Show a modal in place of the open one."""
    content = _content(world, args, "modal")
    trigger = world.exchange(str(args.get("trigger_id", "")))
    if trigger.in_modal:
        world.complain(OPENED_FROM_MODAL)
    view = View(world.fresh_id("V"), trigger.user, {}, "")
    replace(world, view, content)
    world.modals[trigger.user] = view
    world.past_modals.append(view)
    return {"view": as_slack(world, view)}


def update_view(world: World, args: Payload, token: Token) -> Payload:
    """Replace the content of an open view."""
    views = (*world.modals.values(), *world.homes.values())
    view = next((view for view in views if view.id == args.get("view_id")), None)
    if view is None:
        raise Refused("not_found")
    _check_hash(view, args)
    replace(world, view, _content(world, args, view.content["type"]))
    return {"view": as_slack(world, view)}


def publish_view(world: World, args: Payload, token: Token) -> Payload:
    """Show a user's Home tab."""
    content = _content(world, args, "home")
    user = str(args.get("user_id", ""))
    if user not in world.users:
        raise Refused("user_not_found")
    home = world.homes.get(user) or View(world.fresh_id("V"), user, {}, "")
    if home.content:
        _check_hash(home, args)
    world.homes[user] = home
    replace(world, home, content)
    return {"view": as_slack(world, home)}


def replace(world: World, view: View, content: Payload) -> None:
    """Show other content; what was filled in stays where the block and the action stay."""
    view.content = {**content, "blocks": with_block_ids(content["blocks"])}
    view.shown.append(view.content)
    before, view.values = view.values, initial_values(view.blocks)
    for block_id, actions in view.values.items():
        kept = before.get(block_id, {})
        actions.update({name: state for name, state in kept.items() if name in actions})
    view.hash = f"{int(world.clock().timestamp())}.{secrets.token_hex(4)}"
    view.errors = {}
    world.changed.notify_all()


def close(world: World, view: View) -> None:
    """Close a modal."""
    if world.modals.get(view.user) is view:
        del world.modals[view.user]
    world.changed.notify_all()


def as_slack(world: World, view: View) -> Payload:
    """Return the view object of responses and interaction payloads."""
    return {
        "private_metadata": "",
        "callback_id": "",
        "external_id": "",
        "clear_on_close": False,
        "notify_on_close": False,
        "close": None,
        "submit": None,
        "title": None,
        **view.content,
        "id": view.id,
        "team_id": world.team,
        "state": {"values": view.values},
        "hash": view.hash,
        "previous_view_id": None,
        "root_view_id": view.id,
        "app_id": world.app,
        "app_installed_team_id": world.team,
        "bot_id": world.bot_id,
    }


def follow(world: World, view: View, body: Payload) -> str:
    """Do what the app answered to a submission; return what is invalid in the answer."""
    action = body.get("response_action")
    if action is None:
        close(world, view)
    elif action == "update":
        if wrong := world.wrong_with(body["view"]):
            return "; ".join(wrong)
        replace(world, view, body["view"])
    elif action == "errors":
        inputs = {block["block_id"] for block in view.blocks if block["type"] == "input"}
        errors = body.get("errors") or {}
        if not errors or not errors.keys() <= inputs:
            return f"errors of blocks that are not inputs of the view: {sorted(errors)}"
        view.errors = dict(errors)
    else:
        return f"response_action {action!r} is unknown"
    return ""


def _content(world: World, args: Payload, kind: str) -> Payload:
    content = args.get("view")
    if not isinstance(content, dict) or content.get("type") != kind:
        raise _invalid([f"view is not a {kind}"])
    if len(plain(content)) > MAX_VIEW_SIZE:
        raise Refused("view_too_large")
    if wrong := world.wrong_with(content):
        raise _invalid(wrong)
    return content


def _invalid(messages: list[str]) -> Refused:
    return Refused("invalid_arguments", response_metadata={"messages": messages})


def _check_hash(view: View, args: Payload) -> None:
    if args.get("hash") not in (None, "", view.hash):
        raise Refused("hash_conflict")
