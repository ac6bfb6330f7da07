# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Find a large tenant as its definition declares it.

The reference is a play in which `ansible.builtin.uri` gets the list that `email_tenant` must read.
Both are whole plays, including Ansible's start.
"""

from __future__ import annotations

from pathlib import Path

from ansible_collections.postroom.email.tests.benchmark import tenants
from ansible_collections.postroom.email.tests.benchmark.measure import Ratio, interleaved, timed
from ansible_collections.postroom.email.tests.benchmark.plays import TENANT, Play, Plays, uri
from ansible_collections.postroom.email.tests.benchmark.servers import with_and_without_latency
from ansible_collections.postroom.email.tests.benchmark.tenants import FORMATS
from ansible_collections.postroom.email.tests.support.recorder import recording
from ansible_collections.postroom.email.tests.support.service import RunningService

PRINCIPALS_PER_ITEM = 50
TIME_GOAL, REQUESTS_GOAL, MEMORY_GOAL = 1.5, 2.0, 1.0
MOST_MEGABYTES = 120


def measure(service: RunningService, folder: Path, items: int, rounds: int) -> list[Ratio]:
    """Run the plays in turn, on one server after the other; count and weigh on the first."""
    declared = tenants.definition(items * PRINCIPALS_PER_ITEM)
    ratios = []
    with with_and_without_latency(service, folder) as servers:
        for server in servers:
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
        first = servers[0]
        with recording(first.url) as recorder:
            plays = _plays(recorder.url, first.token, folder / "counted", declared)
            counts = []
            for name in ("JSON", "uri"):
                plays[name]()
                counts.append(len(recorder.take()))
        sent, got = counts
        ratios.append(Ratio("unchanged: requests", "uri GET", sent, got, "play", REQUESTS_GOAL, ""))
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
