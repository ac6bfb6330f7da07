# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The handlers for a request's buttons, and for the submitted reason for a denial."""

from __future__ import annotations

from slack_bolt import App

from postroom_bot.domain import ButtonPress
from postroom_bot.errors import UserError
from postroom_bot.slack.events import publish_home
from postroom_bot.slack.handler_support import Answer, Body, Services, interaction_of, reply
from postroom_bot.slack.modals import open_modal
from postroom_bot.ui import modals, request_messages
from postroom_bot.ui.reason_texts import reason_text


def register(app: App, services: Services) -> None:
    """Register the handlers for a request's buttons and for submitted denials."""
    intake = services.intake

    @app.block_action(request_messages.REQUEST_APPROVE)
    def approve(ack: Answer, body: Body, respond: Answer) -> None:
        interaction = interaction_of(body)
        press = ButtonPress(
            key=interaction.key,
            request_id=interaction.value,
            user=interaction.user,
            team=interaction.team,
            approves=True,
            card=interaction.card,
            app=interaction.app,
        )
        answer = intake.vote(press)
        ack()
        reply(respond, reason_text(answer))

    @app.block_action(request_messages.REQUEST_DENY)
    def ask_why(ack: Answer, body: Body) -> None:
        # The vote is saved when the person submits the reason.
        ack()
        interaction = interaction_of(body)
        open_modal(services, interaction, modals.deny_reason(interaction.value, interaction.card))

    @app.view_submission(modals.DENY_REASON)
    def deny(ack: Answer, body: Body) -> None:
        interaction, view = interaction_of(body), body["view"]
        request_id, card, justification = modals.read_deny_reason(
            str(view["private_metadata"]), view["state"]["values"]
        )
        press = ButtonPress(
            key=interaction.key,
            request_id=request_id,
            user=interaction.user,
            team=interaction.team,
            approves=False,
            card=card,
            app=interaction.app,
            justification=justification,
        )
        answer = intake.vote(press)
        ack(response_action="update", view=modals.text_modal(reason_text(answer)))

    @app.block_action(request_messages.REQUEST_CANCEL)
    def cancel(ack: Answer, body: Body, respond: Answer) -> None:
        interaction = interaction_of(body)
        answer = intake.cancel(interaction.key, interaction.value, interaction.user)
        ack()
        if (body.get("view") or {}).get("type") == "home":
            publish_home(services, interaction.user)
        else:
            reply(respond, reason_text(answer))

    @app.block_action(request_messages.REQUEST_EXTEND)
    def extend(ack: Answer, body: Body, respond: Answer) -> None:
        ack()
        interaction = interaction_of(body)
        try:
            request = intake.extend(
                interaction.key, interaction.value, interaction.user, interaction.team
            )
        except UserError as error:
            reply(respond, reason_text(error.reason))
        else:
            reply(respond, request_messages.received(request))
