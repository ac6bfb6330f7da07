# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Reading what Slack sends. Whatever comes twice has the same key both times."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from postroom_bot.backends.slack_api import ViewRef
from postroom_bot.domain import MessageRef

Body = Mapping[str, Any]


class Caller(NamedTuple):
    """Who did something, and the one time that they did it.

    :param team: the person's own workspace, which for an outsider is not the bot's
    :param key: the same for each delivery of the same deed
    :param trigger: opens a modal within 3 seconds
    """

    user: str
    team: str
    key: str
    trigger: str


class Pressed(NamedTuple):
    """A button that was pressed.

    :param value: the request's id, or "" where the button has none
    :param card: the message that has the button, if it is in one
    :param app: the app that the message is of; "" where Slack's two accounts of it differ
    :param view: the modal that has the button, if it is in one
    """

    caller: Caller
    name: str
    value: str
    card: MessageRef | None
    app: str
    view: ViewRef | None
    is_home: bool


def commanded(body: Body) -> Caller:
    """Read who typed a command."""
    trigger = str(body["trigger_id"])
    return Caller(str(body["user_id"]), str(body["team_id"]), f"command:{trigger}", trigger)


def interacted(body: Body) -> Caller:
    """Read who used a button or a shortcut."""
    trigger = str(body["trigger_id"])
    return Caller(*_who(body), f"action:{trigger}", trigger)


def submitted(body: Body) -> tuple[Caller, ViewRef]:
    """Read who sent a form, and which."""
    opened = _opened(body["view"])
    key = f"view:{opened.view_id}:{opened.hash}"
    return Caller(*_who(body), key, str(body.get("trigger_id") or "")), opened


def pressed(body: Body) -> Pressed:
    """Read the press of a button."""
    action, view, container = body["actions"][0], body.get("view") or {}, body["container"]
    kind = view.get("type")
    return Pressed(
        interacted(body),
        str(action["action_id"]),
        str(action.get("value") or ""),
        _card(container) if container["type"] == "message" else None,
        _app(body),
        _opened(view) if kind == "modal" else None,
        kind == "home",
    )


def _who(body: Body) -> tuple[str, str]:
    user = body["user"]
    team = user.get("team_id") or (body.get("team") or {}).get("id") or ""
    return str(user["id"]), str(team)


def _opened(view: Mapping[str, Any]) -> ViewRef:
    return ViewRef(str(view["id"]), str(view["hash"]))


def _card(container: Mapping[str, Any]) -> MessageRef:
    return MessageRef(str(container["channel_id"]), str(container["message_ts"]))


def _app(body: Body) -> str:
    told = str(body.get("api_app_id") or "")
    posted = str((body.get("message") or {}).get("app_id") or told)
    return told if told == posted else ""
