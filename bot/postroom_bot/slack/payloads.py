# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Reading what Slack sends. Repeated deliveries of the same event have the same key."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from postroom_bot.backends.slack_api import ViewRef
from postroom_bot.domain import ButtonPress, MessageRef

Body = Mapping[str, Any]


class Caller(NamedTuple):
    """Who acted.

    :param team: the person's own workspace, which differs from the bot's for outsiders
    :param key: the same for each delivery of the same action
    :param trigger: opens a modal within 3 seconds
    """

    user: str
    team: str
    key: str
    trigger: str


def command_caller(body: Body) -> Caller:
    """Return who typed a command."""
    trigger = str(body["trigger_id"])
    return Caller(str(body["user_id"]), str(body["team_id"]), f"command:{trigger}", trigger)


def action_caller(body: Body) -> Caller:
    """Return who used a button or a shortcut."""
    trigger = str(body["trigger_id"])
    return Caller(*_user_and_team(body), f"action:{trigger}", trigger)


def submission_caller(body: Body) -> Caller:
    """Return who submitted a view."""
    view = view_ref(body["view"])
    key = f"view:{view.view_id}:{view.hash}"
    return Caller(*_user_and_team(body), key, str(body.get("trigger_id") or ""))


def value_of(body: Body) -> str:
    """Return the request's id that a button carries, or ""."""
    return str(body["actions"][0].get("value") or "")


def open_modal(body: Body) -> ViewRef | None:
    """Return the modal that contains the button, if it is in one."""
    view = body.get("view") or {}
    return view_ref(view) if view.get("type") == "modal" else None


def is_home(body: Body) -> bool:
    """Whether the button is on the Home tab."""
    return (body.get("view") or {}).get("type") == "home"


def view_ref(view: Mapping[str, Any]) -> ViewRef:
    """Return a view's id and hash."""
    return ViewRef(str(view["id"]), str(view["hash"]))


def button_press(body: Body, *, approves: bool) -> ButtonPress | None:
    """Return the press of a button on a card, or None if the button isn't in a message."""
    container = body["container"]
    if container["type"] != "message":
        return None
    caller = action_caller(body)
    app = str(body.get("api_app_id") or "")
    posted_by = str((body.get("message") or {}).get("app_id") or app)
    return ButtonPress(
        key=caller.key,
        request_id=value_of(body),
        user=caller.user,
        team=caller.team,
        approves=approves,
        card=MessageRef(str(container["channel_id"]), str(container["message_ts"])),
        app=app if app == posted_by else "",
    )


def _user_and_team(body: Body) -> tuple[str, str]:
    user = body["user"]
    team = user.get("team_id") or (body.get("team") or {}).get("id") or ""
    return str(user["id"]), str(team)
