# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Submitted views: forms, the confirmation of a new password, and the reason of a denial."""

from __future__ import annotations

from typing import Any

from slack_bolt import App

from postroom_bot.domain import ButtonPress
from postroom_bot.errors import Denied
from postroom_bot.slack.handlers.modals import Modals
from postroom_bot.slack.handlers.services import Answer, Services
from postroom_bot.slack.payloads import submission_caller, view_ref
from postroom_bot.ui import forms, ids, messages, views
from postroom_bot.ui.notifications import received_text
from postroom_bot.workflow.intake import DayOver

Body = dict[str, Any]


def register(app: App, services: Services, modals: Modals) -> None:
    """Register the handlers of submitted views."""
    intake = services.intake

    def form(ack: Answer, body: Body) -> None:
        caller, view = submission_caller(body), body["view"]
        try:
            change = forms.read(str(view["callback_id"]), view["state"]["values"])
            request = intake.submit(caller.key, change, caller.user, caller.team)
        except forms.FormErrors as error:
            ack(response_action="errors", errors=error.errors)
        except DayOver as error:
            ack(response_action="errors", errors={ids.EXPIRES_ON: messages.plain(error.reason)})
        except Denied as denial:
            ack(
                response_action="update", view=views.note(views.TITLE, messages.text(denial.reason))
            )
        else:
            note = views.note(views.TITLE, received_text(request))
            ack(response_action="update", view=note)

    for name in ids.FORM_OF.values():
        app.view_submission(name)(form)

    @app.view_submission(ids.PASSWORD_CONFIRM)
    def create_password(ack: Answer, body: Body) -> None:
        caller, view = submission_caller(body), body["view"]
        confirmed = views.read_password_confirm(str(view["private_metadata"]))
        working = views.working(views.PASSWORD_TITLE, creates_password=True)
        ack(response_action="update", view=working)
        modals.reveal_password(caller, view_ref(view), confirmed)

    @app.view_submission(ids.DENY_REASON)
    def deny(ack: Answer, body: Body) -> None:
        caller, view = submission_caller(body), body["view"]
        denial = views.read_deny_reason(str(view["private_metadata"]), view["state"]["values"])
        answer = intake.vote(
            ButtonPress(
                key=caller.key,
                request_id=denial.request_id,
                user=caller.user,
                team=caller.team,
                approves=False,
                card=denial.card,
                app=str(body.get("api_app_id") or ""),
                reason=denial.reason,
            )
        )
        ack(response_action="update", view=views.note(views.TITLE, messages.text(answer)))
