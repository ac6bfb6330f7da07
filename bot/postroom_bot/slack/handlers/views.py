# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What is sent from windows: forms, *Make it*, and the reason of a denial."""

from __future__ import annotations

from typing import Any

from postroom_bot.errors import Denied
from postroom_bot.slack import payloads
from postroom_bot.slack.handlers.modals import PASSWORD_TITLE, Windows, taken
from postroom_bot.slack.handlers.replies import Answer
from postroom_bot.slack.handlers.services import Services
from postroom_bot.ui import forms, ids, views
from postroom_bot.workflow.intake import DayOver


class Submissions:
    """Listens to windows. Threads share it."""

    def __init__(self, services: Services, windows: Windows) -> None:
        self._services = services
        self._windows = windows

    def form(self, ack: Answer, body: dict[str, Any]) -> None:
        """Hand a form's wish in."""
        caller, _ = payloads.submitted(body)
        view = body["view"]
        try:
            change = forms.read(str(view["callback_id"]), view["state"]["values"])
            request = self._services.intake.submit(caller.key, change, caller.user, caller.team)
        except forms.FormErrors as error:
            ack(response_action="errors", errors=error.errors)
        except DayOver as error:
            ack(response_action="errors", errors={ids.EXPIRES_ON: str(error)})
        except Denied as refusal:
            ack(response_action="update", view=views.note("Email", str(refusal)))
        else:
            ack(response_action="update", view=taken(request))

    def make_password(self, ack: Answer, body: dict[str, Any]) -> None:
        """Make a new password and show it."""
        caller, window = payloads.submitted(body)
        confirmed = views.read_password_confirm(str(body["view"]["private_metadata"]))
        ack(response_action="update", view=views.working(PASSWORD_TITLE, makes=True))
        self._windows.reveal(caller, window, confirmed)

    def deny(self, ack: Answer, body: dict[str, Any]) -> None:
        """Keep a denial for the worker to judge."""
        caller, _ = payloads.submitted(body)
        view = body["view"]
        denial = views.read_deny_reason(str(view["private_metadata"]), view["state"]["values"])
        answer = self._services.intake.vote(
            caller.key,
            denial.request_id,
            caller.user,
            caller.team,
            approves=False,
            reason=denial.reason,
            card=denial.card,
            app_id=str(body.get("api_app_id") or ""),
        )
        ack(response_action="update", view=views.note("Email", answer))
