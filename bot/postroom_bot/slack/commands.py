# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The handler of the slash command."""

from __future__ import annotations

import time

from slack_bolt import App

from postroom_bot.domain import Change
from postroom_bot.errors import Denied
from postroom_bot.slack.interactions import (
    EXPECTED,
    Answer,
    Body,
    Interaction,
    Services,
    interaction_of,
    reply,
    settle,
)
from postroom_bot.slack.modals import offer_password, open_modal
from postroom_bot.ui import lists, messages, notifications, parser, views
from postroom_bot.ui.markup import Message

WORKING = "One moment ..."


def register(app: App, services: Services) -> None:
    """Register the handler of the slash command."""
    intake = services.intake

    @app.command(parser.COMMAND)
    def command(ack: Answer, body: Body, respond: Answer) -> None:
        acted = interaction_of(body)
        answer: Message | str
        try:
            match parser.parse(str(body.get("text") or "")):
                case parser.Menu():
                    ack()
                    open_modal(services, acted, views.menu())
                    return
                case parser.Password(mailbox):
                    ack()
                    offer_password(services, acted, mailbox)
                    return
                case Change() as change:
                    request = intake.submit(acted.key, change, acted.user, acted.team)
                    answer = notifications.received(request)
                case parser.Status(request_id):
                    answer = lists.request_list(intake.status(acted.user, request_id))
                case parser.Cancel(request_id):
                    answer = messages.text(intake.cancel(acted.key, request_id, acted.user))
                case parser.Help():
                    answer = lists.command_list()
                case lookup:
                    reply(ack, WORKING)
                    acknowledged = time.monotonic()
                    answer = look_up(services, acted, lookup)
                    settle(acknowledged)
                    reply(respond, answer)
                    return
        except parser.InvalidCommand as error:
            answer = str(error)
        except Denied as denial:
            answer = messages.text(denial.reason)
        reply(ack, answer)


def look_up(services: Services, acted: Interaction, lookup: parser.Lookup) -> Message | str:
    """Return the answer to a command that queries Slack and the mail service."""
    lookups, user, team = services.lookups, acted.user, acted.team
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
        return services.reason_text(acted, "list", error)
