# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Modal windows: the menu, the forms, and the way to a new password.

A trigger is good for 3 seconds, so a window that has to ask somebody first is opened at once as
"working", and updated when the answer is there.
"""

from __future__ import annotations

import time
from contextlib import suppress

from postroom_bot.backends.slack_api import ViewRef
from postroom_bot.domain import Action, Change, Request
from postroom_bot.errors import SlackRejected, SlackUnavailable
from postroom_bot.slack.handlers.replies import EXPECTED, settle
from postroom_bot.slack.handlers.services import Services
from postroom_bot.slack.payloads import Caller
from postroom_bot.ui import forms, ids, notifications, views
from postroom_bot.ui.blocks import View
from postroom_bot.workflow.passwords import NeedsApproval, NotShown, PressedTwice, Revealed

#: How often a window with a new password is sent to Slack, and the pauses between.
TRIES = 4
PAUSE_SECONDS = 1.0
MAX_PAUSE_SECONDS = 5.0

PASSWORD_TITLE = "New password"  # noqa: S105 - a title


def taken(request: Request) -> View:
    """Return what is shown when a request has been handed in."""
    return views.note("Email", notifications.taken(request))


class Windows:
    """Opens and updates windows. Threads share it."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._chat = services.slack_api

    def menu(self, caller: Caller) -> None:
        """Open the menu."""
        self._show(caller, None, views.menu())

    def form(self, caller: Caller, name: str, onto: ViewRef | None) -> None:
        """Open a form, in the place of a window if there is one."""
        if name != ids.ALIAS_REMOVE:
            self._show(caller, onto, forms.form(name))
            return
        opened = self._show(caller, onto, views.working("Email"))
        aliases: list[str] = []
        # Without a list, the address is typed.
        with suppress(*EXPECTED):
            aliases = self._services.lookups.aliases(caller.user, caller.team).aliases
        self._chat.update_view(opened, forms.form(name, aliases))

    def denial(self, caller: Caller, view: View) -> None:
        """Open the question why a request is denied."""
        self._show(caller, None, view)

    def offer(
        self,
        caller: Caller,
        mailbox: str | None = None,
        request_id: str | None = None,
        onto: ViewRef | None = None,
    ) -> None:
        """Open the question before a new password is made, or say why there is none."""
        opened = self._show(caller, onto, views.working(PASSWORD_TITLE))
        try:
            view = self._offered(caller, mailbox, request_id)
        except EXPECTED as error:
            view = self._refused(caller, error)
        self._chat.update_view(opened, view)

    def reveal(self, caller: Caller, window: ViewRef, confirmed: views.Confirmed) -> None:
        """Make a password and show it, in the window that says "working" by now."""
        acknowledged = time.monotonic()

        def show(view: View) -> None:
            settle(acknowledged)
            # The acknowledgement has changed the window since, so its hash is another.
            self._insist(window._replace(hash=""), view)

        def show_password(made: Revealed) -> None:
            password = made.password.get_secret_value()
            show(views.password_shown(made.mailbox, password, self._services.mail_host))

        user, team, key = caller.user, caller.team, caller.key
        mailbox, request_id = confirmed
        try:
            self._services.passwords.reveal(key, user, team, mailbox, request_id, show_password)
        except PressedTwice:
            # What the first delivery shows, or has shown already, must stay.
            return
        except NotShown as error:
            # Whoever closed the window gets a message as well.
            with suppress(SlackUnavailable, SlackRejected):
                show(self._refused(caller, error))
        except EXPECTED as error:
            show(self._refused(caller, error))

    def _offered(self, caller: Caller, mailbox: str | None, request_id: str | None) -> View:
        try:
            offer = self._services.passwords.offer(caller.user, caller.team, mailbox, request_id)
        except NeedsApproval:
            change = Change(Action.PASSWORD, mailbox or "")
            return taken(self._services.intake.submit(caller.key, change, caller.user, caller.team))
        return views.password_confirm(offer.mailbox, offer.request_id)

    def _refused(self, caller: Caller, error: Exception) -> View:
        said = self._services.refused(caller, Action.PASSWORD, error)
        return views.note(PASSWORD_TITLE, said)

    def _insist(self, window: ViewRef, view: View) -> None:
        """Update a window though Slack may fail for a moment: a new password is nowhere else."""
        for _ in range(TRIES - 1):
            try:
                self._chat.update_view(window, view)
            except SlackUnavailable as down:
                time.sleep(min(down.retry_after or PAUSE_SECONDS, MAX_PAUSE_SECONDS))
            else:
                return
        self._chat.update_view(window, view)

    def _show(self, caller: Caller, onto: ViewRef | None, view: View) -> ViewRef:
        if onto is None:
            return self._chat.open_view(caller.trigger, view)
        return self._chat.update_view(onto, view)
