# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A company with its bots: as many processes as wanted, over any database, reached in any way."""

from __future__ import annotations

import itertools
import json
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from sqlalchemy import select

from ansible_collections.postroom.email.tests.bot.listeners.hands import card_of
from ansible_collections.postroom.email.tests.fakes.slack.delivery import (
    Answer,
    Retry,
    Transport,
)
from ansible_collections.postroom.email.tests.fakes.slack.http_transport import HttpTransport
from ansible_collections.postroom.email.tests.fakes.slack.payloads import Parcel
from ansible_collections.postroom.email.tests.fakes.slack.person import Person
from ansible_collections.postroom.email.tests.fakes.slack.records import Ack, Message
from ansible_collections.postroom.email.tests.support.bot import PROGRAM, RunningBot, running_bot
from ansible_collections.postroom.email.tests.support.company import DOMAIN, Company, company
from ansible_collections.postroom.email.tests.support.recorder import Recorder, recording
from postroom_bot.model import Request
from postroom_bot.store import audit, requests
from postroom_bot.store.database import Connection, Database
from postroom_bot.store.tables import request as request_table

T = TypeVar("T")

_ID = re.compile(r"R-[2-9A-Z]+")

_POLICY = """
version: 1
identity:
  slack_email: {{domains: [{domain}]}}
groups:
  mail-admins:
    users: [{admins}]
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


class MailAccess(NamedTuple):
    """How bots get into the mail service."""

    url: str
    token: str


@dataclass(frozen=True)
class Premises:
    """A company whose mail service is behind a recorder.

    :param audit: the channel that is told of what was done
    """

    here: Company
    recorder: Recorder
    audit: str

    @property
    def policy(self) -> str:
        """The text of the policy."""
        here = self.here
        admins = ", ".join(person.id for person in (here.bob, here.carol, here.dora))
        return _POLICY.format(
            domain=DOMAIN,
            admins=admins,
            security=here.dora.id,
            approvals=here.approvals,
            audit=self.audit,
        )

    @property
    def mail(self) -> MailAccess:
        """The way to the mail service that passes the recorder."""
        return MailAccess(self.recorder.url, self.here.mail.token)

    @property
    def people(self) -> list[Person]:
        """Everybody."""
        return [self.here.alice, self.here.bob, self.here.carol, self.here.dora]


@dataclass
class Deployment:
    """Running bots, and what is looked at again and again."""

    premises: Premises
    database: str
    bots: list[RunningBot] = field(default_factory=list)

    @property
    def here(self) -> Company:
        """The company."""
        return self.premises.here

    def asks(self, person: Person, text: str) -> str:
        """Have somebody type a command that becomes a request; return the request's number."""
        return number_in(person.command(f"/email {text}"))

    def card(self, person: Person, text: str) -> Message:
        """Have somebody ask for what needs approval, and wait for the card."""
        return card_of(self.here, person, self.asks(person, text))

    def cards(self, about: str) -> list[Message]:
        """Return all cards that say this, also those that are no longer valid."""
        found = self.here.slack.messages(self.here.approvals)
        return [one for one in found if about in one.text and "asks to" in one.text]

    def wait_told(self, person: Person, *parts: str) -> Message:
        """Wait until the bot has told somebody, in one direct message, all of this."""

        def told() -> list[Message]:
            return [one for one in person.sees().direct if all(part in one.text for part in parts)]

        return self.here.slack.wait_for(told)[-1]

    def wait_for_text(self, message: Message, part: str) -> None:
        """Wait until a message says this."""
        self.here.slack.wait_for(lambda: part in message.text)

    def wait_until_there(self, address: str, mailbox: str) -> None:
        """Wait until the mail service delivers an address to a mailbox."""
        self.here.slack.wait_for(lambda: address in self.here.aliases(mailbox))

    def check_answer(self, person: Person, part: str, deed: Callable[[], object]) -> None:
        """See that somebody who does this is told this, in a message that only they see."""
        before = len(person.sees().ephemerals)
        deed()
        self.here.slack.wait_for(
            lambda: any(part in one.text for one in person.sees().ephemerals[before:])
        )

    def requests(self) -> list[Request]:
        """Return all requests that the bots have."""
        return self._read(_all)

    def events(self) -> list[str]:
        """Return what the audit tells of, in order."""
        return [row.event for row in self._read(partial(audit.rows, limit=10_000))]

    def ledger(self) -> dict[str, Any]:
        """Return what the command ``ledger`` prints."""
        printed = self.bots[0].command("ledger")
        assert printed.returncode == 0, printed.stderr
        found: dict[str, Any] = json.loads(printed.stdout)
        return found

    def check_audit(self) -> None:
        """See that the audit's chain is whole."""
        assert self._read(audit.verify).count > 0

    def check_cards(self) -> None:
        """See that each request that had to be approved has one card, and no other has one.

        A card may be there a moment before the bot knows of it.
        """
        self.here.slack.wait_for(lambda: self._posted() == self._known())

    def _posted(self) -> list[str]:
        return sorted(
            number_of(one.text)
            for one in self.here.slack.messages(self.here.approvals)
            if "asks to" in one.text
        )

    def _known(self) -> list[str]:
        return sorted(one.id for one in self.requests() if one.card is not None)

    def _read(self, work: Callable[[Connection], T]) -> T:
        database = Database(self.database)
        try:
            return database.read(work)
        finally:
            database.close()


