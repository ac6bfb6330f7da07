# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The handlers for the slash command, the buttons of requests, and the events of Slack."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Any

from slack_bolt import App

from postroom_bot.domain import ButtonPress, Change
from postroom_bot.errors import UserError
from postroom_bot.slack.interactions import (
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
from postroom_bot.store import requests, slack_records
from postroom_bot.ui import lists, parser, request_messages, views
from postroom_bot.ui.markup import Message
from postroom_bot.ui.reason_texts import reason_text

WORKING = "One moment ..."


def register(app: App, services: Services) -> None:
    """Register all handlers in this module."""
    _register_command(app, services)
    _register_buttons(app, services)
    _register_events(app, services)


def _register_command(app: App, services: Services) -> None:
    intake = services.intake

    @app.command(parser.COMMAND)
    def command(ack: Answer, body: Body, respond: Answer) -> None:
        interaction = interaction_of(body)
        answer: Message | str
        try:
            match parser.parse(str(body.get("text") or "")):
                case parser.Menu():
                    ack()
                    open_modal(services, interaction, views.menu())
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


def _register_buttons(app: App, services: Services) -> None:
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
        open_modal(services, interaction, views.deny_reason(interaction.value, interaction.card))

    @app.view_submission(views.DENY_REASON)
    def deny(ack: Answer, body: Body) -> None:
        interaction, view = interaction_of(body), body["view"]
        request_id, card, justification = views.read_deny_reason(
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
        ack(response_action="update", view=views.text_modal(reason_text(answer)))

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


def _register_events(app: App, services: Services) -> None:

    @app.event("app_home_opened")
    def home_opened(event: dict[str, Any]) -> None:
        if event.get("tab") == "home":
            publish_home(services, str(event["user"]))

    @app.event("user_change")
    def user_changed(event: dict[str, Any]) -> None:
        user = str(event["user"]["id"])
        services.deps.people.forget(user)
        # Look the person up now, to record when their email address changed. Slack reports changes
        # to all accounts, but most users never use the bot.
        recorded = services.deps.database.read(lambda c: slack_records.last_email(c, user))
        if recorded is not None:
            services.deps.people.person(user, services.deps.workspace.team, fresh=True)


def publish_home(services: Services, user: str) -> None:
    """Update a person's Home tab."""
    # In an organization, the event may come from a workspace other than the bot's.
    person = services.deps.people.person(user, services.deps.workspace.team)
    found = services.deps.database.read(lambda c: requests.open_by(c, user))
    waiting = [] if person.obstacle else services.deps.database.read(requests.waiting)
    to_approve = [
        request
        for request in waiting
        if request.requester != user and any(one.group in person.groups for one in request.quorum)
    ]
    aliases = None
    if not person.obstacle and person.mailbox:
        with suppress(UserError):
            aliases = services.lookups.aliases(person.user, person.team).aliases
    services.deps.slack_api.publish_home(user, views.home_tab(person, aliases, found, to_approve))
