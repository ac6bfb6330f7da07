# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A company with its bots: any number of processes, on either database, with either transport."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from sqlalchemy import select

from ansible_collections.postroom.email.tests.fakes.slack.delivery import (
    Answer,
    Retry,
    Transport,
)
from ansible_collections.postroom.email.tests.fakes.slack.http_transport import HttpTransport
from ansible_collections.postroom.email.tests.fakes.slack.payloads import Parcel
from ansible_collections.postroom.email.tests.fakes.slack.person import Person
from ansible_collections.postroom.email.tests.fakes.slack.records import Ack, Message
from ansible_collections.postroom.email.tests.support.bot import RunningBot, running_bot
from ansible_collections.postroom.email.tests.support.company import DOMAIN, Company, company
from ansible_collections.postroom.email.tests.support.recorder import Recorder, recording
from postroom_bot.model import Request
from postroom_bot.store import audit, requests, votes
from postroom_bot.store.audit import AuditRow
from postroom_bot.store.database import Connection, Database
from postroom_bot.store.tables import request as request_table

T = TypeVar("T")

APPROVE, DENY = "request_approve", "request_deny"
_ID = re.compile(r"R-[2-9A-Z]+")

_POLICY = """
version: 1
identity:
  slack_email: {{domains: [{domain}]}}
groups:
  mail-admins:
    usergroups: [{admins}]
  security:
    users: [{security}]
approvers: mail-admins
channels: {{approvals: {approvals}, audit: {audit}}}
limits: {{open_requests: 200, requests_per_day: 2000, aliases_per_mailbox: 500}}
rules:
  - {{name: own-password, actions: [password], own: true, automatic: true}}
  - {{name: password-of-others, actions: [password], approvals: {{mail-admins: 2}}}}
  - {{name: own-removals, actions: [alias.remove], own: true, automatic: true}}
  - {{name: own-aliases, actions: [alias.add], own: true, approvals: {{mail-admins: 1}}}}
  - name: forwards-inside
    actions: [forward.add]
    destinations: internal
    approvals: {{mail-admins: 1}}
  - name: forwards-outside
    actions: [forward.add]
    destinations: external
    approvals: {{mail-admins: 1, security: 1}}
  - {{name: no-forwards, actions: [forward.remove], approvals: {{mail-admins: 1}}}}
"""


class Plan(NamedTuple):
    """How a bot is run.

    :param mode: ``socket`` or ``http``
    :param backend: ``sqlite`` or ``postgresql``
    :param replicas: how many processes
    :param copies: how often Slack delivers everything, at the same moment
    """

    mode: str
    backend: str
    replicas: int = 1
    copies: int = 1

    def __str__(self) -> str:
        return f"{self.mode}-{self.backend}-{self.replicas}x-{self.copies}"


#: The plan of the quick tests.
HTTP = Plan("http", "sqlite")


@dataclass(frozen=True)
class Premises:
    """A company whose mail service is behind a recorder.

    :param audit: the channel for notices of what was done
    :param admins: the user group of the approvers
    """

    here: Company
    recorder: Recorder
    audit: str
    admins: str

    @property
    def policy(self) -> str:
        """The text of the policy."""
        return _POLICY.format(
            domain=DOMAIN,
            admins=self.admins,
            security=self.here.dora.id,
            approvals=self.here.approvals,
            audit=self.audit,
        )

    @property
    def people(self) -> list[Person]:
        """The four employees."""
        return [self.here.alice, self.here.bob, self.here.carol, self.here.dora]

    def hire(self, name: str, email: str | None = None, **about: Any) -> Person:
        """Give a person a Slack account that sees the cards and is in the approvers' group."""
        person = self.here.slack.person(name, email=email or f"{name}@{DOMAIN}", **about)
        world = self.here.slack.world
        with world.changed:
            world.channels[self.here.approvals].members.add(person.id)
            world.usergroups[self.admins].append(person.id)
        return person