class Balancer:
    """Gives each delivery to another one, in turn."""

    def __init__(self, transports: Sequence[Transport]) -> None:
        self._turns = itertools.cycle(transports)

    def send(self, parcel: Parcel, retry: Retry, seconds: float, *, at: float) -> Answer:
        """Deliver to the one whose turn it is."""
        return next(self._turns).send(parcel, retry, seconds, at=at)


@contextmanager
def premises(directory: Path, faults: str | None = None) -> Iterator[Premises]:
    """Set a company up until the block ends.

    :param faults: of the mail service
    """
    with company(directory, faults=faults) as here, recording(here.mail.url) as recorder:
        audit = here.slack.channel("audit", *(here.alice, here.bob, here.carol, here.dora))
        yield Premises(here, recorder, audit)


@contextmanager
def deployed(
    there: Premises, directory: Path, plan: Plan, database: str, *, options: Sequence[str] = ()
) -> Iterator[Deployment]:
    """Run bots until the block ends.

    :param options: for the launcher; without any, it is the product that runs
    """
    running = Deployment(there, database)
    program = launcher(*options) if options else PROGRAM
    with ExitStack() as end:
        for number in range(plan.replicas):
            bot = running_bot(
                directory / f"bot-{number}",
                there.here.slack,
                there.mail,
                there.policy,
                mode=plan.mode,
                database=database,
                settings={"replicas": plan.replicas},
                program=program,
            )
            running.bots.append(end.enter_context(bot))
        connect(running, plan)
        yield running


def connect(running: Deployment, plan: Plan) -> None:
    """Have Slack deliver to the bots as planned."""
    slack = running.here.slack
    if plan.mode == "http":
        ways = [HttpTransport(bot.slack_url, slack.signing_secret) for bot in running.bots]
        slack.deliver_by(Balancer(ways))
    else:
        slack.deliver_over_sockets()
        slack.wait_for_connection(plan.replicas)
    slack.delivery.copies, slack.delivery.together = plan.copies, plan.copies > 1


def launcher(*options: str) -> tuple[str, ...]:
    """Return the program that is the bot with what nobody can set."""
    return (sys.executable, str(Path(__file__).with_name("launcher.py")), *options)


def put_ahead(clock: Path, **parts: float) -> None:
    """Put the clock of running bots ahead of the time, by parts as `timedelta` takes them."""
    fresh = clock.with_suffix(".new")
    fresh.write_text(str(timedelta(**parts).total_seconds()), encoding="ascii")
    fresh.replace(clock)


def with_buttons(card: Message) -> Message:
    """Return a card as it was when it still had buttons, for somebody who did not look again."""
    return replace(card, editions=card.editions[:1])


def number_in(ack: Ack) -> str:
    """Return the number of the request that a command has become."""
    assert ack.ok, ack
    return number_of(str(ack.body.get("text")))


def number_of(text: str) -> str:
    """Return the number of the request that a text speaks of."""
    found = _ID.search(text)
    assert found is not None, text
    return found[0]


def _all(c: Connection) -> list[Request]:
    found = [requests.get(c, number) for number in c.scalars(select(request_table.c.id))]
    return [one for one in found if one is not None]
