# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The slash command. The acknowledgement carries the answer if it needs the database alone."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

from slack_bolt import App

from postroom_bot.errors import Denied
from postroom_bot.slack.handlers.modals import Modals
from postroom_bot.slack.handlers.services import (
    EXPECTED,
    Answer,
    Services,
    plain_message,
    reason_message,
    reply,
    settle,
)
from postroom_bot.slack.payloads import Caller, command_caller
from postroom_bot.ui import lists, notifications, parser
from postroom_bot.ui.markup import Message

WORKING = "One moment ..."

_Lookup = parser.ListAliases | parser.ListForwards | parser.Dns


class _Record(NamedTuple):
    type: str
    host: str
    value: str
    priority: int | None


def register(app: App, services: Services, modals: Modals) -> None:
    """Register the handler of the slash command."""

    @app.command(parser.COMMAND)
    def command(ack: Answer, body: dict[str, Any], respond: Answer) -> None:
        caller = command_caller(body)
        try:
            command = parser.parse(str(body.get("text") or ""))
        except parser.InvalidCommand as error:
            reply(ack, plain_message(str(error)))
            return
        if isinstance(command, parser.Menu):
            ack()
            modals.open_menu(caller)
        elif isinstance(command, parser.Password):
            ack()
            modals.offer_password(caller, command.mailbox)
        elif isinstance(command, _Lookup):
            reply(ack, Message(WORKING))
            acknowledged = time.monotonic()
            answer = _look_up(services, caller, command)
            settle(acknowledged)
            reply(respond, answer)
        else:
            reply(ack, _answer(services, caller, command))


def _answer(
    services: Services,
    caller: Caller,
    command: parser.Help | parser.Ask | parser.Status | parser.Cancel,
) -> Message:
    """Return the answer to a command that needs the database alone."""
    intake = services.intake
    try:
        match command:
            case parser.Ask(change):
                request = intake.submit(caller.key, change, caller.user, caller.team)
                return notifications.received(request)
            case parser.Status(request_id):
                return lists.request_list(intake.status(caller.user, request_id))
            case parser.Cancel(request_id):
                return reason_message(intake.cancel(caller.key, request_id, caller.user))
            case parser.Help():
                return lists.command_list()
    except Denied as denial:
        return reason_message(denial.reason)


def _look_up(services: Services, caller: Caller, command: _Lookup) -> Message:
    """Return the answer to a command that asks Slack and the mail service."""
    lookups, who = services.lookups, (caller.user, caller.team)
    try:
        match command:
            case parser.ListAliases(mailbox):
                return lists.alias_list(*lookups.aliases(*who, mailbox))
            case parser.ListForwards():
                return lists.forward_list(lookups.forwarders(*who))
            case parser.Dns(domain):
                found = lookups.dns(*who, domain)
                records = [
                    _Record(one["type"], one["host"], one["value"], one.get("priority"))
                    for one in found.records
                ]
                return lists.dns_records(found.domain, records)
    except EXPECTED as error:
        return reason_message(services.reason_of(caller, "list", error))