@dataclass
class Deployment:
    """Running bots, and what the tests read of them."""

    premises: Premises
    database: str
    bots: list[RunningBot] = field(default_factory=list)

    @property
    def here(self) -> Company:
        """The company."""
        return self.premises.here

    def asks(self, person: Person, text: str) -> str:
        """Have a person type a command that becomes a request; return the request's number."""
        return number_in(person.command(f"/email {text}"))

    def card(self, person: Person, text: str) -> Message:
        """Have a person request what needs approval, and wait for the card."""
        return self.here.card_of(person, self.asks(person, text))

    def cards(self, about: str) -> list[Message]:
        """Return all cards with this text, also those that are no longer valid."""
        found = self.here.slack.messages(self.here.approvals)
        return [one for one in found if about in one.text and "asks to" in one.text]

    def approve(self, card: Message, *people: Person) -> None:
        """Have people approve, each when the card shows the approval before."""
        for number, person in enumerate(people, 1):
            assert person.press(card, APPROVE).ok
            self.wait_for_text(card, f"({number} of ")

    def wait_for_text(self, message: Message, part: str) -> None:
        """Wait until a message has this text."""
        self.here.slack.wait_for(lambda: part in message.text)

    def check_answer(self, person: Person, part: str, deed: Callable[[], object]) -> None:
        """Check that a person who does this gets an ephemeral message with this text."""
        before = len(person.sees().ephemerals)
        deed()
        self.here.slack.wait_for(
            lambda: any(part in one.text for one in person.sees().ephemerals[before:])
        )

    def audited(self, event: str, person: Person, part: str = "") -> AuditRow:
        """Wait for the audit's row of an event and a person that has this text."""

        def written() -> list[AuditRow]:
            found = self.read(partial(audit.rows, limit=10_000))
            return [
                row
                for row in found
                if (row.event, row.actor) == (event, person.id) and part in str(row.data)
            ]

        return self.here.slack.wait_for(written)[-1]

    def request(self, number: str) -> Request:
        """Return a request."""
        (found,) = [one for one in self.requests() if one.id == number]
        return found

    def requests(self) -> list[Request]:
        """Return all requests that the bots have."""
        return self.read(_all)

    def voters(self, number: str) -> list[str]:
        """Return whose votes on a request the bots have."""
        return [one.voter for one in self.read(lambda c: votes.of(c, number))]

    def events(self) -> list[str]:
        """Return the events of the audit, in order."""
        return [row.event for row in self.read(partial(audit.rows, limit=10_000))]

    def ledger(self) -> dict[str, Any]:
        """Return what the command ``ledger`` prints."""
        printed = self.bots[0].command("ledger")
        assert printed.returncode == 0, printed.stderr
        found: dict[str, Any] = json.loads(printed.stdout)
        return found

    def has_one_card_each(self) -> bool:
        """Whether each request that had to be approved has one card."""
        posted = sorted(number_of(one.text) for one in self.cards(""))
        return posted == sorted(one.id for one in self.requests() if one.card is not None)

    def read(self, work: Callable[[Connection], T]) -> T:
        """Read the bots' database."""
        database = Database(self.database)
        try:
            return database.read(work)
        finally:
            database.close()


class _Balancer:
    """Gives each delivery to another bot, in turn."""

    def __init__(self, transports: Sequence[Transport]) -> None:
        self._turns = itertools.cycle(transports)

    def send(self, parcel: Parcel, retry: Retry, seconds: float, *, at: float) -> Answer:
        """Deliver to the one whose turn it is."""
        return next(self._turns).send(parcel, retry, seconds, at=at)


@contextmanager
def premises(directory: Path) -> Iterator[Premises]:
    """Set a company up until the block ends."""
    with company(directory) as here, recording(here.mail.url) as recorder:
        audit = here.slack.channel("audit", *(here.alice, here.bob, here.carol, here.dora))
        admins = here.slack.usergroup(here.bob, here.carol, here.dora)
        yield Premises(here, recorder, audit, admins)
        assert here.slack.problems == []


@contextmanager
def deployed(
    there: Premises,
    directory: Path,
    plan: Plan,
    database: str,
    settings: Mapping[str, object] | None = None,
) -> Iterator[Deployment]:
    """Run bots until the block ends."""
    running = Deployment(there, database)
    with ExitStack() as end:
        for number in range(plan.replicas):
            place = directory / f"bot-{number}"
            given = {"replicas": plan.replicas, "audit_lines": place / "audit.jsonl"}
            bot = running_bot(
                place,
                there.here.slack,
                there.here.mail_through(there.recorder.url),
                there.policy,
                mode=plan.mode,
                database=database,
                settings={**given, **(settings or {})},
            )
            running.bots.append(end.enter_context(bot))
        slack = there.here.slack
        if plan.mode == "http":
            ways = [HttpTransport(bot.slack_url, slack.signing_secret) for bot in running.bots]
            slack.deliver_by(_Balancer(ways) if len(ways) > 1 else ways[0])
        else:
            slack.deliver_over_sockets()
            slack.wait_for_connection(plan.replicas)
        slack.delivery.copies, slack.delivery.together = plan.copies, plan.copies > 1
        yield running


def with_buttons(card: Message) -> Message:
    """Return a card as it was when it still had buttons, for a person whose Slack lags behind."""
    return replace(card, editions=card.editions[:1])


def number_in(ack: Ack) -> str:
    """Return the number of the request that a command has become."""
    assert ack.ok, ack
    return number_of(str(ack.body.get("text")))


def number_of(text: str) -> str:
    """Return the number of the request that a text names."""
    found = _ID.search(text)
    assert found is not None, text
    return found[0]


def _all(c: Connection) -> list[Request]:
    found = [requests.get(c, number) for number in c.scalars(select(request_table.c.id))]
    return [one for one in found if one is not None]
