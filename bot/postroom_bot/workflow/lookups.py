# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Queries: people see their own mailbox, and approvers see all."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeVar

from postroom_bot.backends.mail import DnsRecords, Forward
from postroom_bot.domain import Person
from postroom_bot.errors import (
    Denied,
    Forbidden,
    Rejected,
    SlackRejected,
    SlackUnavailable,
    Unavailable,
)
from postroom_bot.workflow.dependencies import Dependencies
from postroom_bot.workflow.evaluate import approves

T = TypeVar("T")


class AliasList(NamedTuple):
    """A mailbox and its further addresses, sorted."""

    mailbox: str
    aliases: list[str]


class Lookups:
    """Answers queries. Threads share it; its methods call Slack and the mail service.

    All of them raise Denied if the person may not see it or a service does not answer.
    """

    def __init__(self, deps: Dependencies) -> None:
        self._deps = deps
        self._mail = deps.mail

    def person(self, user: str, team: str) -> Person:
        """Return the person, or raise Forbidden if they may not use the bot."""
        workspace = self._deps.workspace
        if not workspace.has(team):
            raise Forbidden("person.elsewhere")
        try:
            person = self._deps.people.person(user, workspace.team)
        except (SlackUnavailable, SlackRejected):
            raise Denied("slack.unavailable") from None
        if person.obstacle:
            raise Forbidden(person.obstacle)
        return person

    def aliases(self, user: str, team: str, mailbox: str | None = None) -> AliasList:
        """Return the aliases of a mailbox.

        :param mailbox: None for the person's own
        """
        person = self.person(user, team)
        wanted = mailbox or person.mailbox
        if wanted is None:
            raise Denied(person.mailbox_obstacle or "mailbox.unknown")
        if wanted != person.mailbox and not approves(self._deps.policy(), person):
            raise Forbidden("mailbox.private")
        found = self._asked(lambda: self._mail.aliases(wanted))
        if found is None:
            raise Denied("mailbox.missing", mailbox=wanted)
        return AliasList(wanted, found)

    def forwarders(self, user: str, team: str) -> list[Forward]:
        """Return the forwarders: all for approvers, else those that lead to one's own mailbox."""
        person = self.person(user, team)
        found = self._asked(self._mail.forwarders)
        if approves(self._deps.policy(), person):
            return found
        return [one for one in found if person.mailbox in one.destinations]

    def dns(self, user: str, team: str, domain: str) -> DnsRecords:
        """Return the DNS records to publish for a domain; the world can read them anyway."""
        self.person(user, team)
        return self._asked(lambda: self._mail.dns(domain))

    def _asked(self, question: Callable[[], T]) -> T:
        """Call the mail service and translate its errors into Denied."""
        try:
            with self._deps.in_turn():
                return question()
        except Unavailable as trouble:
            raise Denied(trouble.once) from None
        except Rejected as refusal:
            raise Denied(refusal.reason) from None
