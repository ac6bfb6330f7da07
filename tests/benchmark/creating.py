# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What it costs to create mailboxes: `email_tenant`, and other ways of sending the same requests.

Raw sockets that send what is made ready beforehand are the floor. Before each the tenant is made
anew, with one domain and nothing else in it; that does not count.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ansible_collections.postroom.email.tests.benchmark import applying, load, tenants
from ansible_collections.postroom.email.tests.benchmark.measure import (
    Ratio,
    Timed,
    interleaved,
    timed,
)
from ansible_collections.postroom.email.tests.benchmark.plays import TENANT, Play, Plays, uri
from ansible_collections.postroom.email.tests.benchmark.servers import (
    LATENCY,
    Server,
    with_and_without_latency,
)
from ansible_collections.postroom.email.tests.support.service import RunningService

DOMAIN = "creating.example"
MAILBOXES_PER_ITEM = 5
AT_ONCE = (8, 16)
CURLS = 8
#: A loop of `uri` would take too long over all of the mailboxes. It gets one of so many.
URI_SHARE = 50
UNIT = "mailbox created"

#: What has goals: so many requests at once, at that latency.
WITH_GOALS = (16, LATENCY)
REQUESTS_GOAL, PLAY_GOAL, CURL_GOAL, URI_GOAL = 1.15, 1.4, 0.8, 0.01


class Creating:
    """Ways of creating the same mailboxes in one tenant."""

    def __init__(self, server: Server, folder: Path, count: int) -> None:
        self._server = server
        self._plays = Plays(server, folder)
        self._declared = tenants.mailboxes_only(count, DOMAIN)
        self._domain, *self._mailboxes = tenants.bodies(self._declared)
        self._definition = self._plays.write("definition.json", self._declared)
        self._passwords = tenants.passwords(self._declared)

    def things(self) -> dict[str, Timed]:
        """Return all ways, by name, and an empty play."""
        things = {"empty": timed(self._plays.play("empty"))}
        for number in AT_ONCE:
            things[f"raw {number}"] = self._timed(self._raw(number), self._mailboxes)
            apply = applying.Applying(self._server, self._declared, number)
            things[f"requests {number}"] = self._timed(apply, self._mailboxes)
            things[f"play {number}"] = self._timed(self._play(number), self._mailboxes)
        things["curl"] = self._timed(self._curl(), self._mailboxes)
        things["uri"] = self._timed(self._uri(), self._some())
        return things

    def costs(self, seconds: dict[str, float]) -> dict[str, float]:
        """Return milliseconds a mailbox, those of plays less an empty one."""
        counts = {"uri": len(self._some())}
        return {
            name: 1000
            * (taken - (seconds["empty"] if name.startswith(("play", "uri")) else 0))
            / counts.get(name, len(self._mailboxes))
            for name, taken in seconds.items()
        }

    def _timed(self, create: Callable[[], object], created: list[tenants.Body]) -> Timed:
        """Return what creates mailboxes where there are none, and sees that they are there."""
        watched = timed(create)
        names = {body["name"] for body in [self._domain, *created]}

        def run() -> float:
            self._server.clear()
            self._server.fill([self._domain])
            seconds = watched()
            if self._server.names() != names:
                raise RuntimeError(f"not all of the mailboxes came to be on {self._server.label}")
            return seconds

        return run

    def _raw(self, number: int) -> Callable[[], None]:
        shares = load.shares(self._server.posts(self._mailboxes), number)
        return lambda: load.send(self._server.url, shares)

    def _play(self, number: int) -> Play:
        options = {
            "definition_files": [str(self._definition)],
            "passwords": "{{ passwords }}",
            "concurrency": number,
        }
        variables = self._plays.write("passwords.json", {"passwords": self._passwords})
        return self._plays.play(
            f"tenant-{number}", {TENANT: options}, changed=1, options=("-e", f"@{variables}")
        )

    def _curl(self) -> Callable[[], object]:
        bodies = self._plays.write_lines("bodies", map(json.dumps, self._mailboxes))
        headers = self._plays.write_lines(
            "headers",
            [f"Authorization: Bearer {self._server.token}", "Content-Type: application/json"],
        )
        url = f"{self._server.url}/api/principal"
        curl = ["curl", "-sS", "--fail", "--noproxy", "*", "-o", "/dev/null", "-H", f"@{headers}"]
        xargs = ["xargs", "-a", str(bodies), "-d", r"\n", "-n", "1", "-P", str(CURLS)]
        return lambda: subprocess.run([*xargs, *curl, url, "-d"], check=True)

    def _uri(self) -> Play:
        post: dict[str, Any] = uri(
            "/api/principal", method="POST", body="{{ item }}", body_format="json", status_code=201
        )
        return self._plays.play("uri", {**post, "loop": self._some()})

    def _some(self) -> list[tenants.Body]:
        return self._mailboxes[::URI_SHARE]


def measure(service: RunningService, folder: Path, items: int, rounds: int) -> list[Ratio]:
    """Create the same mailboxes in all ways in turn, on one server after the other."""
    place = folder / "creating"
    place.mkdir()
    ratios = []
    with with_and_without_latency(service, place) as servers:
        for server in servers:
            creating = Creating(server, place / server.label, items * MAILBOXES_PER_ITEM)
            cost = creating.costs(interleaved(rounds, creating.things()))
            ratios += [ratio for number in AT_ONCE for ratio in _ratios(server, number, cost)]
            server.clear()
    return ratios


def _ratios(server: Server, number: int, cost: dict[str, float]) -> list[Ratio]:
    has_goals = (number, server.latency) == WITH_GOALS
    ways = [
        ("requests", f"raw {number}", f"raw sockets, {number}", REQUESTS_GOAL),
        ("play", f"raw {number}", f"raw sockets, {number}", PLAY_GOAL),
        ("play", "curl", f"xargs -P{CURLS} curl", CURL_GOAL),
        ("play", "uri", "loop of uri", URI_GOAL),
    ]
    return [
        Ratio(
            f"create, {server.label}: {way} of email_tenant, {number}",
            title,
            cost[f"{way} {number}"],
            cost[reference],
            UNIT,
            goal if has_goals else None,
        )
        for way, reference, title, goal in ways
    ]
