# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Opening and updating modals.

A trigger expires after 3 seconds. A modal that needs answers from elsewhere is therefore opened as
"working" first, and updated when the answers arrive.
"""

from __future__ import annotations

import time
from contextlib import suppress

from postroom_bot.backends.slack_api import ViewRef
from postroom_bot.domain import Action, Change
from postroom_bot.errors import SlackRejected, SlackUnavailable
from postroom_bot.slack.handlers.services import EXPECTED, Services, settle
from postroom_bot.slack.payloads import Caller
from postroom_bot.ui import forms, ids, messages, views
from postroom_bot.ui.blocks import View
from postroom_bot.ui.notifications import received_text
from postroom_bot.workflow.passwords import NeedsApproval, NotShown, PressedTwice, Revealed

#: How often a view with a new password is sent to Slack, and the pauses in between.
TRIES = 4
PAUSE_SECONDS = 1.0
MAX_PAUSE_SECONDS = 5.0


class Modals:
    """Opens and updates modals. Threads share it."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._slack_api = services.slack_api

    def open(self, caller: Caller, view: View, replace: ViewRef | None = None) -> ViewRef:
        """Open a modal, or update one that is open."""
        if replace is None:
            return self._slack_api.open_view(caller.trigger, view)
        return self._slack_api.update_view(replace, view)

    def open_menu(self, caller: Caller) -> None:
        """Open the menu."""
        self.open(caller, views.menu())

    def open_form(self, caller: Caller, name: str, replace: ViewRef | None) -> None:
        """Open a form."""
        if name != ids.ALIAS_REMOVE:
            self.open(caller, forms.form(name), replace)
            return
        opened = self.open(caller, views.working(views.TITLE), replace)
        aliases: list[str] = []
        # Without the list, the person types the address.
        with suppress(*EXPECTED):
            aliases = self._services.lookups.aliases(caller.user, caller.team).aliases
        self._slack_api.update_view(opened, forms.form(name, aliases))

    def offer_password(
        self,
        caller: Caller,
        mailbox: str | None = None,
        request_id: str | None = None,
        replace: ViewRef | None = None,
    ) -> None:
        """Ask for confirmation of a new password, request one, or show why there is none."""
        opened = self.open(caller, views.working(views.PASSWORD_TITLE), replace)
        user, team = caller.user, caller.team
        try:
            try:
                offer = self._services.passwords.offer(user, team, mailbox, request_id)
                view = views.password_confirm(offer.mailbox, offer.request_id)
            except NeedsApproval:
                change = Change(Action.PASSWORD, mailbox or "")
                request = self._services.intake.submit(caller.key, change, user, team)
                view = views.note(views.TITLE, received_text(request))
        except EXPECTED as error:
            view = self._error_view(caller, error)
        self._slack_api.update_view(opened, view)

    def reveal_password(self, caller: Caller, window: ViewRef, confirmed: views.Confirmed) -> None:
        """Create a password and show it in the modal, which shows "working" by now."""
        acknowledged = time.monotonic()

        def show(view: View) -> None:
            settle(acknowledged)
            # The acknowledgement has replaced the view, so its hash has changed.
            self._update_persistently(window._replace(hash=""), view)

        def show_password(made: Revealed) -> None:
            password = made.password.get_secret_value()
            show(views.password_shown(made.mailbox, password, self._services.mail_host))

        try:
            self._services.passwords.reveal(
                caller.key, caller.user, caller.team, *confirmed, show_password
            )
        except PressedTwice:
            # Keep what the first delivery shows.
            return
        except NotShown as error:
            # The person gets a message as well, in case the window was closed.
            with suppress(SlackUnavailable, SlackRejected):
                show(self._error_view(caller, error))
        except EXPECTED as error:
            show(self._error_view(caller, error))

    def _error_view(self, caller: Caller, error: Exception) -> View:
        reason = self._services.reason_of(caller, Action.PASSWORD, error)
        return views.note(views.PASSWORD_TITLE, messages.text(reason))

    def _update_persistently(self, window: ViewRef, view: View) -> None:
        """Update a view, with retries: the new password exists nowhere else."""
        for _ in range(TRIES - 1):
            try:
                self._slack_api.update_view(window, view)
            except SlackUnavailable as error:
                time.sleep(min(error.retry_after or PAUSE_SECONDS, MAX_PAUSE_SECONDS))
            else:
                return
        self._slack_api.update_view(window, view)
