# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The Web API's methods for modals and homes, and what a person's submission does to them."""

from __future__ import annotations

from collections.abc import Callable

from ansible_collections.postroom.email.tests.fakes.slack.inputs import initial_values
from ansible_collections.postroom.email.tests.fakes.slack.records import (
    Payload,
    Refused,
    Token,
    View,
)
from ansible_collections.postroom.email.tests.fakes.slack.world import World, plain

STACK_LIMIT = 3
SIZE_LIMIT = 250_000
NOT_EVERYWHERE = (
    "views.open for what was done in a modal: Slack says ok, but not all of its clients show it. "
    "Update the modal or push onto it."
)


def open_view(world: World, args: Payload, token: Token) -> Payload:
    """Show a modal in place of all that are open."""
    content = _content(world, args, "modal")
    trigger = world.exchange(str(args.get("trigger_id", "")))
    if trigger.in_modal:
        world.complain(NOT_EVERYWHERE)
    clear(world, trigger.user)
    return {"view": as_slack(world, put(world, trigger.user, content))}


def push_view(world: World, args: Payload, token: Token) -> Payload:
    """Show a modal on top of those that are open."""
    content = _content(world, args, "modal")
    user = world.exchange(str(args.get("trigger_id", ""))).user
    if not world.stack(user):
        raise Refused("not_found")
    return {"view": as_slack(world, put(world, user, content))}


def update_view(world: World, args: Payload, token: Token) -> Payload:
    """Change what an open view shows."""
    view = _wanted(world, args)
    _agree(view, args)
    replace(world, view, _content(world, args, view.content["type"]))
    return {"view": as_slack(world, view)}


def publish_view(world: World, args: Payload, token: Token) -> Payload:
    """Show somebody's home."""
    content = _content(world, args, "home")
    user = str(args.get("user_id", ""))
    if user not in world.users:
        raise Refused("user_not_found")
    home = world.homes.get(user)
    if home is None:
        home = _new(world, user, content, None)
        world.homes[user] = home
        world.changed.notify_all()
    else:
        _agree(home, args)
        replace(world, home, content)
    return {"view": as_slack(world, home)}


def put(world: World, user: str, content: Payload) -> View:
    """Put a modal on top of somebody's stack."""
    stack = world.stack(user)
    if len(stack) >= STACK_LIMIT:
        raise Refused("push_limit_reached")
    view = _new(world, user, content, stack[-1] if stack else None)
    stack.append(view)
    world.past_modals.append(view)
    world.changed.notify_all()
    return view


def replace(world: World, view: View, content: Payload) -> None:
    """Show something else in a view; what was filled in stays where the block stays."""
    view.content = _filled(world, content)
    view.shown.append(view.content)
    before = view.values
    view.values = initial_values(view.blocks)
    for block_id, actions in view.values.items():
        actions.update(
            {name: was for name, was in before.get(block_id, {}).items() if name in actions}
        )
    view.hash = world.fresh_hash()
    view.errors = {}
    world.changed.notify_all()


def close(world: World, view: View) -> None:
    """Close the topmost modal."""
    view.is_open = False
    world.stack(view.user).remove(view)
    world.changed.notify_all()


def clear(world: World, user: str) -> None:
    """Close all of somebody's modals."""
    for view in reversed(list(world.stack(user))):
        close(world, view)


def as_slack(world: World, view: View) -> Payload:
    """Return a view as it stands in answers and payloads."""
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
        "previous_view_id": view.previous,
        "root_view_id": view.root,
        "app_id": world.app,
        "app_installed_team_id": world.team,
        "bot_id": world.bot_id,
    }


def follow(world: World, view: View, body: Payload) -> str:
    """Do what an app answered to a submission; return what is wrong with the answer."""
    action = body.get("response_action")
    if action is None:
        if view.is_open:
            close(world, view)
        return ""
    answer = _ANSWERS.get(str(action))
    if answer is None:
        return f"response_action {action!r} is not one"
    return answer(world, view, body)


def _show_errors(world: World, view: View, body: Payload) -> str:
    """Keep the modal open with errors at its inputs."""
    inputs = {block["block_id"] for block in view.blocks if block["type"] == "input"}
    errors = body.get("errors") or {}
    if not errors or not errors.keys() <= inputs:
        return f"errors of blocks that are no inputs of the view: {sorted(errors)}"
    view.errors = dict(errors)
    return ""


def _show_update(world: World, view: View, body: Payload) -> str:
    """Show another view in the same place."""
    if wrong := world.wrong_with(body["view"]):
        return "; ".join(wrong)
    replace(world, view, body["view"])
    return ""


def _show_push(world: World, view: View, body: Payload) -> str:
    """Show another view on top."""
    if wrong := world.wrong_with(body["view"]):
        return "; ".join(wrong)
    try:
        put(world, view.user, body["view"])
    except Refused as refusal:
        return refusal.code
    return ""


def _clear_all(world: World, view: View, body: Payload) -> str:
    """Close everything."""
    clear(world, view.user)
    return ""


_ANSWERS: dict[str, Callable[[World, View, Payload], str]] = {
    "errors": _show_errors,
    "update": _show_update,
    "push": _show_push,
    "clear": _clear_all,
}


def _content(world: World, args: Payload, kind: str) -> Payload:
    """Return the view that was sent, checked."""
    content = args.get("view")
    if not isinstance(content, dict) or content.get("type") != kind:
        raise _invalid([f"view is not a {kind}"])
    if len(plain(content)) > SIZE_LIMIT:
        raise Refused("view_too_large")
    if wrong := world.wrong_with(content):
        raise _invalid(wrong)
    return content


def _invalid(messages: list[str]) -> Refused:
    """Return how Slack refuses a wrong view."""
    return Refused("invalid_arguments", response_metadata={"messages": messages})


def _wanted(world: World, args: Payload) -> View:
    """Return the open view that is meant."""
    view = world.find_view(str(args.get("view_id", "")))
    if view is None:
        raise Refused("not_found")
    return view


def _agree(view: View, args: Payload) -> None:
    """Make sure that the app knows what the view shows now, where it said what it knows."""
    if args.get("hash") not in (None, "", view.hash):
        raise Refused("hash_conflict")


def _new(world: World, user: str, content: Payload, below: View | None) -> View:
    """Return a view that is not shown yet."""
    view_id = world.fresh_id("V")
    root, previous = (below.root, below.id) if below else (view_id, None)
    filled = _filled(world, content)
    view = View(view_id, user, filled, world.fresh_hash(), root, previous)
    view.shown.append(filled)
    view.values = initial_values(view.blocks)
    return view


def _filled(world: World, content: Payload) -> Payload:
    """Return a view with an id at each block."""
    return {**content, "blocks": world.with_block_ids(content["blocks"])}
