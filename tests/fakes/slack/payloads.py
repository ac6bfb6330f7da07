# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What Slack sends to an app when a person does something."""

from __future__ import annotations

import html
import re
import secrets
from collections.abc import Mapping
from typing import Any, NamedTuple

from ansible_collections.postroom.email.tests.fakes.slack import views
from ansible_collections.postroom.email.tests.fakes.slack.records import (
    Channel,
    Message,
    Payload,
    User,
    View,
)
from ansible_collections.postroom.email.tests.fakes.slack.world import World

COMMANDS = "slash_commands"
INTERACTIVE = "interactive"
EVENTS = "events_api"

_ADDRESS = re.compile(r"[\w.+'-]+@[\w-]+(?:\.[\w-]+)+")
_HOST = re.compile(r"(?<![\w@.|/-])(?:[a-z0-9-]+\.)+(?:com|org|net|test)\b", re.IGNORECASE)
_MENTION = re.compile(r"(?<![\w.])@([\w.-]+)")


class Parcel(NamedTuple):
    """Something that Slack delivers to the app.

    :param kind: Slack's name for it in Socket Mode: ``slash_commands``, ``interactive`` or
        ``events_api``
    """

    kind: str
    payload: Payload


def command(world: World, user: User, channel: Channel, text: str) -> Parcel:
    """Return a slash command; ``text`` is all that was typed, such as ``/email help``."""
    name, _space, rest = text.partition(" ")
    payload = {
        "token": "verification-token",
        "team_id": user.team,
        "team_domain": world.domain,
        "channel_id": channel.id,
        "channel_name": channel.name,
        "user_id": user.id,
        "user_name": user.name,
        "command": name,
        "text": escaped(world, rest.strip()),
        "api_app_id": world.app,
        "is_enterprise_install": "false",
        "trigger_id": world.trigger(user.id),
        "response_url": world.new_response_url(user.id, channel.id),
    }
    if user.enterprise:
        payload["enterprise_id"] = user.enterprise
    return Parcel(COMMANDS, payload)


def press(world: World, user: User, message: Message, action: Payload) -> Parcel:
    """Return the press of something in a message."""
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
        "response_url": world.new_response_url(user.id, channel.id, message),
        "actions": [action],
    }
    return Parcel(INTERACTIVE, payload)


def press_in_view(world: World, user: User, view: View, action: Payload) -> Parcel:
    """Return the press of something in a modal or in a home."""
    in_modal = view.content["type"] == "modal"
    payload = {
        **_common(world, user, "block_actions", in_modal=in_modal),
        "container": {"type": "view", "view_id": view.id},
        "view": views.as_slack(world, view),
        "actions": [action],
    }
    return Parcel(INTERACTIVE, payload)


def submission(world: World, user: User, view: View) -> Parcel:
    """Return the submission of a modal."""
    payload = {
        **_common(world, user, "view_submission", in_modal=True),
        "view": views.as_slack(world, view),
        "response_urls": [],
    }
    return Parcel(INTERACTIVE, payload)


def closing(world: World, user: User, view: View, *, is_cleared: bool) -> Parcel:
    """Return the news that somebody closed a modal."""
    payload = {
        **_common(world, user, "view_closed"),
        "view": views.as_slack(world, view),
        "is_cleared": is_cleared,
    }
    del payload["trigger_id"]
    return Parcel(INTERACTIVE, payload)


def shortcut(world: World, user: User, callback_id: str) -> Parcel:
    """Return a global shortcut."""
    payload = {**_common(world, user, "shortcut"), "callback_id": callback_id}
    return Parcel(INTERACTIVE, payload)


def event(world: World, inner: Mapping[str, Any]) -> Parcel:
    """Return an event, in the envelope of the Events API."""
    at = int(world.clock().timestamp())
    authorization = {
        "enterprise_id": world.enterprise,
        "team_id": world.team,
        "user_id": world.bot.id,
        "is_bot": True,
        "is_enterprise_install": False,
    }
    payload = {
        "token": "verification-token",
        "team_id": world.team,
        "context_team_id": world.team,
        "api_app_id": world.app,
        "event": {**inner, "event_ts": world.fresh_ts()},
        "type": "event_callback",
        "event_id": f"Ev{secrets.token_hex(5).upper()}",
        "event_time": at,
        "authorizations": [authorization],
        "is_ext_shared_channel": False,
    }
    return Parcel(EVENTS, payload)


def escaped(world: World, text: str) -> str:
    """Return text as Slack gives it to a command for which links and names are escaped."""
    # quote=False: Slack escapes these three characters only.
    text = html.escape(text, quote=False)
    spans = re.split(f"({_ADDRESS.pattern})", text)
    # Every other span is an address: nothing more is to be found in it.
    return "".join(
        f"<mailto:{span}|{span}>" if odd % 2 else _linked(world, span)
        for odd, span in enumerate(spans)
    )


def _linked(world: World, text: str) -> str:
    """Return text with its host names and mentions wrapped."""
    by_name = {user.name: user for user in world.users.values()}

    def mention(match: re.Match[str]) -> str:
        user = by_name.get(match[1])
        return f"<@{user.id}|{user.name}>" if user else match[0]

    return _MENTION.sub(mention, _HOST.sub(r"<http://\g<0>|\g<0>>", text))


def _common(world: World, user: User, kind: str, *, in_modal: bool = False) -> Payload:
    """Return what every interaction has."""
    enterprise = {"id": user.enterprise, "name": "Enterprise"} if user.enterprise else None
    return {
        "type": kind,
        "user": {
            "id": user.id,
            "username": user.name,
            "name": user.name,
            "team_id": user.team,
        },
        "api_app_id": world.app,
        "token": "verification-token",
        "trigger_id": world.trigger(user.id, in_modal=in_modal),
        "team": {"id": world.team, "domain": world.domain},
        "enterprise": enterprise,
        "is_enterprise_install": False,
    }
