# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Buttons: on cards, in notices, in the menu and on the Home tab; and the shortcut."""

from __future__ import annotations

from typing import Any

from postroom_bot.errors import Denied
from postroom_bot.slack import payloads
from postroom_bot.slack.handlers.home import Home
from postroom_bot.slack.handlers.modals import Windows
from postroom_bot.slack.handlers.replies import Answer, add, said
from postroom_bot.slack.handlers.services import Services
from postroom_bot.slack.payloads import Pressed
from postroom_bot.ui import ids, notifications, views


class Actions:
    """Listens to buttons. Threads share it."""

    def __init__(self, services: Services, windows: Windows, home: Home) -> None:
        self._services = services
        self._windows = windows
        self._home = home

    def shortcut(self, ack: Answer, body: dict[str, Any]) -> None:
        """Open the menu."""
        ack()
        self._windows.menu(payloads.interacted(body))

    def form(self, ack: Answer, body: dict[str, Any]) -> None:
        """Open the form of a button."""
        ack()
        pressed = payloads.pressed(body)
        self._windows.form(pressed.caller, ids.FORM_OF[pressed.name], pressed.view)

    def password(self, ack: Answer, body: dict[str, Any]) -> None:
        """Offer a new password: one's own, or that of the request in the button."""
        ack()
        pressed = payloads.pressed(body)
        self._windows.offer(pressed.caller, request_id=pressed.value or None, onto=pressed.view)

    def approve(self, ack: Answer, body: dict[str, Any], respond: Answer) -> None:
        """Keep an approval for the worker to judge."""
        pressed = payloads.pressed(body)
        if pressed.card is None:
            ack()
            return
        caller = pressed.caller
        answer = self._services.intake.vote(
            caller.key,
            pressed.value,
            caller.user,
            caller.team,
            approves=True,
            reason="",
            card=pressed.card,
            app_id=pressed.app,
        )
        ack()
        add(respond, said(answer))

    def deny(self, ack: Answer, body: dict[str, Any]) -> None:
        """Ask why; the vote is what is sent from that window."""
        ack()
        pressed = payloads.pressed(body)
        if pressed.card is not None:
            view = views.deny_reason(pressed.value, pressed.card)
            self._windows.denial(pressed.caller, view)

    def cancel(self, ack: Answer, body: dict[str, Any], respond: Answer) -> None:
        """End the person's own request."""
        pressed = payloads.pressed(body)
        caller = pressed.caller
        answer = self._services.intake.cancel(caller.key, pressed.value, caller.user)
        ack()
        self._tell(pressed, answer, respond)

    def extend(self, ack: Answer, body: dict[str, Any], respond: Answer) -> None:
        """Ask for what ends soon to end later."""
        ack()
        pressed = payloads.pressed(body)
        caller = pressed.caller
        try:
            intake = self._services.intake
            request = intake.extend(caller.key, pressed.value, caller.user, caller.team)
        except Denied as refusal:
            add(respond, said(str(refusal)))
        else:
            add(respond, notifications.received(request))

    def _tell(self, pressed: Pressed, answer: str, respond: Answer) -> None:
        if pressed.is_home:
            self._home.publish(pressed.caller.user)
        else:
            add(respond, said(answer))
