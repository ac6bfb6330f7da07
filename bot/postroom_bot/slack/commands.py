# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The handler for the slash command."""

from __future__ import annotations

import time

from slack_bolt import App

from postroom_bot.domain import Change
from postroom_bot.errors import UserError
from postroom_bot.slack.handler_support import (
    EXPECTED,
    Answer,
    Body,
    Interaction,
    Services,
    interaction_of,
    reply,
    wait_for_display,
)
from postroom_bot.slack.modals import offer_password, open_modal
from postroom_bot.ui import lists, modals, parser, request_messages
from postroom_bot.ui.markup import Message
from postroom_bot.ui.reason_texts import reason_text

WORKING = "One moment ..."


def register(app: App, services: Services) -> None:
    """Register the handler for the slash command."""
    intake = services.intake

    @app.command(parser.COMMAND)
    def command(ack: Answer, body: Body, respond: Answer) -> None:
        interaction = interaction_of(body)
        answer: Message | str
        try:
            match parser.parse(str(body.get("text") or "")):
                case parser.Menu():
                    ack()
                    open_modal(services, interaction, modals.menu())
                    return
                case parser.Password(mailbox):
                    ack()
                    offer_password(services, interaction, mailbox)
                    return
                case Change() as change:
                    request = intake.submit(
                        interaction.key, change, interaction.user, interaction.team
                    )
                    answer = request_messages.received(request)
                case parser.Status(request_id):
                    answer = lists.request_list(
                        services.lookups.status(interaction.user, request_id)
                    )
                case parser.Cancel(request_id):
                    answer = reason_text(
                        intake.cancel(interaction.key, request_id, interaction.user)
                    )
                case parser.Help():
                    answer = lists.command_list()
                case lookup:
                    reply(ack, WORKING)
                    acknowledged = time.monotonic()
                    answer = look_up(services, interaction, lookup)
                    wait_for_display(acknowledged)
                    reply(respond, answer)
                    return
        except parser.InvalidCommand as error:
            answer = str(error)
        except UserError as error:
            answer = reason_text(error.reason)
        reply(ack, answer)


def look_up(services: Services, interaction: Interaction, lookup: parser.Lookup) -> Message | str:
    """Return the answer to a command that queries Slack and the mail service."""
    lookups, user, team = services.lookups, interaction.user, interaction.team
    try:
        match lookup:
            case parser.ListAliases(mailbox):
                return lists.alias_list(*lookups.aliases(user, team, mailbox))
            case parser.ListForwards():
                return lists.forward_list(lookups.forwarders(user, team))
            case parser.Dns(domain):
                found = lookups.dns(user, team, domain)
                return lists.dns_records(found.domain, found.records)
    except EXPECTED as error:
        return services.error_text(interaction, "list", error)
