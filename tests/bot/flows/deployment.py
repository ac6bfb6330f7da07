# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A company with any number of bot processes, on either database and with either transport."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeVar

from sqlalchemy import select

from ansible_collections.postroom.email.tests.fakes.slack.delivery import (
    HttpTransport,
    SlackRequest,
    Transport,
)
from ansible_collections.postroom.email.tests.fakes.slack.person import Person
from ansible_collections.postroom.email.tests.fakes.slack.workspace_state import Ack, Message
from ansible_collections.postroom.email.tests.support.bot import RunningBot, running_bot
from ansible_collections.postroom.email.tests.support.company import Company, open_company
from ansible_collections.postroom.email.tests.support.recording_proxy import Recorder, recording
from postroom_bot.domain import Request
from postroom_bot.store import audit, requests
from postroom_bot.store.audit import AuditRow
from postroom_bot.store.tables import request as request_table
from postroom_common.database import Connection, Database

T = TypeVar("T")

APPROVE, DENY = "request_approve", "request_deny"
_ID = re.compile(r"R-[2-9A-Z]+")


class Plan(NamedTuple):
    """A way to run bots. Slack delivers `copies` copies of each event simultaneously."""

    mode: str
    backend: str
    replicas: int = 1
    copies: int = 1

    def __str__(self) -> str:
        return f"{self.mode}-{self.backend}-{self.replicas}x-{self.copies}"


#: The plan that the quick tests use.
HTTP = Plan("http", "sqlite")


@dataclass(frozen=True)
class Environment:
    """A company whose mail service is behind a recorder.

    :param audit: the channel for notices of completed requests
    """

    company: Company
    recorder: Recorder
    audit: str

    @property
    def policy(self) -> str:
        """The text of the policy."""
        audited = self.company.policy.replace("{approvals: ", f"{{audit: {self.audit}, approvals: ")
        limits = "open_requests: 200, aliases_per_mailbox: 500"
        return audited.replace("open_requests: 100", limits)

    @property
    def people(self) -> list[Person]:
        """The four employees."""
        return [self.company.alice, self.company.bob, self.company.carol, self.company.dora]


@dataclass
class Deployment:
    """Running bots, and methods that tests use to operate and inspect them."""

    environment: Environment
    database: str
    bots: list[RunningBot] = field(default_factory=list)

    @property
    def company(self) -> Company:
        """The company."""
        return self.environment.company

    def card(self, person: Person, text: str) -> Message:
        """Request a change that needs approval as the given user, and wait for the card."""
        return self.company.card_of(person, number_in(person.command(f"/email {text}")))

    def cards(self, about: str) -> list[Message]:
        """Return all cards that contain the given text, including superseded cards."""
        found = self.company.slack.messages(self.company.approvals)
        return [one for one in found if about in one.text and "asks to" in one.text]

    def approve(self, card: Message, *people: Person) -> None:
        """Have several people approve, each of them after the card shows the previous approval."""
        for number, person in enumerate(people, 1):
            assert person.press(card, APPROVE).ok
            self.wait_for_text(card, f"({number} of ")

    def wait_for_text(self, message: Message, part: str) -> None:
        """Wait until a message contains the given text."""
        self.company.slack.wait_for(lambda: part in message.text)

    def check_answer(self, person: Person, part: str, deed: Callable[[], object]) -> None:
        """Check that an action is answered with an ephemeral message that contains the text."""
        before = len(person.sees().ephemerals)
        deed()
        self.company.slack.wait_for(
            lambda: any(part in one.text for one in person.sees().ephemerals[before:])
        )

    def audited(self, event: str, person: Person, part: str = "") -> AuditRow:
        """Wait for an audit row with this event and actor, whose data contains the text."""

        def written() -> list[AuditRow]:
            rows = self.read(partial(audit.rows, limit=10_000))
            found = [row for row in rows if (row.event, row.actor) == (event, person.id)]
            return [row for row in found if part in str(row.data)]

        return self.company.slack.wait_for(written)[-1]

    def requests(self) -> list[Request]:
        """Return all requests in the bots' database."""

        def found(c: Connection) -> list[Request | None]:
            return [requests.get(c, one) for one in c.scalars(select(request_table.c.id))]

        return [one for one in self.read(found) if one is not None]

    def has_one_card_each(self) -> bool:
        """Return whether each request that needed approval has exactly one card."""
        posted = sorted(number_of(one.text) for one in self.cards(""))
        return posted == sorted(one.id for one in self.requests() if one.card is not None)

    def read(self, work: Callable[[Connection], T]) -> T:
        """Read from the bots' database."""
        database = Database(self.database)
        try:
            return database.read(work)
        finally:
            database.close()


class _Balancer:
    """A transport that delivers to each bot in turn."""

    def __init__(self, transports: Sequence[Transport]) -> None:
        self._turns = itertools.cycle(transports)

    def send(self, slack_request: SlackRequest, seconds: float, *, at: float) -> Ack:
        """Deliver to the next bot."""
        return next(self._turns).send(slack_request, seconds, at=at)


@contextmanager
def environment(directory: Path) -> Iterator[Environment]:
    """Provide a company until the block ends."""
    with open_company(directory) as company, recording(company.mail.url) as recorder:
        audit = company.slack.channel(
            "audit", *(company.alice, company.bob, company.carol, company.dora)
        )
        yield Environment(company, recorder, audit)
        assert company.slack.problems == []


@contextmanager
def deployed(
    there: Environment,
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
            given["api_url"] = there.recorder.url
            bot = running_bot(
                place,
                there.company.slack,
                there.company.mail,
                there.policy,
                mode=plan.mode,
                database=database,
                settings={**given, **(settings or {})},
            )
            running.bots.append(end.enter_context(bot))
        slack = there.company.slack
        if plan.mode == "http":
            ways = [HttpTransport(bot.slack_url, slack.signing_secret) for bot in running.bots]
            slack.deliver_by(_Balancer(ways) if len(ways) > 1 else ways[0])
        else:
            slack.deliver_over_sockets()
            slack.wait_for_connection(plan.replicas)
        slack.delivery.copies, slack.delivery.together = plan.copies, plan.copies > 1
        yield running


def number_in(ack: Ack) -> str:
    """Return the ID of the request that a command created."""
    assert ack.ok, ack
    return number_of(str(ack.body.get("text")))


def number_of(text: str) -> str:
    """Return the request ID that the text contains."""
    found = _ID.search(text)
    assert found is not None, text
    return found[0]
