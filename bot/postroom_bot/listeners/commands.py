# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The command: what is known here is answered in the acknowledgement, the rest after it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from postroom_bot.words import lists, notices, parse
from postroom_bot.words.message import Message
from postroom_bot.work.deps import Refusal

from . import payloads
from .answers import EXPECTED, MOMENT, Answer, said, settled, show
from .payloads import Caller
from .services import Services
from .windows import Windows

_Reading = parse.ListAliases | parse.ListForwards | parse.Dns
_AtOnce = parse.Help | parse.Wanted | parse.Status | parse.Cancel


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
            asked = parse.parse(str(body.get("text") or ""))
        except parse.NotUnderstood as error:
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

    def _open(self, asked: parse.Menu | parse.Password, caller: Caller, ack: Answer) -> None:
        ack()
        if isinstance(asked, parse.Password):
            self._windows.offer(caller, asked.mailbox)
        else:
            self._windows.menu(caller)

    def _at_once(self, asked: _AtOnce, caller: Caller) -> Message:
        """Answer from what was typed and the database alone."""
        desk = self._services.desk
        try:
            if isinstance(asked, parse.Wanted):
                wish = asked.wish
                return notices.received(desk.submit(caller.key, wish, caller.user, caller.team))
            if isinstance(asked, parse.Status):
                return lists.request_list(desk.status(caller.user, asked.id))
        except Refusal as refusal:
            return said(str(refusal))
        if isinstance(asked, parse.Cancel):
            return said(desk.cancel(caller.key, asked.id, caller.user))
        return lists.commands()

    def _read(self, asked: _Reading, caller: Caller) -> Message:
        """Answer with what has to be looked up elsewhere; nothing is changed by it."""
        readers = self._services.readers
        try:
            if isinstance(asked, parse.ListAliases):
                return lists.alias_list(*readers.aliases(caller.user, caller.team, asked.mailbox))
            if isinstance(asked, parse.ListForwards):
                return lists.forward_list(readers.forwarders(caller.user, caller.team))
            found = readers.dns(caller.user, caller.team, asked.domain)
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
