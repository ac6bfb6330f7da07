# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""How long Slack waits for the bot's acknowledgement while people type and the worker works.

The bot and the mail service are processes of their own, and so is what sends the commands. This one
plays Slack, which the bot posts to and asks who people are.
"""

from __future__ import annotations

import base64
import itertools
import json
import math
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime, timezone
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from ansible_collections.postroom.email.tests.benchmark.measure import Ratio
from ansible_collections.postroom.email.tests.fakes.slack import payloads
from ansible_collections.postroom.email.tests.fakes.slack.person import Person
from ansible_collections.postroom.email.tests.support import postgresql
from ansible_collections.postroom.email.tests.support.bot import RunningBot, running_bot
from ansible_collections.postroom.email.tests.support.company import (
    DOMAIN,
    Company,
    company,
    employed,
)
from ansible_collections.postroom.email.tests.support.service import RunningService

COMMANDS_PER_ITEM = 2
PEOPLE = 20
RATE = 50
CONNECTIONS = 16
WARMING_UP = 16
#: What is typed, in turn. The first becomes work for the worker; the last opens a window.
TYPED = ("alias add {}", "status", "help", "password")
#: Slack's own limit, and the project's goal for 99 in 100, in milliseconds.
SLACKS_LIMIT = 3000.0
GOAL = 100.0
#: Milliseconds in which others are served, too: they don't say how many a second there may be.
WAIT = "ms wait"


class Took(NamedTuple):
    """Seconds.

    :param all: of all commands together
    :param each: of each
    """

    all: float
    each: list[float]


class Crowd:
    """People who type commands."""

    def __init__(self, here: Company, people: list[Person], bot: RunningBot, folder: Path) -> None:
        self._here = here
        self._bot = bot
        self._slack = here.slack.deliver_over_http(bot.slack_url)
        self._file = folder / "requests.json"
        self._people = itertools.cycle(people)
        self._numbers = itertools.count()
        self._asked = 0

    def type(self, count: int, how: str, often: int) -> Took:
        """Have so many commands typed, in one of the ways of hurry.py."""
        requests = [base64.b64encode(self._request()).decode() for _ in range(count)]
        self._file.write_text(json.dumps(requests), "utf-8")
        address = urlsplit(self._slack.url)
        program = str(Path(__file__).with_name("hurry.py"))
        where = [str(address.hostname), str(address.port), str(self._file)]
        done = subprocess.run(
            [sys.executable, program, *where, how, str(often)], stdout=subprocess.PIPE, check=True
        )
        return Took(**json.loads(done.stdout))

    def check(self) -> None:
        """Make sure that each wish has become a request, and that Slack has nothing to object."""
        rows = map(json.loads, self._bot.command("audit", "show").stdout.splitlines())
        kept = sum(row["event"] == "request.new" for row in rows)
        if kept != self._asked or self._here.slack.problems:
            raise RuntimeError(f"{kept} of {self._asked} requests; {self._here.slack.problems[:3]}")

    def _request(self) -> bytes:
        """Return a new command as it goes over the wire, signed now."""
        number = next(self._numbers)
        text = TYPED[number % len(TYPED)]
        self._asked += "{}" in text
        world, person = self._here.slack.world, next(self._people)
        channel = world.channels[person.channel]
        typed = f"/email {text.format(f'project-{number}@{DOMAIN}')}"
        parcel = payloads.command(world, person.user, channel, typed)
        signed = self._slack.signed(parcel, at=time.time())
        address = urlsplit(self._slack.url)
        headers = {
            **signed.headers,
            "Host": address.netloc,
            "Content-Length": len(signed.body),
            "Connection": "close",
        }
        lines = [f"POST {address.path} HTTP/1.1", *(f"{k}: {v}" for k, v in headers.items())]
        return "\r\n".join([*lines, "", ""]).encode() + signed.body


@contextmanager
def crowd(folder: Path, database: str | None) -> Iterator[Crowd]:
    """Set a company with a bot up.

    :param database: a URL; None for an SQLite file
    """
    # Triggers and the like live by this clock: those that were made ready are still good later.
    now = datetime.now(timezone.utc)
    settings = {"auto_migrate": True}
    with ExitStack() as end:
        here = end.enter_context(company(folder, clock=lambda: now))
        names = (f"person-{number}" for number in range(PEOPLE))
        people = [employed(here.slack, here.api, name) for name in names]
        running = running_bot(
            folder / "bot",
            here.slack,
            here.mail,
            here.policy,
            mode="http",
            database=database,
            settings=settings,
        )
        yield Crowd(here, people, end.enter_context(running), folder)


@contextmanager
def databases() -> Iterator[dict[str, str | None]]:
    """Give the kinds of databases that there are here, each with its URL."""
    kinds: dict[str, str | None] = {"SQLite": None}
    with ExitStack() as end:
        if (place := postgresql.binaries()) is not None:
            kinds["PostgreSQL"] = end.enter_context(postgresql.cluster(place))
        yield kinds


def measure(service: RunningService, folder: Path, items: int, rounds: int) -> list[Ratio]:
    """Have people type, at a rate first, then as fast as it goes."""
    ratios = []
    count = COMMANDS_PER_ITEM * items
    with databases() as kinds:
        for kind, url in kinds.items():
            with crowd(folder / f"acks-{kind}", url) as people:
                people.type(WARMING_UP, "connections", 1)
                at_rate = [people.type(count, "rate", RATE) for _ in range(rounds)]
                at_once = [people.type(count, "connections", CONNECTIONS) for _ in range(rounds)]
                people.check()
            ratios += [*_waits(kind, at_rate), _capacity(kind, at_once)]
    return ratios


def _waits(kind: str, took: list[Took]) -> Iterator[Ratio]:
    """Yield what became of the commands that came at a rate."""
    waits = [sorted(seconds * 1000 for seconds in each.each) for each in took]
    longest = max(each[-1] for each in waits)
    late = sum(wait > SLACKS_LIMIT for each in waits for wait in each)

    def row(what: str, wait: float, limit: float, goal: float | None) -> Ratio:
        against = f"{limit:.0f} ms"
        return Ratio(f"{name}: {what}", against, wait, limit, "acknowledgement", goal, WAIT)

    name = f"acks at {RATE}/s, {kind}"
    yield row("median", _usual(waits, 50), GOAL, None)
    yield row("99 in 100", _usual(waits, 99), GOAL, 1.0)
    yield row("longest", longest, SLACKS_LIMIT, 1.0)
    count = sum(map(len, waits))
    yield Ratio(f"{name}: past 3 s", "all", late, count, "acknowledgement", 0.0, "")


def _usual(waits: list[list[float]], percent: int) -> float:
    """Return the median over the rounds of what so many in a hundred did not wait longer than."""
    return statistics.median(each[math.ceil(len(each) * percent / 100) - 1] for each in waits)


def _capacity(kind: str, took: list[Took]) -> Ratio:
    """Return what a command costs where others wait, which is how many there can be a second."""
    cost = statistics.median(1000 * each.all / len(each.each) for each in took)
    what = f"acks, {kind}: {CONNECTIONS} connections"
    return Ratio(what, f"{RATE}/s", cost, 1000 / RATE, "command", 1.0)
