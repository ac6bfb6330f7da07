# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Clients that change the same lists at the same time lose nothing of each other's.

The interface replaces lists whole and has no way to say "if unchanged", so that what one writes,
another that has read before may undo. Each client sees to it that its own change stands.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ansible_collections.postroom.email.plugins.module_utils._api.applying.converge import converge
from ansible_collections.postroom.email.plugins.module_utils._api.wire.client import Client
from ansible_collections.postroom.email.plugins.module_utils._api.wire.sender import Sender
from ansible_collections.postroom.email.tests.support.service import RunningService, running_service
from ansible_collections.postroom.email.tests.support.site import Api
from ansible_collections.postroom.email.tests.support.wishes import (
    HaveAlias,
    HaveForwarder,
    LackAlias,
    Wish,
)

FAULTS = (
    "latency=1ms-10ms,rate429=0.03,retry_after=0,error_before=0.03,error_after=0.03,"
    "reset_before=0.02,reset_after=0.02,truncate=0.02,status=502/503,seed=5"
)
HOME = "home.example"
MAILBOXES = [f"a@{HOME}", f"b@{HOME}"]
TEAM = f"team@{HOME}"


@dataclass(frozen=True)
class Work:
    """What one client is to do: aliases to add and to remove, members to add."""

    number: int
    adds: int
    removes: int
    joins: int
    order: int

    def names(self, what: str, count: int) -> list[str]:
        """Return addresses of this client's own."""
        return [f"{what}{n}-of-{self.number}@{HOME}" for n in range(count)]

    def wishes(self) -> list[Wish]:
        """Return everything to do, in an order of this client's own."""
        lacking: list[Wish] = [
            LackAlias(address, mailbox)
            for address, mailbox in _shared_out(self.names("old", self.removes))
        ]
        having: list[Wish] = [
            HaveAlias(address, mailbox, move=False)
            for address, mailbox in _shared_out(self.names("new", self.adds))
        ]
        joining: list[Wish] = [
            HaveForwarder(TEAM, frozenset({member}), False, None, False)
            for member in self.names("member", self.joins)
        ]
        wishes = [*lacking, *having, *joining]
        random.Random(self.order).shuffle(wishes)  # noqa: S311 any order will do
        return wishes


def _shared_out(addresses: list[str]) -> list[tuple[str, str]]:
    return [(address, MAILBOXES[n % 2]) for n, address in enumerate(addresses)]


works = st.lists(
    st.tuples(st.integers(1, 4), st.integers(0, 2), st.integers(0, 2), st.integers(0, 99)),
    min_size=2,
    max_size=3,
).map(lambda rows: [Work(number, *row) for number, row in enumerate(rows)])


@dataclass(frozen=True)
class Rig:
    """One tenant, seen through a service that fails and through one that does not."""

    api: Api
    faulty: RunningService

    def prepare(self, all_work: list[Work]) -> None:
        """Make the mailboxes with the aliases that are to go, and some that are to stay."""
        for name in self.api.listing():
            if "@" in name:
                self.api.delete(name)
        for mailbox in MAILBOXES:
            old = [address for address, owner in self.old(all_work) if owner == mailbox]
            self.api.create(mailbox, [mailbox, f"stays-{mailbox}", *old])
        self.api.create(TEAM, members=["x@far.example"])

    def old(self, all_work: list[Work]) -> list[tuple[str, str]]:
        """Return the aliases that are to go, each with its mailbox."""
        return [row for work in all_work for row in _shared_out(work.names("old", work.removes))]

    def do(self, work: Work, start: threading.Barrier) -> None:
        """Do one client's work over a connection of its own, beginning with the others."""
        sender = Sender(self.faulty.url, self.faulty.token, trust_env=False)
        start.wait()
        for wish in work.wishes():
            client = Client(sender, timeout=120, retries=40)
            converge(client, wish.subject, wish.plan, dry_run=False)
        sender.close()


@pytest.fixture(scope="module")
def rig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    """Run the two services over one database."""
    calm_place, faulty_place = tmp_path_factory.mktemp("calm"), tmp_path_factory.mktemp("faulty")
    with (
        running_service(calm_place) as calm,
        running_service(faulty_place, faults=FAULTS, database=calm.database) as faulty,
    ):
        api = Api(calm.url, calm.token)
        api.create(HOME)
        yield Rig(api, faulty)
        api.close()


@settings(
    max_examples=5,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(all_work=works)
def test_no_update_is_lost(rig: Rig, all_work: list[Work]) -> None:
    """When all clients are done, every addition is there, every removal is gone, no more."""
    rig.prepare(all_work)
    start = threading.Barrier(len(all_work))
    with ThreadPoolExecutor(len(all_work)) as pool:
        list(pool.map(lambda work: rig.do(work, start), all_work))
    after = rig.api.listing()
    for mailbox in MAILBOXES:
        added = [row for work in all_work for row in _shared_out(work.names("new", work.adds))]
        own = {address for address, owner in added if owner == mailbox}
        assert after[mailbox]["emails"] == {mailbox, f"stays-{mailbox}"} | own
    joined = {member for work in all_work for member in work.names("member", work.joins)}
    assert after[TEAM]["members"] == {"x@far.example"} | joined
    assert after.keys() == {HOME, TEAM, *MAILBOXES}
