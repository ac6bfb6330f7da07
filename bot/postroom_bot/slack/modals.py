# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The handlers that open modals and process their submissions.

A trigger expires after 3 seconds. A modal that needs data from Slack or the mail service is
therefore opened as "working" first, and updated when the data arrives.
"""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Any

from pydantic import SecretStr
from slack_bolt import App

from postroom_bot.backends.slack_api import ViewRef
from postroom_bot.domain import Action, Change
from postroom_bot.errors import SlackRejected, SlackUnavailable, UserError
from postroom_bot.slack.interactions import (
    EXPECTED,
    Answer,
    Body,
    Interaction,
    Services,
    interaction_of,
    wait_for_display,
)
from postroom_bot.ui import request_messages, views
from postroom_bot.ui.markup import View
from postroom_bot.ui.reason_texts import plain_reason_text, reason_text
from postroom_bot.workflow.intake import DayOver
from postroom_bot.workflow.passwords import NeedsApproval, NotShown, PressedTwice

#: How many times to try to send Slack a view with a new password, and the pauses in between.
TRIES = 4
PAUSE_SECONDS = 1.0
MAX_PAUSE_SECONDS = 5.0


def register(app: App, services: Services) -> None:
    """Register the handlers that open modals and process their submissions."""

    @app.shortcut(views.SHORTCUT_MENU)
    def open_menu(ack: Answer, body: Body) -> None:
        ack()
        open_modal(services, interaction_of(body), views.menu())

    def open_form(ack: Answer, body: Body) -> None:
        ack()
        interaction = interaction_of(body)
        name = str(body["actions"][0]["action_id"]).removeprefix(views.OPEN)
        if views.FORMS[name].action is not Action.ALIAS_REMOVE:
            open_modal(services, interaction, views.form(name))
            return
        opened = open_modal(services, interaction, views.working(views.TITLE))
        aliases: list[str] = []
        # If the list is not available, the person can type the address.
        with suppress(*EXPECTED):
            aliases = services.lookups.aliases(interaction.user, interaction.team).aliases
        services.deps.slack_api.update_view(opened, views.form(name, aliases))

    def form(ack: Answer, body: Body) -> None:
        ack(**submit_form(services, interaction_of(body), body["view"]))

    for name in views.FORMS:
        app.block_action(views.OPEN + name)(open_form)
        app.view_submission(name)(form)

    def open_password(ack: Answer, body: Body) -> None:
        ack()
        interaction = interaction_of(body)
        offer_password(services, interaction, request_id=interaction.value or None)

    for name in (views.OPEN_PASSWORD, request_messages.PASSWORD_SHOW):
        app.block_action(name)(open_password)

    @app.view_submission(views.PASSWORD_CONFIRM)
    def create_password(ack: Answer, body: Body) -> None:
        view = body["view"]
        mailbox, request_id = views.read_password_confirm(str(view["private_metadata"]))
        working = views.working(views.PASSWORD_TITLE, creates_password=True)
        ack(response_action="update", view=working)
        # The acknowledgement has replaced the view, so the view's hash has changed.
        window = ViewRef(str(view["id"]), hash="")
        reveal_password(services, interaction_of(body), window, mailbox, request_id)


def submit_form(services: Services, interaction: Interaction, view: View) -> dict[str, Any]:
    """Request the change in a submitted form. Return the acknowledgement with a note or errors."""
    try:
        change = views.read_form(str(view["callback_id"]), view["state"]["values"])
        request = services.intake.submit(
            interaction.key, change, interaction.user, interaction.team
        )
    except views.FormErrors as error:
        return {"response_action": "errors", "errors": error.errors}
    except DayOver as error:
        errors = {"last_day": plain_reason_text(error.reason)}
        return {"response_action": "errors", "errors": errors}
    except UserError as error:
        text = reason_text(error.reason)
    else:
        text = request_messages.received_text(request)
    return {"response_action": "update", "view": views.text_modal(text)}


def open_modal(services: Services, interaction: Interaction, view: View) -> ViewRef:
    """Open a modal or, if the interaction took place in a modal, update that modal."""
    if interaction.modal is None:
        return services.deps.slack_api.open_view(interaction.trigger, view)
    return services.deps.slack_api.update_view(interaction.modal, view)


def offer_password(
    services: Services,
    interaction: Interaction,
    mailbox: str | None = None,
    request_id: str | None = None,
) -> None:
    """Ask the person to confirm a new password, request its approval, or explain a refusal."""
    opened = open_modal(services, interaction, views.working(views.PASSWORD_TITLE))
    user, team = interaction.user, interaction.team
    try:
        try:
            offered = services.passwords.offer(user, team, mailbox, request_id)
            view = views.password_confirm(offered, request_id)
        except NeedsApproval:
            change = Change(Action.PASSWORD, mailbox or "")
            request = services.intake.submit(interaction.key, change, user, team)
            view = views.text_modal(request_messages.received_text(request))
    except EXPECTED as error:
        text = services.error_text(interaction, Action.PASSWORD, error)
        view = views.text_modal(text, views.PASSWORD_TITLE)
    services.deps.slack_api.update_view(opened, view)


def reveal_password(
    services: Services,
    interaction: Interaction,
    window: ViewRef,
    mailbox: str,
    request_id: str | None,
) -> None:
    """Create a password and show it in the modal, which currently shows "working"."""
    acknowledged = time.monotonic()

    def show(password: SecretStr) -> None:
        shown = views.password_shown(mailbox, password.get_secret_value(), services.mail_host)
        update(shown)

    def update(view: View) -> None:
        """Update the modal, with retries, because the new password is stored nowhere else."""
        wait_for_display(acknowledged)
        for _ in range(TRIES - 1):
            try:
                services.deps.slack_api.update_view(window, view)
            except SlackUnavailable as error:
                time.sleep(min(error.retry_after or PAUSE_SECONDS, MAX_PAUSE_SECONDS))
            else:
                return
        services.deps.slack_api.update_view(window, view)

    try:
        services.passwords.reveal(
            interaction.key, interaction.user, interaction.team, mailbox, request_id, show
        )
    except PressedTwice:
        # The handler of the first delivery updates the modal.
        return
    except EXPECTED as error:
        text = services.error_text(interaction, Action.PASSWORD, error)
        # If the password was not shown, the person gets a direct message as well, in case they have
        # closed the window.
        ignored = (SlackUnavailable, SlackRejected) if isinstance(error, NotShown) else ()
        with suppress(*ignored):
            update(views.text_modal(text, views.PASSWORD_TITLE))
