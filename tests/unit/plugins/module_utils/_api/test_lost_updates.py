# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Two writers and no ETag: what one wrote and the other replaced is seen and written again."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from ansible_collections.postroom.email.plugins.module_utils._api import errors
from ansible_collections.postroom.email.plugins.module_utils._api.models import (
    Edit,
    Forwarder,
    Mailbox,
)
from ansible_collections.postroom.email.plugins.module_utils._api.names import parse_address
from ansible_collections.postroom.email.plugins.module_utils._api.wire.client import Client
from ansible_collections.postroom.email.tests.fakes.mail_api.quirky import (
    QuirkyService,
    domain,
    forwarder,
    mailbox,
)
from ansible_collections.postroom.email.tests.support.clients import Clock

Connect = Callable[..., Client]
Serve = Callable[..., Any]

ALICE = parse_address("alice@example.com")
SALES = parse_address("sales@example.com")
THEIRS = parse_address("theirs@example.com")
ADD_SALES = Edit(add_aliases=frozenset({SALES}))
STALE = [ALICE.key, THEIRS.key]


def service_with(*aliases: str) -> QuirkyService:
    """Return a service with the mailbox."""
    return QuirkyService(None, domain("example.com"), mailbox(ALICE.key, *aliases))


def emails(service: QuirkyService) -> set[str]:
    """Return what is stored for the mailbox."""
    return set(service.principals[ALICE.key]["emails"])


def replaced_by(service: QuirkyService, values: list[str]) -> Callable[[], None]:
    """Return another writer, who replaces the list."""
    return lambda: service.principals[ALICE.key].update(emails=list(values))


def test_a_write_is_looked_at_afterwards(serve: Serve, connect: Connect) -> None:
    """Read, write, wait, read."""
    server, clock = serve(service_with()), Clock()
    edited = connect(server, clock).edit(ALICE, ADD_SALES)
    assert edited == Mailbox(ALICE, frozenset({SALES}))
    assert [line.split()[0] for line in server.lines] == ["GET", "PATCH", "GET"]
    assert len(clock.sleeps) == 1


def test_what_is_there_already_is_not_written(serve: Serve, connect: Connect) -> None:
    """One GET, and no waiting."""
    server, clock = serve(service_with(SALES.key)), Clock()
    connect(server, clock).edit(ALICE, ADD_SALES)
    assert [line.split()[0] for line in server.lines] == ["GET"]
    assert clock.sleeps == []


def test_what_others_added_before_the_write_is_kept(serve: Serve, connect: Connect) -> None:
    """The list is read right before it is written."""
    service = service_with(THEIRS.key)
    connect(serve(service)).edit(ALICE, ADD_SALES)
    assert emails(service) == {ALICE.key, SALES.key, THEIRS.key}


def test_a_lost_update_is_repaired(serve: Serve, connect: Connect) -> None:
    """Another writer replaces the list after the PATCH with a copy from before it."""
    service = service_with()
    service.meddle("PATCH", replaced_by(service, STALE))
    server = serve(service)
    edited = connect(server).edit(ALICE, ADD_SALES)
    assert emails(service) == {ALICE.key, SALES.key, THEIRS.key}
    assert edited == Mailbox(ALICE, frozenset({SALES, THEIRS}))
    assert len(server.writes) == 2


def test_a_lost_removal_is_repaired(serve: Serve, connect: Connect) -> None:
    """What was removed and came back with a stale copy is removed again."""
    service = service_with(SALES.key)
    service.meddle("PATCH", replaced_by(service, [ALICE.key, SALES.key, THEIRS.key]))
    connect(serve(service)).edit(ALICE, ADD_SALES.inverse())
    assert emails(service) == {ALICE.key, THEIRS.key}


def test_a_lost_member_is_repaired(serve: Serve, connect: Connect) -> None:
    """Members of a forwarder are lists of the same kind."""
    team = parse_address("team@example.com")
    service = QuirkyService(None, domain("example.com"), forwarder(team.key, "a@x.example"))
    service.meddle("PATCH", lambda: service.principals[team.key].update(members=["a@x.example"]))
    new = parse_address("b@x.example")
    edited = connect(serve(service)).edit(team, Edit(add_members=frozenset({new})))
    assert isinstance(edited, Forwarder)
    assert new in edited.members
    assert service.principals[team.key]["members"] == ["a@x.example", "b@x.example"]


def test_a_write_between_reading_and_writing_is_overwritten_no_more_than_once(
    serve: Serve, connect: Connect
) -> None:
    """What another writer put in after our GET is gone with our PATCH: theirs to look at."""
    service = service_with()
    service.meddle("GET", replaced_by(service, STALE))
    connect(serve(service)).edit(ALICE, ADD_SALES)
    assert SALES.key in emails(service)


def test_who_is_always_overwritten_says_so(serve: Serve, connect: Connect) -> None:
    """Bounded: after a dozen repairs the error names the mailbox and what to find out."""
    service = service_with()
    service.meddle("PATCH", replaced_by(service, STALE), times=99)
    server = serve(service)
    with pytest.raises(errors.LostUpdate, match=r"^alice@example.com: .* Find out") as caught:
        connect(server, timeout=600.0).edit(ALICE, ADD_SALES)
    assert len(server.writes) == 1 + 12
    assert caught.value.failure.method == "PATCH"


def test_repairs_end_with_the_deadline(serve: Serve, connect: Connect) -> None:
    """A short timeout is shorter than a dozen repairs."""
    service = service_with()
    service.meddle("PATCH", replaced_by(service, STALE), times=99)
    server, clock = serve(service), Clock()
    with pytest.raises(errors.DeadlineExceeded):
        connect(server, clock, timeout=0.7).edit(ALICE, ADD_SALES)
    assert len(server.writes) < 12


def test_a_slow_service_is_given_more_time_to_settle(serve: Serve, connect: Connect) -> None:
    """Other writers read before ours landed, and they are as slow as we are."""
    service, clock = service_with(), Clock()
    service.meddle("PATCH", lambda: clock.sleep(0.4))
    connect(serve(service), clock).edit(ALICE, ADD_SALES)
    assert clock.sleeps == [0.4, pytest.approx(1.6)]


@pytest.mark.parametrize("writers", [2, 8])
def test_many_writers_lose_nothing(writers: int, serve: Serve, connect: Connect) -> None:
    """Each adds aliases of its own to one mailbox, all at once, and all of them stay."""
    service = service_with()
    server = serve(service)
    start = threading.Barrier(writers)

    def add(writer: int) -> None:
        time_of_day = {"clock": time.monotonic, "sleep": time.sleep, "rng": random.random}
        client = connect(server, **time_of_day, timeout=60.0)
        start.wait()
        for number in range(3):
            alias = parse_address(f"w{writer}n{number}@example.com")
            client.edit(ALICE, Edit(add_aliases=frozenset({alias})))

    with ThreadPoolExecutor(writers) as pool:
        list(pool.map(add, range(writers)))
    wanted = {f"w{w}n{n}@example.com" for w in range(writers) for n in range(3)}
    assert emails(service) == wanted | {ALICE.key}
