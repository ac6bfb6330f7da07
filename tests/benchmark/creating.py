# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Measure how long several tools take to create a large tenant and to check it afterwards.

The lower bound is the time that raw sockets need to send prepared requests. Each tool starts with a
tenant that contains one domain. The times do not include preparation.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ansible_collections.postroom.email.tests.benchmark import servers, tenants
from ansible_collections.postroom.email.tests.benchmark.measure import (
    Ratio,
    Timed,
    interleaved,
    timed,
)
from ansible_collections.postroom.email.tests.benchmark.plays import TENANT, Play, Plays, uri
from ansible_collections.postroom.email.tests.benchmark.servers import LATENCY, Server
from ansible_collections.postroom.email.tests.benchmark.tenants import FORMATS
from ansible_collections.postroom.email.tests.support.recording_proxy import recording
from ansible_collections.postroom.email.tests.support.service import RunningService
from ansible_collections.postroom.email.tests.support.tenant import Api

MAILBOXES_PER_ITEM = 5
AT_ONCE = (8, 32)
CURLS = 8
#: A `uri` loop over all mailboxes would take too long, so it creates only every 50th mailbox.
URI_SHARE = 50
#: The goals apply only at this number of concurrent requests and this latency.
WITH_GOALS = (32, LATENCY)
REQUESTS_GOAL, PLAY_GOAL, CURL_GOAL, URI_GOAL = 1.15, 1.4, 0.8, 0.01


def measure(service: RunningService, folder: Path, items: int, rounds: int) -> list[Ratio]:
    """Create the same mailboxes with each tool in turn, on each of the servers."""
    ratios = []
    with servers.with_and_without_latency(service, folder) as all_servers:
        for server in all_servers:
            count = items * MAILBOXES_PER_ITEM
            seconds = interleaved(rounds, _ways(server, folder / server.label, count))
            cost = {
                # The duration of an empty play is subtracted from the duration of each play.
                name: 1000
                * (taken - seconds["empty"] * name.startswith(("play", "uri")))
                / (len(range(0, count, URI_SHARE)) if name == "uri" else count)
                for name, taken in seconds.items()
            }
            ratios += [ratio for number in AT_ONCE for ratio in _ratios(server, number, cost)]
            server.clear()
    return ratios


def _ways(server: Server, folder: Path, count: int) -> dict[str, Timed]:
    """Return the tools that create mailboxes, and an empty play."""
    plays = Plays(server.url, server.token, folder)
    domain = "creating.example"
    names = [f"user{number:06}@{domain}" for number in range(count)]
    declared = {"domains": [domain], "mailboxes": [{"name": name} for name in names]}
    domain_body, *mailboxes = tenants.bodies(declared)

    def creating(create: Callable[[], object], created: list[dict[str, Any]]) -> Timed:
        watched = timed(create)

        def run() -> float:
            server.clear()
            server.fill([domain_body])
            seconds = watched()
            with contextlib.closing(Api(server.url, server.token)) as api:
                if set(api.listing()) != {body["name"] for body in [domain_body, *created]}:
                    raise RuntimeError(f"mailboxes are missing on {server.label}")
            return seconds

        return run

    def raw(number: int) -> Callable[[], object]:
        shares = servers.shares(server.posts(mailboxes), number)
        return lambda: servers.send(server.url, shares)

    options = {
        "definition_files": [str(plays.write("definition.json", [json.dumps(declared)]))],
        "passwords": "{{ passwords }}",
    }
    passwords = json.dumps({"passwords": tenants.passwords(declared)})
    variables = ("-e", f"@{plays.write('passwords.json', [passwords])}")
    ways = {"empty": timed(plays.play("empty"))}
    for number in AT_ONCE:
        task = {TENANT: {**options, "concurrency": number}}
        play = plays.play(f"tenant-{number}", task, changed=1, options=variables)
        apply = tenants.applying(server, declared, number)
        ways[f"raw {number}"] = creating(raw(number), mailboxes)
        ways[f"requests {number}"] = creating(apply, mailboxes)
        ways[f"play {number}"] = creating(play, mailboxes)
    bodies = plays.write("bodies", map(json.dumps, mailboxes))
    token = f"Authorization: Bearer {server.token}"
    headers = plays.write("headers", [token, "Content-Type: application/json"])
    url = f"{server.url}/api/principal"
    curl = ["curl", "-sS", "--fail", "--noproxy", "*", "-o", "/dev/null", "-H", f"@{headers}", url]
    xargs = ["xargs", "-a", str(bodies), "-d", r"\n", "-n", "1", "-P", str(CURLS), *curl, "-d"]
    ways["curl"] = creating(lambda: subprocess.run(xargs, check=True), mailboxes)
    post = uri(
        "/api/principal", method="POST", body="{{ item }}", body_format="json", status_code=201
    )
    some = mailboxes[::URI_SHARE]
    ways["uri"] = creating(plays.play("uri", {**post, "loop": some}), some)
    return ways


