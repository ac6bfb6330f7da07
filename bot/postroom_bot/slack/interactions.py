# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What a handler works with: who acted and on what, the services, and how to reply."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from slack_bolt import Respond

from postroom_bot.backends.slack_api import ViewRef
from postroom_bot.domain import MessageRef, Reason
from postroom_bot.errors import Forbidden, ReasonError, SlackRejected, SlackUnavailable
from postroom_bot.ui import messages
from postroom_bot.ui.markup import Message
from postroom_bot.workflow.dependencies import Dependencies
from postroom_bot.workflow.intake import Intake, Lookups
from postroom_bot.workflow.passwords import Passwords

#: Errors that have a sentence for the person.
EXPECTED = (ReasonError, SlackUnavailable, SlackRejected)

#: Slack shows an acknowledgement, or replaces a view with it, after up to this time. An answer that
#: arrives earlier appears above it, or is covered by it for good.
SETTLE_SECONDS = 0.5

#: Bolt's `ack` and `respond`.
Answer = Callable[..., Any]
Body = Mapping[str, Any]


class Interaction(NamedTuple):
    """A command, a press of a button, a shortcut or a submitted view.

    :param team: the person's own workspace, which differs from the bot's for outsiders
    :param key: the same for each delivery of the same interaction
    :param trigger: opens a modal within 3 seconds; "" for a submitted view
    :param value: the request's id that the button carries, or ""
    :param modal: the submitted modal, or the one that contains the button
    :param card: the message that contains the button
    :param app: the app that posted the message; "" if Slack's statements about it differ
    """

    user: str
    team: str
    key: str
    trigger: str
    value: str = ""
    modal: ViewRef | None = None
    card: MessageRef = MessageRef("", "")
    app: str = ""


def interaction_of(body: Body) -> Interaction:
    """Return the interaction in what Slack sent."""
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
    posted_by = str((body.get("message") or {}).get("app_id") or app)
    return Interaction(
        str(user["id"]),
        str(team),
        key,
        trigger,
        value=str(pressed.get("value") or ""),
        modal=modal,
        card=MessageRef(
            str(container.get("channel_id") or ""), str(container.get("message_ts") or "")
        ),
        app=app if app == posted_by else "",
    )


@dataclass(frozen=True, slots=True)
class Services:
    """What the handlers use. Threads share it.

    :param mail_host: the host name for mail programs
    """

    deps: Dependencies
    intake: Intake
    passwords: Passwords
    lookups: Lookups
    mail_host: str

    def reason_text(self, acted: Interaction, action: str, error: Exception) -> str:
        """Return the text of one of the EXPECTED errors, and record what was forbidden.

        :param action: what the person tried, in a word
        """
        reason = error.reason if isinstance(error, ReasonError) else Reason("slack.unavailable")
        if isinstance(error, Forbidden):
            self.intake.record_denial(acted.user, acted.team, action, reason)
        return messages.text(reason)


def reply(answer: Answer, message: Message | str) -> None:
    """Answer with a message that only this person sees; below the message with the button."""
    text, blocks = (message, ()) if isinstance(message, str) else message
    below = {"replace_original": False} if isinstance(answer, Respond) else {}
    answer(text=text, blocks=list(blocks) or None, response_type="ephemeral", **below)


def settle(since: float) -> None:
    """Wait until Slack has processed an acknowledgement sent at this monotonic time."""
    time.sleep(max(0.0, since + SETTLE_SECONDS - time.monotonic()))
