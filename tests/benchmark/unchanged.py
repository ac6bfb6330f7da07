# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What it costs to find that a whole tenant is as it should be: a play of one task.

It is held against a play in which `ansible.builtin.uri` gets the list that `email_tenant` has to
read. Both are whole plays, Ansible's own start in them.
"""

from __future__ import annotations

from pathlib import Path

from ansible_collections.postroom.email.tests.benchmark import tenants
from ansible_collections.postroom.email.tests.benchmark.measure import (
    Ratio,
    interleaved,
    timed,
)
from ansible_collections.postroom.email.tests.benchmark.plays import TENANT, Play, Plays, uri
from ansible_collections.postroom.email.tests.benchmark.servers import (
    Server,
    with_and_without_latency,
)
from ansible_collections.postroom.email.tests.benchmark.tenants import FORMATS
from ansible_collections.postroom.email.tests.support.recorder import recording
from ansible_collections.postroom.email.tests.support.service import RunningService

PRINCIPALS_PER_ITEM = 50
TIME_GOAL, REQUESTS_GOAL, MEMORY_GOAL = 1.5, 2.0, 1.0
MEGABYTE = 1_000_000
MOST_MEGABYTES = 120


def measure(service: RunningService, folder: Path, items: int, rounds: int) -> list[Ratio]:
    """Run the plays in turn, on one server after the other; then count and weigh on the first."""
    place = folder / "unchanged"
    place.mkdir()
    declared = tenants.definition(items * PRINCIPALS_PER_ITEM)
    ratios = []
    with with_and_without_latency(service, place) as servers:
        for server in servers:
            server.clear()
            server.fill(tenants.bodies(declared))
            ratios += _times(server, _plays(server, place / server.label, declared), rounds)
        ratios += _requests(servers[0], place, declared)
        ratios += _memory(_plays(servers[0], place / "memory", declared))
        servers[0].clear()
    return ratios


def _plays(server: Server, folder: Path, declared: tenants.Declared) -> dict[str, Play]:
    plays = Plays(server, folder)
    made = {"empty": plays.play("empty"), "uri": plays.play("uri", uri("/api/principal"))}
    for form, write in FORMATS.items():
        file = plays.write_lines(f"definition.{form.lower()}", [write(declared)])
        made[form] = plays.play(form, {TENANT: {"definition_files": [str(file)]}})
    return made


def _times(server: Server, plays: dict[str, Play], rounds: int) -> list[Ratio]:
    things = {name: timed(plays[name]) for name in ("uri", *FORMATS)}
    taken = {name: seconds * 1000 for name, seconds in interleaved(rounds, things).items()}
    what = f"unchanged, {server.label}"
    return [
        Ratio(f"{what}: {form}", "uri GET", taken[form], taken["uri"], "play", TIME_GOAL)
        for form in FORMATS
    ]


def _requests(server: Server, folder: Path, declared: tenants.Declared) -> list[Ratio]:
    """Count what passes a proxy."""
    with recording(server.url) as recorder:
        plays = _plays(server._replace(url=recorder.url), folder / "counted", declared)
        plays["JSON"]()
        sent = len(recorder.take())
        plays["uri"]()
        got = len(recorder.take())
    return [Ratio("unchanged: requests", "uri GET", sent, got, "play", REQUESTS_GOAL, "")]


def _memory(plays: dict[str, Play]) -> list[Ratio]:
    """Weigh the largest process of each play at its largest, the worker's if that is the one."""
    weights = {name: play.memory() / MEGABYTE for name, play in plays.items()}
    limit = f"{MOST_MEGABYTES} MB"
    return [
        Ratio(
            f"memory, {title}", limit, weights[name], MOST_MEGABYTES, "largest process", goal, "MB"
        )
        for name, title, goal in [
            ("empty", "empty play", None),
            ("uri", "uri GET", None),
            *((form, f"unchanged: {form}", MEMORY_GOAL) for form in FORMATS),
        ]
    ]
