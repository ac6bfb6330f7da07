# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Measure how fast the bot acknowledges commands, and how many commands it handles per second.

The bot, the mail service and the sender of the commands are separate processes. This process
simulates Slack.
"""

from __future__ import annotations

import asyncio
import base64
import itertools
import json
import math
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime, timezone
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ansible_collections.postroom.email.tests.benchmark.measure import Ratio
from ansible_collections.postroom.email.tests.fakes.slack import delivery
from ansible_collections.postroom.email.tests.support import postgresql, system_programs
from ansible_collections.postroom.email.tests.support.bot import running_bot
from ansible_collections.postroom.email.tests.support.company import DOMAIN, employed, open_company
from ansible_collections.postroom.email.tests.support.service import RunningService

COMMANDS_PER_ITEM = 2
PEOPLE = 20
RATE = 50
CONNECTIONS = 16
WARMING_UP = 16
LONGEST_ANSWER = 30.0
#: The commands, sent in turn. `alias add` creates work for the worker; `password` opens a modal.
TYPED = ("alias add {}", "status", "help", "password")
#: Slack's own limit, and the project's goal for 99 % of the commands, in milliseconds.
SLACKS_LIMIT = 3000.0
GOAL = 100.0

#: A function that sends commands at a fixed rate or over several connections. It returns the total
#: time and the time of each command.
Type = Callable[[int, str, int], dict[str, Any]]


def send(host: str, port: str, file: str, how: str, often: str) -> None:
    """Send the requests in a file, and print the total time and each request's time in seconds.

    :param how: `rate` sends requests at a fixed rate; with `connections`, each connection sends
        its requests one after another
    """
    requests = [base64.b64decode(text) for text in json.loads(Path(file).read_text("utf-8"))]
    each: list[float] = []

    async def send_one(request: bytes, begin: float) -> None:
        await asyncio.sleep(begin - time.perf_counter())
        async with asyncio.timeout(LONGEST_ANSWER):
            reader, writer = await asyncio.open_connection(host, int(port))
            writer.write(request)
            answer = await reader.read()
        each.append(time.perf_counter() - begin)
        writer.close()
        if not answer.startswith(b"HTTP/1.1 200 "):
            raise RuntimeError(f"unexpected response: {answer[:200]!r}")

    async def send_waiting(waiting: Iterator[bytes]) -> None:
        for request in waiting:
            await send_one(request, time.perf_counter())

    async def send_all(begin: float) -> None:
        if how == "rate":
            times = (begin + number / int(often) for number in range(len(requests)))
            await asyncio.gather(*map(send_one, requests, times))
        else:
            waiting = iter(requests)
            await asyncio.gather(*(send_waiting(waiting) for _ in range(int(often))))

    begin = time.perf_counter()
    asyncio.run(send_all(begin))
    sys.stdout.write(json.dumps({"all": time.perf_counter() - begin, "each": each}))


@contextmanager
def crowd(folder: Path, database: str | None) -> Iterator[Type]:
    """Set up a company with a bot and people who type commands.

    :param database: a URL, or None for an SQLite file
    :raises RuntimeError: if, at the end, a command was lost or the fake Slack found a problem
    """
    # Triggers expire according to this fixed clock, so triggers that were created in advance stay
    # valid.
    now = datetime.now(timezone.utc)
    with ExitStack() as stack:
        company = stack.enter_context(open_company(folder, clock=lambda: now))
        people = [employed(company.slack, company.api, f"person-{n}") for n in range(PEOPLE)]
        settings = {"auto_migrate": True}
        places = (folder / "bot", company.slack, company.mail, company.policy)
        running = running_bot(*places, mode="http", database=database, settings=settings)
        bot = stack.enter_context(running)
        slack = company.slack.deliver_over_http(bot.slack_url)
        address = urlsplit(slack.url)
        workspace = company.slack.state
        typed = [0, 0]

        def next_request() -> str:
            number, text = typed[0], TYPED[typed[0] % len(TYPED)]
            typed[0] += 1
            typed[1] += "{}" in text
            person = people[number % len(people)]
            command = f"/email {text.format(f'project-{number}@{DOMAIN}')}"
            channel = workspace.channels[person.channel]
            slack_request = delivery.command(workspace, person.user, channel, command)
            signed = slack.signed(slack_request, at=time.time())
            headers = {"Host": address.netloc, "Content-Length": len(signed.body)}
            headers |= {**signed.headers, "Connection": "close"}
            lines = [f"POST {address.path} HTTP/1.1", *(f"{k}: {v}" for k, v in headers.items())]
            whole = "\r\n".join([*lines, "", ""]).encode() + signed.body
            return base64.b64encode(whole).decode()

        def type_commands(count: int, how: str, often: int) -> dict[str, Any]:
            file = folder / "requests.json"
            file.write_text(json.dumps([next_request() for _ in range(count)]), "utf-8")
            where = [str(address.hostname), str(address.port), str(file), how, str(often)]
            command = [sys.executable, str(Path(__file__).parent), "send", *where]
            done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
            result: dict[str, Any] = json.loads(done.stdout)
            return result

        yield type_commands
        rows = map(json.loads, bot.command("audit", "show").stdout.splitlines())
        kept = sum(row["event"] == "request.new" for row in rows)
        if kept != typed[1] or company.slack.problems:
            raise RuntimeError(
                f"{kept} of {typed[1]} requests stored; {company.slack.problems[:3]}"
            )


def measure(_service: RunningService, folder: Path, items: int, rounds: int) -> list[Ratio]:
    """Send commands at a fixed rate, and then as fast as possible, with each available database."""
    kinds: dict[str, str | None] = {"SQLite": None}
    count = COMMANDS_PER_ITEM * items
    ratios: list[Ratio] = []
    with ExitStack() as stack:
        if system_programs.find("initdb"):
            kinds["PostgreSQL"] = stack.enter_context(postgresql.cluster(postgresql.binaries()))
        for kind, url in kinds.items():
            with crowd(folder / kind, url) as type_commands:
                type_commands(WARMING_UP, "connections", 1)
                at_rate = [type_commands(count, "rate", RATE) for _ in range(rounds)]
                at_once = [type_commands(count, "connections", CONNECTIONS) for _ in range(rounds)]
            ratios += _waits(f"acks at {RATE}/s, {kind}", [run["each"] for run in at_rate])
            cost = statistics.median(1000 * run["all"] / count for run in at_once)
            what = f"acks, {kind}: {CONNECTIONS} connections"
            ratios.append(Ratio(what, f"{RATE}/s", cost, 1000 / RATE, "command", 1.0))
    return ratios


def _waits(name: str, rounds: list[list[float]]) -> Iterator[Ratio]:
    """Yield the rows for commands sent at a fixed rate, given each command's time in seconds."""
    waits = [sorted(seconds * 1000 for seconds in each) for each in rounds]

    def usual(percent: int) -> float:
        at = [each[math.ceil(len(each) * percent / 100) - 1] for each in waits]
        return statistics.median(at)

    all_waits = list(itertools.chain(*waits))
    for what, wait, limit, goal in [
        ("median", usual(50), GOAL, None),
        ("99 in 100", usual(99), GOAL, 1.0),
        ("longest", max(all_waits), SLACKS_LIMIT, 1.0),
    ]:
        # Commands are served concurrently, so a rate can't be calculated from this time.
        cost = (wait, limit, "acknowledgement", goal, "ms wait")
        yield Ratio(f"{name}: {what}", f"{limit:.0f} ms", *cost)
    late = sum(wait > SLACKS_LIMIT for wait in all_waits)
    yield Ratio(f"{name}: past 3 s", "all", late, len(all_waits), "acknowledgement", 0.0, "")
