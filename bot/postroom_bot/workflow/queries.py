# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Answer queries from the database, Slack and the mail service while the person waits."""

from __future__ import annotations

from typing import NamedTuple

from postroom_bot.backends.mail_api import DnsRecords, Forward
from postroom_bot.domain import Request
from postroom_bot.errors import Forbidden, UserError, user_error_if_unavailable
from postroom_bot.policy.engine import is_approver
from postroom_bot.store import requests
from postroom_bot.workflow.dependencies import Dependencies


class AliasList(NamedTuple):
    """A mailbox and its aliases, sorted."""

    mailbox: str
    aliases: list[str]


class Queries:
    """A thread-safe service that answers queries. Only approvers see other people's mailboxes.

    All methods raise UserError if the person lacks permission or a service is unavailable.
    """

    def __init__(self, deps: Dependencies) -> None:
        self._deps = deps

    def status(self, user: str, request_id: str | None = None) -> list[Request]:
        """Return the person's latest requests, or only the request with this id."""
        database = self._deps.database
        if request_id is None:
            return database.read(lambda c: requests.recent_by(c, user))
        found = database.read(lambda c: requests.get(c, request_id))
        if found is None or found.requester != user:
            raise UserError("request.unknown", request=request_id)
        return [found]

    def aliases(self, user: str, team: str, mailbox: str | None = None) -> AliasList:
        """Return the aliases of a mailbox.

        :param mailbox: the mailbox; None for the person's own
        """
        with user_error_if_unavailable():
            person = self._deps.people.caller(user, team)
            wanted = mailbox or person.mailbox
            if wanted is None:
                raise UserError(person.mailbox_obstacle or "mailbox.unknown")
            if wanted != person.mailbox and not is_approver(self._deps.policy(), person):
                raise Forbidden("mailbox.private")
            with self._deps.mail_slot():
                found = self._deps.mail.aliases(wanted)
        if found is None:
            raise UserError("mailbox.missing", mailbox=wanted)
        return AliasList(wanted, found)

    def forwarders(self, user: str, team: str) -> list[Forward]:
        """Return the forwarders to the person's own mailbox, or all of them for approvers."""
        with user_error_if_unavailable():
            person = self._deps.people.caller(user, team)
            with self._deps.mail_slot():
                found = self._deps.mail.forwarders()
        if is_approver(self._deps.policy(), person):
            return found
        return [one for one in found if person.mailbox in one.destinations]

    def dns(self, user: str, team: str, domain: str) -> DnsRecords:
        """Return the DNS records to publish for a domain. Anyone may see these public records."""
        with user_error_if_unavailable():
            self._deps.people.caller(user, team)
            with self._deps.mail_slot():
                return self._deps.mail.dns(domain)
