# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What people may look at: their own mailbox, and, where they approve things, those of others."""

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
from postroom_bot.ui import messages
from postroom_bot.workflow.dependencies import Dependencies
from postroom_bot.workflow.recheck import approves

T = TypeVar("T")


class AliasList(NamedTuple):
    """A mailbox and its further addresses, sorted."""

    mailbox: str
    aliases: list[str]


class Lookups:
    """Looks things up for people. Threads share it; its methods ask Slack and the mail service.

    All of them raise Refusal where the person may not see it or nobody answers.
    """

    def __init__(self, deps: Dependencies) -> None:
        self._deps = deps
        self._mail = deps.mail

    def person(self, user: str, team: str) -> Person:
        """Return who this is, if they may use the bot."""
        workspace = self._deps.workspace
        if not workspace.has(team):
            raise Forbidden(messages.ELSEWHERE)
        try:
            person = self._deps.people.person(user, workspace.team)
        except (SlackUnavailable, SlackRejected):
            raise Denied(messages.SLACK_DOWN) from None
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
            raise Denied(person.mailbox_obstacle or messages.NO_MAILBOX_OF_YOURS)
        if wanted != person.mailbox and not approves(self._deps.policy(), person):
            raise Forbidden(messages.NOT_YOURS_TO_SEE)
        found = self._asked(lambda: self._mail.aliases(wanted))
        if found is None:
            raise Denied(messages.no_mailbox(wanted))
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
        """Ask the mail service, whose trouble leaves as a sentence."""
        try:
            with self._deps.in_turn():
                return question()
        except Unavailable as trouble:
            raise Denied(messages.try_again(trouble)) from None
        except Rejected as refusal:
            raise Denied(str(refusal)) from None
