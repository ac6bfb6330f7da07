# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The payloads of slash commands, interactions and events."""

from __future__ import annotations

import html
import re
import secrets
from collections.abc import Mapping
from typing import Any, NamedTuple

from . import views
from .records import Channel, Message, Payload, User, View
from .world import World

COMMANDS = "slash_commands"
INTERACTIVE = "interactive"
EVENTS = "events_api"

_ADDRESS = re.compile(r"[\w.+'-]+@[\w-]+(?:\.[\w-]+)+")
_HOST = re.compile(r"(?<![\w@.|/-])(?:[a-z0-9-]+\.)+(?:com|org|net|test)\b", re.IGNORECASE)
_MENTION = re.compile(r"(?<![\w.])@([\w.-]+)")


class Parcel(NamedTuple):
    """A payload to deliver; `kind` is the type of its Socket Mode envelope."""

    kind: str
    payload: Payload


def command(world: World, user: User, channel: Channel, text: str) -> Parcel:
    """Return a slash command that was typed as `text`, such as `/email help`."""
    name, _space, rest = text.partition(" ")
    payload = {
        "team_id": user.team,
        "team_domain": world.domain,
        "channel_id": channel.id,
        "channel_name": channel.name,
        "user_id": user.id,
        "user_name": user.name,
        "command": name,
        "text": _escaped(world, rest.strip()),
        "api_app_id": world.app,
        "is_enterprise_install": "false",
        "trigger_id": world.trigger(user.id),
        "response_url": world.new_response_url(user.id, channel.id),
    }
    if user.enterprise:
        payload["enterprise_id"] = user.enterprise
    return Parcel(COMMANDS, payload)


def press(world: World, user: User, message: Message, action: Payload) -> Parcel:
    """Return the `block_actions` of a message."""
    container = {
        "type": "message",
        "message_ts": message.ts,
        "channel_id": message.channel,
        "is_ephemeral": message.only_for is not None,
    }
    channel = world.channels[message.channel]
    payload = {
        **_common(world, user, "block_actions"),
        "container": container,
        "channel": {"id": channel.id, "name": channel.name},
        "message": message.as_slack(),
        "state": {"values": {}},
        "response_url": world.new_response_url(user.id, channel.id),
        "actions": [action],
    }
    return Parcel(INTERACTIVE, payload)


def press_in_view(world: World, user: User, view: View, action: Payload) -> Parcel:
    """Return the `block_actions` of a modal or a Home tab."""
    in_modal = view.content["type"] == "modal"
    payload = {
        **_common(world, user, "block_actions", in_modal=in_modal),
        "container": {"type": "view", "view_id": view.id},
        "view": views.as_slack(view),
        "actions": [action],
    }
    return Parcel(INTERACTIVE, payload)


def submission(world: World, user: User, view: View) -> Parcel:
    """Return the `view_submission` of a modal."""
    common = _common(world, user, "view_submission", in_modal=True)
    return Parcel(INTERACTIVE, {**common, "view": views.as_slack(view)})


def shortcut(world: World, user: User, callback_id: str) -> Parcel:
    """Return a global shortcut."""
    return Parcel(INTERACTIVE, {**_common(world, user, "shortcut"), "callback_id": callback_id})


def event(world: World, inner: Mapping[str, Any]) -> Parcel:
    """Return an event in the envelope of the Events API."""
    payload = {
        "team_id": world.team,
        "api_app_id": world.app,
        "event": {**inner, "event_ts": world.fresh_ts()},
        "type": "event_callback",
        "event_id": f"Ev{secrets.token_hex(5).upper()}",
    }
    return Parcel(EVENTS, payload)


def _escaped(world: World, text: str) -> str:
    """Return the text of a command with `should_escape`: addresses, hosts and names are wrapped."""
    by_name = {user.name: user for user in world.users.values()}

    def mention(match: re.Match[str]) -> str:
        user = by_name.get(match[1])
        return f"<@{user.id}|{user.name}>" if user else match[0]

    # Slack escapes these three characters only, so quotes stay.
    spans = re.split(f"({_ADDRESS.pattern})", html.escape(text, quote=False))
    # Every other span is an address, in which no host or name is looked for.
    return "".join(
        f"<mailto:{span}|{span}>"
        if odd % 2
        else _MENTION.sub(mention, _HOST.sub(r"<http://\g<0>|\g<0>>", span))
        for odd, span in enumerate(spans)
    )


def _common(world: World, user: User, kind: str, *, in_modal: bool = False) -> Payload:
    return {
        "type": kind,
        "user": {"id": user.id, "username": user.name, "name": user.name, "team_id": user.team},
        "api_app_id": world.app,
        "trigger_id": world.trigger(user.id, in_modal=in_modal),
        "team": {"id": world.team, "domain": world.domain},
        "enterprise": {"id": user.enterprise, "name": "Enterprise"} if user.enterprise else None,
        "is_enterprise_install": False,
    }
