# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Whether a tenant ten or a hundred times as large costs ten or a hundred times as much.

Planning sends nothing: a definition is read and held against what a tenant holds, each time in a
new process. Applying creates everything on a server that does nothing.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from ansible_collections.postroom.email.tests.benchmark import tenants
from ansible_collections.postroom.email.tests.benchmark.applying import Applying
from ansible_collections.postroom.email.tests.benchmark.measure import (
    Ratio,
    Timed,
    interleaved,
    timed,
)
from ansible_collections.postroom.email.tests.benchmark.servers import Server, program
from ansible_collections.postroom.email.tests.support.service import RunningService

PLANNED_PER_ITEM = (5, 50, 500)
APPLIED_PER_ITEM = (5, 50)
AT_ONCE = 8
KIBIBYTE = 1024
SMALL = 11
GOAL = 1.3
ALONE = Path(__file__).with_name("alone.py")

#: What something costs, by the number of principals.
Costs = dict[int, float]


def measure(_service: RunningService, folder: Path, items: int, rounds: int) -> list[Ratio]:
    """Plan and apply tenants of several sizes, in turn."""
    place = folder / "growth"
    place.mkdir()
    ratios = []
    for form in tenants.FORMATS:
        plans = {n * items: Planning(place, form, n * items) for n in PLANNED_PER_ITEM}
        seconds = _each(rounds, {size: plan.seconds for size, plan in plans.items()})
        ratios += _ratios(f"planning, {form}", seconds, "ms")
        ratios += _ratios(f"planning, {form}, memory", _peaks(plans), "KiB")
    with program(place / "bare", "contract.py", "0") as url:
        server = Server("bare", url, "none")
        applied = {n * items: _applying(server, n * items) for n in APPLIED_PER_ITEM}
        ratios += _ratios("applying", _each(rounds, applied), "ms")
    return ratios


class Planning:
    """Planning for a tenant, each time in a new process."""

    def __init__(self, folder: Path, form: str, size: int) -> None:
        self._folder = _write(folder, form, size)
        self._small = _write(folder, form, SMALL)

    def seconds(self) -> float:
        """Return what it takes."""
        return self._measured("seconds")

    def peak(self) -> float:
        """Return the bytes that it comes to need."""
        return self._measured("bytes")

    def _measured(self, what: str) -> float:
        command = [sys.executable, str(ALONE), what, str(self._folder), str(self._small)]
        return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def _write(parent: Path, form: str, size: int) -> Path:
    """Write a definition, and what the tenant holds: all but every tenth principal."""
    folder = parent / f"{form}-{size}"
    folder.mkdir(exist_ok=True)
    declared = tenants.definition(size)
    held = [body for number, body in enumerate(tenants.bodies(declared)) if number % 10 != 1]
    contents = {
        f"definition.{form.lower()}": tenants.FORMATS[form](declared),
        "held.json": json.dumps(held),
        "passwords.json": json.dumps(tenants.passwords(declared)),
    }
    for name, text in contents.items():
        folder.joinpath(name).write_text(text, "utf-8")
    return folder


def _applying(server: Server, size: int) -> Timed:
    """Return what makes a whole tenant where there is nothing."""
    declared = tenants.definition(size)
    apply = timed(Applying(server, declared, AT_ONCE))

    def run() -> float:
        server.clear()
        return apply()

    return run


def _each(rounds: int, things: dict[int, Timed]) -> Costs:
    """Return the milliseconds of each principal."""
    seconds = interleaved(rounds, {str(size): thing for size, thing in things.items()})
    return {size: seconds[str(size)] * 1000 / size for size in things}


def _peaks(plans: dict[int, Planning]) -> Costs:
    """Return the kibibytes of each principal; what is counted is the same each time."""
    return {size: plan.peak() / KIBIBYTE / size for size, plan in plans.items()}


def _ratios(what: str, costs: Costs, quantity: str) -> list[Ratio]:
    smallest, *larger = costs
    return [
        Ratio(
            *(f"{what}: {size:,}", f"{smallest:,}", costs[size], costs[smallest]),
            *("principal", GOAL, quantity),
        )
        for size in larger
    ]
