# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The command: what is known here is answered in the acknowledgement, the rest after it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from postroom_bot.errors import Denied
from postroom_bot.slack import payloads
from postroom_bot.slack.handlers.modals import Windows
from postroom_bot.slack.handlers.replies import EXPECTED, MOMENT, Answer, said, settled, show
from postroom_bot.slack.handlers.services import Services
from postroom_bot.slack.payloads import Caller
from postroom_bot.ui import lists, notifications, parser
from postroom_bot.ui.markup import Message

_Reading = parser.ListAliases | parser.ListForwards | parser.Dns
_AtOnce = parser.Help | parser.Wanted | parser.Status | parser.Cancel


class _Record(NamedTuple):
    """A DNS record, as the lists want it."""

    type: str
    host: str
    value: str
    priority: int | None


class Commands:
    """Listens to the command. Threads share it."""

    def __init__(self, services: Services, windows: Windows) -> None:
        self._services = services
        self._windows = windows

    def typed(self, ack: Answer, body: dict[str, Any], respond: Answer) -> None:
        """Do what somebody typed."""
        caller = payloads.commanded(body)
        try:
            asked = parser.parse(str(body.get("text") or ""))
        except parser.NotUnderstood as error:
            show(ack, said(error.sentence))
            return
        if isinstance(asked, _AtOnce):
            show(ack, self._at_once(asked, caller))
        elif isinstance(asked, _Reading):
            show(ack, Message(MOMENT))
            with settled():
                answer = self._read(asked, caller)
            show(respond, answer)
        else:
            self._open(asked, caller, ack)

    def _open(self, asked: parser.Menu | parser.Password, caller: Caller, ack: Answer) -> None:
        ack()
        if isinstance(asked, parser.Password):
            self._windows.offer(caller, asked.mailbox)
        else:
            self._windows.menu(caller)

    def _at_once(self, asked: _AtOnce, caller: Caller) -> Message:
        """Answer from what was typed and the database alone."""
        intake = self._services.intake
        try:
            if isinstance(asked, parser.Wanted):
                change = asked.change
                return notifications.received(
                    intake.submit(caller.key, change, caller.user, caller.team)
                )
            if isinstance(asked, parser.Status):
                return lists.request_list(intake.status(caller.user, asked.id))
        except Denied as refusal:
            return said(str(refusal))
        if isinstance(asked, parser.Cancel):
            return said(intake.cancel(caller.key, asked.id, caller.user))
        return lists.command_list()

    def _read(self, asked: _Reading, caller: Caller) -> Message:
        """Answer with what has to be looked up elsewhere; nothing is changed by it."""
        lookups = self._services.lookups
        try:
            if isinstance(asked, parser.ListAliases):
                return lists.alias_list(*lookups.aliases(caller.user, caller.team, asked.mailbox))
            if isinstance(asked, parser.ListForwards):
                return lists.forward_list(lookups.forwarders(caller.user, caller.team))
            found = lookups.dns(caller.user, caller.team, asked.domain)
            return lists.dns_records(found.domain, [_record(one) for one in found.records])
        except EXPECTED as error:
            return said(self._services.refused(caller, "list", error))


def _record(told: Mapping[str, Any]) -> _Record:
    priority = told.get("priority")
    return _Record(
        str(told["type"]),
        str(told["host"]),
        str(told["value"]),
        None if priority is None else int(priority),
    )
