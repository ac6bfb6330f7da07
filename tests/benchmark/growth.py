# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Measure the cost per principal in tenants of different sizes.

Planning sends no requests: a new process reads a definition and compares it with a tenant's
contents. Applying creates everything on a server that only stores what it receives.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
import tracemalloc
from pathlib import Path

from ansible_collections.postroom.email.plugins.module_utils._api.client.endpoints import (
    read_principal,
)
from ansible_collections.postroom.email.plugins.module_utils._api.tenant.converge_tenant import (
    without_garbage_collection,
)
from ansible_collections.postroom.email.plugins.module_utils._api.tenant.plan import digest
from ansible_collections.postroom.email.plugins.module_utils._api.tenant.planner import plan_tenant
from ansible_collections.postroom.email.plugins.module_utils._api.tenant.read_definition import (
    load_source,
)
from ansible_collections.postroom.email.plugins.module_utils._api.tenant.state import TenantState
from ansible_collections.postroom.email.tests.benchmark import tenants
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
#: Plan a tenant of this size first, so that the measurements exclude the time for imports.
SMALL = 11
GOAL = 1.2


def measure(_service: RunningService, folder: Path, items: int, rounds: int) -> list[Ratio]:
    """Plan and apply tenants of several sizes, in turn."""
    ratios = []
    for form in tenants.FORMATS:
        small = str(_write(folder, form, SMALL))

        def planned(what: str, size: int, form: str = form, small: str = small) -> float:
            arguments = ["plan", what, str(folder / f"{form}-{size}"), small]
            command = [sys.executable, str(Path(__file__).parent), *arguments]
            done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
            return float(done.stdout)

        sizes = [count * items for count in PLANNED_PER_ITEM]
        for size in sizes:
            _write(folder, form, size)
        plans: dict[int, Timed] = {n: lambda n=n: planned("seconds", n) for n in sizes}  # type: ignore[misc]
        ratios += _ratios(f"planning, {form}", _milliseconds(rounds, plans), "ms")
        peaks = {size: planned("bytes", size) / 1024 / size for size in sizes}
        ratios += _ratios(f"planning, {form}, memory", peaks, "KiB")
    with program(folder / "bare", "minimal_server.py", "0") as url:
        server = Server("bare", url, "none")
        applied = {n * items: _applying(server, n * items) for n in APPLIED_PER_ITEM}
        ratios += _ratios("applying", _milliseconds(rounds, applied), "ms")
    return ratios


def _write(parent: Path, form: str, size: int) -> Path:
    """Write a definition, and the contents of a tenant without every tenth declared principal."""
    folder = parent / f"{form}-{size}"
    folder.mkdir(exist_ok=True)
    declared = tenants.definition(size)
    held = [body for number, body in enumerate(tenants.bodies(declared)) if number % 10 != 1]
    folder.joinpath(f"definition.{form.lower()}").write_text(tenants.FORMATS[form](declared))
    folder.joinpath("held.json").write_text(json.dumps(held))
    folder.joinpath("passwords.json").write_text(json.dumps(tenants.passwords(declared)))
    return folder


def plan(what: str, folder: str, small: str) -> None:
    """Print how many seconds, or bytes of Python objects, it takes to plan a tenant."""
    for place in (Path(small), Path(folder)):
        (definition,) = place.glob("definition.*")
        passwords = json.loads(place.joinpath("passwords.json").read_text("utf-8"))
        rows = json.loads(place.joinpath("held.json").read_text("utf-8"))
        held = [read_principal(row) for row in rows]
        if what == "bytes":
            tracemalloc.start()
        start = time.perf_counter()
        # The module takes the same steps.
        with without_garbage_collection():
            want = tenants.wanted(load_source(str(definition)), passwords)
            planned = plan_tenant(
                TenantState(principals=held), want["definition"], passwords=want["passwords"]
            )
            digest(planned.changes)
        taken = time.perf_counter() - start
        if what == "bytes":
            taken = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
        if planned.problems or not planned.changes:
            raise RuntimeError(f"the plan is empty: {planned.problems}")
    sys.stdout.write(f"{taken}\n")


def _applying(server: Server, size: int) -> Timed:
    """Return a function that creates a complete tenant."""
    apply = timed(tenants.applying(server, tenants.definition(size), AT_ONCE))

    def run() -> float:
        server.clear()
        return apply()

    return run


def _milliseconds(rounds: int, things: dict[int, Timed]) -> dict[int, float]:
    """Return the milliseconds per principal, keyed by the number of principals."""
    seconds = interleaved(rounds, {str(size): thing for size, thing in things.items()})
    return {size: seconds[str(size)] * 1000 / size for size in things}


def _ratios(what: str, costs: dict[int, float], quantity: str) -> list[Ratio]:
    first, *larger = costs
    return [
        Ratio(f"{what}: {n:,}", f"{first:,}", costs[n], costs[first], "principal", GOAL, quantity)
        for n in larger
    ]
