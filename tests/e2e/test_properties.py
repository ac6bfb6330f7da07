# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Random sequences of desired states against a service that fails a third of all requests.

A model in plain sets tells what must hold after each. The faults come from the service's own seed,
so a failure is found again by its sequence, though not always at the same request.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from ansible_collections.postroom.email.plugins.module_utils._api import errors
from ansible_collections.postroom.email.plugins.module_utils._api.applying.converge import (
    Converged,
    converge,
)
from ansible_collections.postroom.email.plugins.module_utils._api.wire.client import Client
from ansible_collections.postroom.email.plugins.module_utils._api.wire.sender import Sender
from ansible_collections.postroom.email.tests.support import wishes
from ansible_collections.postroom.email.tests.support.service import RunningService, running_service
from ansible_collections.postroom.email.tests.support.site import Api
from ansible_collections.postroom.email.tests.support.wishes import Box, Impossible, Wish, World

FAULTS = (
    "latency=0ms-3ms,rate429=0.06,retry_after=0,retry_after_form=both,error_before=0.06,"
    "error_after=0.06,reset_before=0.05,reset_after=0.05,truncate=0.05,seed=11"
)
#: A plain 500 does not pass by itself: the task fails, and is run again by hand.
LASTING = f"{FAULTS},status=500/502/503/504"
PASSING = f"{FAULTS},status=502/503/504"
MOST_RUNS = 60

HOME, AWAY, STILL = "home.example", "away.example", "still.example"
BYSTANDERS = World(
    frozenset({STILL}),
    {
        f"a@{STILL}": Box(frozenset({f"b@{STILL}"})),
        f"c@{STILL}": Box(members=frozenset({f"a@{HOME}", f"b@{AWAY}"})),
    },
)
START = World(
    BYSTANDERS.domains | {HOME, AWAY},
    {
        **BYSTANDERS.boxes,
        f"a@{HOME}": Box(frozenset({f"d@{HOME}", f"d@{AWAY}"})),
        f"b@{HOME}": Box(),
        f"b@{AWAY}": Box(),
        f"c@{HOME}": Box(frozenset({f"e@{HOME}"}), frozenset({f"c@{AWAY}", f"a@{HOME}"})),
        f"c@{AWAY}": Box(members=frozenset({f"b@{AWAY}"})),
    },
)

primary = st.sampled_from([f"{local}@{domain}" for local in "abc" for domain in (HOME, AWAY)])
other = st.sampled_from([f"{local}@{domain}" for local in "cdefg" for domain in (HOME, AWAY)])
address = primary | other
several = st.frozensets(other, max_size=3) | st.frozensets(address, max_size=3)
destination = address | st.sampled_from(["x@far.example", f"a@{STILL}"])
given_or_not = st.none() | several
wish: st.SearchStrategy[Wish] = st.one_of(
    st.builds(wishes.HaveMailbox, address, given_or_not, st.booleans()),
    st.builds(wishes.HaveMailbox, primary, several, st.booleans()),
    st.builds(
        wishes.HaveForwarder,
        st.sampled_from([f"c@{HOME}", f"c@{AWAY}"]) | address,
        st.none() | st.frozensets(destination, max_size=3),
        st.booleans(),
        given_or_not,
        st.booleans(),
    ),
    st.builds(wishes.HaveAlias, other, primary, st.booleans()),
    st.builds(wishes.HaveAlias, address, address, st.booleans()),
    st.builds(wishes.LackAlias, address, primary),
    st.builds(wishes.LackBox, address, st.booleans()),
    st.just(wishes.HaveDomain(AWAY)),
    st.builds(wishes.LackDomain, st.just(AWAY), st.booleans()),
)


class Rig:
    """One tenant seen through two services over one database: one fails, one does not."""

    def __init__(self, calm: RunningService, faulty: RunningService, *, lasts: bool) -> None:
        self.api = Api(calm.url, calm.token)
        self.sender = Sender(faulty.url, faulty.token, trust_env=False)
        # What a task may fail with when it has met a 500, also while asking what became of a write.
        self.lasting = (errors.ServerFailed, errors.ConnectionBroken) if lasts else ()

    def reset(self) -> None:
        """Bring the tenant back to the start."""
        now, start = self.api.listing(), START.listing()
        stays = {name for name in now if "@" not in name or now[name] == start.get(name)}
        for name in now.keys() - stays:
            self.api.delete(name)
        for name in sorted(start.keys() - stays, key=lambda name: "@" in name):
            row = start[name]
            self.api.create(name, sorted(row.get("emails", ())), sorted(row.get("members", ())))

    def fulfil(self, wish: Wish) -> Converged:
        """Converge to a desired state, with retries that are quick and many."""
        client = Client(self.sender, timeout=120, retries=40, sleep=_shortly)
        return converge(client, wish.subject, wish.plan, dry_run=False)

    def close(self) -> None:
        """Close the connections."""
        self.sender.close()
        self.api.close()


def _shortly(seconds: float) -> None:
    time.sleep(min(seconds, 0.001))


@pytest.fixture(scope="module", params=[PASSING, LASTING], ids=["passing", "lasting"])
def rig(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    """Run the two services."""
    calm_place, faulty_place = tmp_path_factory.mktemp("calm"), tmp_path_factory.mktemp("faulty")
    with (
        running_service(calm_place) as calm,
        running_service(faulty_place, faults=request.param, database=calm.database) as faulty,
    ):
        rig = Rig(calm, faulty, lasts=request.param == LASTING)
        yield rig
        rig.close()


def fulfil(rig: Rig, wish: Wish) -> Converged:
    """Converge; where faults may last, as often as it takes."""
    for _ in range(MOST_RUNS):
        try:
            return rig.fulfil(wish)
        except rig.lasting:
            event("run again after a fault that lasted")
    raise AssertionError(f"{wish} did not converge in {MOST_RUNS} runs")


@settings(
    max_examples=40,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(sequence=st.lists(wish, min_size=3, max_size=12))
def test_every_sequence_converges(rig: Rig, sequence: list[Wish]) -> None:
    """Each desired state comes true or is refused whole, as the model says, and then it stays."""
    rig.reset()
    world = START
    for wish in sequence:
        try:
            world = wish.come_true(world)
        except Impossible:
            event(f"{type(wish).__name__} refused")
            with pytest.raises(errors.Refused):
                fulfil(rig, wish)
        else:
            event(f"{type(wish).__name__} came true")
            fulfil(rig, wish)
            assert fulfil(rig, wish).plan.changes == ()
        assert rig.api.listing() == world.listing()
