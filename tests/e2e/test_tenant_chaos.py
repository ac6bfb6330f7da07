# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Random tenants converge to random definitions, whatever the service does meanwhile."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from ansible_collections.postroom.email.plugins.module_utils._api import errors
from ansible_collections.postroom.email.tests.e2e.tenant_rigs import Rig
from ansible_collections.postroom.email.tests.e2e.tenant_worlds import (
    BYSTANDERS,
    Case,
    random_case,
)
from ansible_collections.postroom.email.tests.support.service import running_service
from ansible_collections.postroom.email.tests.support.wishes import Impossible, World

#: Each with seeds of its own for the tenants.
SCHEDULES = {
    "all": "latency=0ms-3ms,rate429=0.06,retry_after_form=both,error_before=0.06,error_after=0.06,"
    "reset_before=0.05,reset_after=0.05,truncate=0.05,status=500/502/503/504,seed=1",
    "writes": "error_before=0.1,error_after=0.15,reset_before=0.1,reset_after=0.15,truncate=0.1,"
    "status=500/503,methods=POST/PATCH/DELETE,seed=2",
    "reads": "error_before=0.1,reset_before=0.1,truncate=0.15,status=500/502,methods=GET,seed=3",
    "crowd": "latency=0ms-2ms,rate429=0.5,seed=4",
    "after": "latency=0ms-2ms,error_after=0.3,reset_after=0.2,truncate=0.1,status=500/504,seed=5",
}
TENANTS_EACH = 40
MOST_RUNS = 25
STILL_LISTING = BYSTANDERS.listing()
#: What a run may end with because of a fault.
PASSING = (errors.Incomplete, errors.ServiceError)


@pytest.fixture(scope="module", params=SCHEDULES)
def rig(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Rig, int]]:
    """Run the two services; with the first seed of the schedule's tenants."""
    calm_place, faulty_place = tmp_path_factory.mktemp("calm"), tmp_path_factory.mktemp("faulty")
    faults = f"{SCHEDULES[request.param]},retry_after=0"
    with (
        running_service(calm_place) as calm,
        running_service(faulty_place, faults=faults, database=calm.database) as faulty,
    ):
        rig = Rig(calm, faulty)
        yield rig, list(SCHEDULES).index(request.param) * TENANTS_EACH
        rig.close()


def test_random_tenants_converge(rig: tuple[Rig, int]) -> None:
    """Runs under faults until one comes through: it is exactly as declared, and stays so."""
    for seed in range(rig[1], rig[1] + TENANTS_EACH):
        case = random_case(seed)
        rig[0].reset(case.start)
        try:
            wanted = case.outcome()
        except Impossible:
            assert_refused(rig[0], case, seed)
        else:
            assert_converges(rig[0], case, wanted, seed)


def assert_refused(rig: Rig, case: Case, seed: int) -> None:
    """Assert that a definition is refused and nothing is written."""
    for faults in (True, False):
        with pytest.raises((errors.Refused, errors.InvalidInput, *(PASSING if faults else ()))):
            rig.run(case.options(), faults=faults)
        assert rig.api.listing() == case.start.listing(), f"tenant {seed}"


def assert_converges(rig: Rig, case: Case, wanted: World, seed: int) -> None:
    """Assert that a definition comes true amid the faults, and is found true without them."""
    options = {**case.options(), "concurrency": 1 + seed % 8}
    for run in range(MOST_RUNS):
        try:
            # The first run gives up soon, so that there is something for the next to finish.
            rig.run(options, faults=True, retries=min(run, 4))
        except PASSING as error:
            assert_accounts(error, f"tenant {seed}")
        else:
            assert rig.api.listing() == wanted.listing(), f"tenant {seed}"
            break
        finally:
            assert_left_alone(rig, case, wanted, seed)
    else:
        pytest.fail(f"tenant {seed} has not come through in {MOST_RUNS} runs")
    before = rig.api.listing()
    foretold = rig.run(options, faults=False, check=True)
    assert rig.api.listing() == before, f"tenant {seed}"
    done = rig.run(options, faults=False)
    assert done == foretold, f"tenant {seed}"
    assert rig.api.listing() == wanted.listing(), f"tenant {seed}"
    assert rig.run(options, faults=False).changed is False, f"tenant {seed}"


def assert_accounts(error: errors.PostroomError, text: str) -> None:
    """Assert that a run that failed on the way tells the outcome of each object."""
    if not isinstance(error, errors.Incomplete):
        return
    values: Mapping[str, Any] = error.details
    outcomes = [row["outcome"] for row in values["results"]]
    for outcome in ("failed", "not_attempted"):
        assert values["summary"][outcome] == outcomes.count(outcome), text
    assert set(outcomes) <= {"changed", "failed", "not_attempted"}, text
    assert len({row["name"] for row in values["results"]}) == len(outcomes), text


def assert_left_alone(rig: Rig, case: Case, wanted: World, seed: int) -> None:
    """Assert that whatever the definition leaves as it is has been left so all the time."""
    start, end, now = case.start.listing(), wanted.listing(), rig.api.listing()
    for name in start.keys() & end.keys():
        if start[name] == end[name]:
            assert now.get(name) == start[name], f"tenant {seed}"
    assert {name: now.get(name) for name in STILL_LISTING} == STILL_LISTING, f"tenant {seed}"