def _ratios(server: Server, number: int, cost: dict[str, float]) -> list[Ratio]:
    has_goals = (number, server.latency) == WITH_GOALS
    raw = (f"raw {number}", f"raw sockets, {number}")
    against = [
        ("requests", *raw, REQUESTS_GOAL),
        ("play", *raw, PLAY_GOAL),
        ("play", "curl", f"xargs -P{CURLS} curl", CURL_GOAL),
        ("play", "uri", "loop of uri", URI_GOAL),
    ]
    return [
        Ratio(
            f"create, {server.label}: {way} of email_tenant, {number}",
            title,
            cost[f"{way} {number}"],
            cost[reference],
            "mailbox created",
            goal if has_goals else None,
        )
        for way, reference, title, goal in against
    ]


PRINCIPALS_PER_ITEM = 50
TIME_GOAL, COUNT_GOAL, MEMORY_GOAL = 0.7, 2.0, 1.0
MOST_MEGABYTES = 120


def measure_unchanged(
    service: RunningService, folder: Path, items: int, rounds: int
) -> list[Ratio]:
    """Compare a check of an unchanged tenant with a `uri` task that fetches the list."""
    declared = tenants.definition(items * PRINCIPALS_PER_ITEM)
    ratios = []
    with servers.with_and_without_latency(service, folder) as all_servers:
        for server in all_servers:
            server.clear()
            server.fill(tenants.bodies(declared))
            plays = _plays(server.url, server.token, folder / server.label, declared)
            things = {name: timed(plays[name]) for name in ("uri", *FORMATS)}
            ms = {name: taken * 1000 for name, taken in interleaved(rounds, things).items()}
            what = f"unchanged, {server.label}"
            ratios += [
                Ratio(f"{what}: {form}", "uri GET", ms[form], ms["uri"], "play", TIME_GOAL)
                for form in FORMATS
            ]
        first = all_servers[0]
        with recording(first.url) as recorder:
            plays = _plays(recorder.url, first.token, folder / "counted", declared)
            counts = []
            for name in ("JSON", "uri"):
                plays[name]()
                counts.append(len(recorder.take()))
        sent, got = counts
        ratios.append(Ratio("unchanged: requests", "uri GET", sent, got, "play", COUNT_GOAL, ""))
        plays = _plays(first.url, first.token, folder / "memory", declared)
        rows = [("empty", "empty play", None), ("uri", "uri GET", None)]
        for name, title, goal in [*rows, *((f, f"unchanged: {f}", MEMORY_GOAL) for f in FORMATS)]:
            cost = (plays[name].memory() / 1_000_000, MOST_MEGABYTES, "largest process", goal, "MB")
            ratios.append(Ratio(f"memory, {title}", f"{MOST_MEGABYTES} MB", *cost))
        first.clear()
    return ratios


def _plays(url: str, token: str, folder: Path, declared: tenants.Declared) -> dict[str, Play]:
    plays = Plays(url, token, folder)
    made = {"empty": plays.play("empty"), "uri": plays.play("uri", uri("/api/principal"))}
    for form, write in FORMATS.items():
        file = plays.write(f"definition.{form.lower()}", [write(declared)])
        made[form] = plays.play(form, {TENANT: {"definition_files": [str(file)]}})
    return made
