# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A run that is killed is finished by the next; two that run at a time lose nothing."""

from __future__ import annotations

import random
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.postroom.email.tests.e2e.tenant_lives import shape
from ansible_collections.postroom.email.tests.e2e.tenant_plays import Play, kill, with_passwords
from ansible_collections.postroom.email.tests.support.service import RunningService, running_service
from ansible_collections.postroom.email.tests.support.site import Site

HOME, AWAY = "home.example", "away.example"
MANY = 200
OLD = [f"old{n}@{HOME}" for n in range(20)]
KILLS = 5


@pytest.fixture
def slow(service: RunningService, tmp_path: Path) -> Iterator[RunningService]:
    """Run another service over the same database, as one that is far away."""
    faults = "latency=20ms-60ms,seed=9"
    with running_service(tmp_path / "slow", faults=faults, database=service.database) as slow:
        yield slow


def definition() -> dict[str, Any]:
    """Return one that creates much, changes some, moves some and deletes some."""
    boxes: list[Any] = [
        {"name": f"box{n}@{AWAY}", "aliases": [f"alias{n}@{HOME}"]} for n in range(MANY)
    ]
    boxes += [{"name": name, "aliases": [name.replace("old", "more")]} for name in OLD[:10]]
    boxes += [{"name": name, "state": "absent"} for name in OLD[15:]]
    boxes[0]["aliases"].append(f"wanders@{HOME}")
    team = {"name": f"team@{HOME}", "members": [f"box{n}@{AWAY}" for n in range(5)]}
    return {"domains": [HOME, AWAY], "mailboxes": boxes, "forwarders": [team]}


def wanted() -> dict[str, dict[str, Any]]:
    """Return what must be there in the end."""
    rows = [shape(HOME), shape(AWAY), shape("still.example"), shape("still@still.example")]
    rows += [shape(f"box{n}@{AWAY}", f"alias{n}@{HOME}") for n in range(1, MANY)]
    rows += [shape(f"box0@{AWAY}", f"alias0@{HOME}", f"wanders@{HOME}")]
    rows += [shape(name, name.replace("old", "more")) for name in OLD[:10]]
    rows += [shape(name) for name in OLD[10:15]]
    members = tuple(f"box{n}@{AWAY}" for n in range(5))
    rows += [shape(f"team@{HOME}", members=members)]
    return {row["name"]: row for row in rows}


def inhabit(site: Site) -> None:
    """Let a tenant hold what the definition changes, moves and deletes, and a bystander."""
    site.create("still.example", "still@still.example", HOME, *OLD[1:])
    site.create(OLD[0], emails=[OLD[0], f"wanders@{HOME}"])


def test_killed_again_and_again(site: Site, slow: RunningService, tmp_path: Path) -> None:
    """Whenever it is killed, the next run goes on where it was, and the last one ends it."""
    inhabit(site)
    play = Play(tmp_path / "play", slow, **with_passwords(definition()))
    rng = random.Random(17)  # noqa: S311 - any moments will do
    for size in sorted(rng.sample(range(len(OLD), MANY), KILLS)):
        kill_at(play, site, size, workers=True)
        assert site.listing()["still@still.example"] == shape("still@still.example")
    assert play.run().changed == 1
    assert_finished(play, site)


def test_a_worker_that_outlives_its_parent(
    site: Site, slow: RunningService, tmp_path: Path
) -> None:
    """Where only the parent is killed, the worker stops, beside a next run or two."""
    inhabit(site)
    play = Play(tmp_path / "play", slow, **with_passwords(definition()))
    kill_at(play, site, 40, workers=False)
    wait_for_orphans(site)
    assert len(site.listing()) < len(wanted())
    # Both make the same, so that this one may find that it has been done.
    play.start().wait()
    wait_for_orphans(site)
    play.run()
    assert_finished(play, site)


def assert_finished(play: Play, site: Site) -> None:
    """Assert that all is as it must be, and that another run finds so."""
    assert site.listing() == wanted()
    again = play.run()
    assert (again.ok, again.changed) == (1, 0)
    assert site.listing() == wanted()


def kill_at(play: Play, site: Site, size: int, *, workers: bool) -> None:
    """Run it, and kill it once the tenant holds so many principals."""
    process = play.start()
    while len(site.listing()) < size and process.poll() is None:
        time.sleep(0.01)
    kill(process, workers=workers)


def wait_for_orphans(site: Site) -> None:
    """Wait until a worker that outlived its parent has come to its end."""
    before: dict[str, Any] = {}
    while before != (now := site.listing()):
        before = now
        time.sleep(1.0)


def test_two_at_a_time(site: Site, slow: RunningService, tmp_path: Path) -> None:
    """Each gives the same mailboxes aliases of its own, and makes things of its own."""
    shared = [f"box{n}@{HOME}" for n in range(30)]
    site.create(HOME, *shared)
    plays = [
        Play(tmp_path / who, slow, **with_passwords(part_of(who, shared))) for who in ("a", "b")
    ]
    running: list[tuple[Play, subprocess.Popen[bytes]]] = [(play, play.start()) for play in plays]
    for play, process in running:
        assert play.finish(process).changed == 1
    listing = site.listing()
    for name in shared:
        assert listing[name] == shape(name, *(f"{who}-{name}" for who in "ab"))
    for who in "ab":
        assert listing[f"{who}.example"] == shape(f"{who}.example")
        assert listing[f"team@{who}.example"]["members"] == {shared[0], f"x@{who}.far.example"}
    assert len(listing) == 1 + len(shared) + 2 * (1 + 20 + 1)
    assert [play.run().changed for play in plays] == [0, 0]


def part_of(who: str, shared: list[str]) -> dict[str, Any]:
    """Return what one of the two declares."""
    own = [f"own{n}@{who}.example" for n in range(20)]
    aliases = [{"name": name, "aliases": [f"{who}-{name}"]} for name in shared]
    members = [shared[0], f"x@{who}.far.example"]
    return {
        "domains": [f"{who}.example"],
        "mailboxes": [*own, *aliases],
        "forwarders": [{"name": f"team@{who}.example", "members": members}],
    }
