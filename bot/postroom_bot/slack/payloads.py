# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Read the payloads of commands, buttons, shortcuts and submitted views, and reply to them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from slack_bolt import Respond

from postroom_bot.domain import Interaction, MessageRef, ViewRef
from postroom_bot.ui.markup import Message
from postroom_bot.ui.views import read_home_card

#: How long Slack may take to display an acknowledgement or replace a view with it. A reply that
#: arrives earlier would appear above the acknowledgement, or be replaced by it.
DISPLAY_SECONDS = 0.5

#: Bolt's `ack` and `respond`.
Responder = Callable[..., Any]
Body = Mapping[str, Any]


def interaction_of(body: Body) -> Interaction:
    """Return the interaction that a payload describes."""
    if "command" in body:
        user, team, trigger = (str(body[name]) for name in ("user_id", "team_id", "trigger_id"))
        return Interaction(user, team, f"command:{trigger}", trigger)
    user, view = body["user"], body.get("view") or {}
    team = user.get("team_id") or (body.get("team") or {}).get("id") or ""
    is_modal = view.get("type") == "modal"
    modal = ViewRef(str(view["id"]), str(view["hash"])) if is_modal else None
    if body["type"] == "view_submission":
        key, trigger = f"view:{view['id']}:{view['hash']}", ""
    else:
        trigger = str(body["trigger_id"])
        key = f"action:{trigger}"
    pressed, container = (body.get("actions") or [{}])[0], body.get("container") or {}
    app = str(body.get("api_app_id") or "")
    posted_by = str((body.get("message") or view).get("app_id") or app)
    request_id = str(pressed.get("value") or "")
    card = MessageRef(
        str(container.get("channel_id") or ""), str(container.get("message_ts") or "")
    )
    if view.get("type") == "home":
        card = read_home_card(str(view.get("private_metadata") or ""), request_id)
    return Interaction(
        str(user["id"]),
        str(team),
        key,
        trigger,
        request_id=request_id,
        modal=modal,
        card=card,
        app=app if app == posted_by else "",
    )


def reply(answer: Responder, message: Message | str) -> None:
    """Send a message that only this person sees. The message with the button is not replaced."""
    text, blocks = (message, ()) if isinstance(message, str) else message
    below = {"replace_original": False} if isinstance(answer, Respond) else {}
    answer(text=text, blocks=list(blocks) or None, response_type="ephemeral", **below)


def wait_for_display(
    since: float,
    *,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], object] = time.sleep,
) -> None:
    """Wait until Slack has processed an acknowledgement that was sent at this time of the clock."""
    sleep(max(0.0, since + DISPLAY_SECONDS - clock()))
