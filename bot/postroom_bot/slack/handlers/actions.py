# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Buttons of cards, notices, the menu and the Home tab, and the global shortcut."""

from __future__ import annotations

from typing import Any

from slack_bolt import App

from postroom_bot.errors import Denied
from postroom_bot.slack import payloads
from postroom_bot.slack.handlers.home import publish
from postroom_bot.slack.handlers.modals import Modals
from postroom_bot.slack.handlers.services import Answer, Services, reason_message, reply_below
from postroom_bot.ui import ids, notifications, views

Body = dict[str, Any]


def register(app: App, services: Services, modals: Modals) -> None:
    """Register the handlers of buttons and of the shortcut."""
    _register_request_buttons(app, services, modals)

    @app.shortcut(ids.SHORTCUT_MENU)
    def shortcut(ack: Answer, body: Body) -> None:
        ack()
        modals.open_menu(payloads.action_caller(body))

    def open_form(ack: Answer, body: Body) -> None:
        ack()
        name = ids.FORM_OF[str(body["actions"][0]["action_id"])]
        modals.open_form(payloads.action_caller(body), name, payloads.open_modal(body))

    def password(ack: Answer, body: Body) -> None:
        ack()
        modals.offer_password(
            payloads.action_caller(body),
            request_id=payloads.value_of(body) or None,
            replace=payloads.open_modal(body),
        )

    for name in ids.FORM_OF:
        app.block_action(name)(open_form)
    for name in (ids.OPEN_PASSWORD, ids.PASSWORD_SHOW):
        app.block_action(name)(password)


def _register_request_buttons(app: App, services: Services, modals: Modals) -> None:
    """Register the handlers of the buttons that carry a request's id."""
    intake = services.intake

    @app.block_action(ids.REQUEST_APPROVE)
    def approve(ack: Answer, body: Body, respond: Answer) -> None:
        press = payloads.button_press(body, approves=True)
        answer = intake.vote(press) if press else None
        ack()
        if answer:
            reply_below(respond, reason_message(answer))

    @app.block_action(ids.REQUEST_DENY)
    def deny(ack: Answer, body: Body) -> None:
        # The vote is stored when the reason is submitted.
        ack()
        press = payloads.button_press(body, approves=False)
        if press:
            view = views.deny_reason(press.request_id, press.card)
            modals.open(payloads.action_caller(body), view)

    @app.block_action(ids.REQUEST_CANCEL)
    def cancel(ack: Answer, body: Body, respond: Answer) -> None:
        caller = payloads.action_caller(body)
        answer = intake.cancel(caller.key, payloads.value_of(body), caller.user)
        ack()
        if payloads.is_home(body):
            publish(services, caller.user)
        else:
            reply_below(respond, reason_message(answer))

    @app.block_action(ids.REQUEST_EXTEND)
    def extend(ack: Answer, body: Body, respond: Answer) -> None:
        ack()
        caller = payloads.action_caller(body)
        try:
            request = intake.extend(caller.key, payloads.value_of(body), caller.user, caller.team)
        except Denied as denial:
            reply_below(respond, reason_message(denial.reason))
        else:
            reply_below(respond, notifications.received(request))
