# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Waiting for records: what is asked again, for how long, and what ends the wait."""

from __future__ import annotations

import _thread
import signal
import threading
from collections.abc import Iterator

import pytest

from ansible_collections.postroom.email.plugins.module_utils._api.applying.verifying import (
    Waiting,
    wait,
)
from ansible_collections.postroom.email.tests.dns.scene import (
    Play,
    asked_of,
    shortfall,
    statuses,
    zone,
)
from ansible_collections.postroom.email.tests.dns.stage import records_of
from ansible_collections.postroom.email.tests.fakes.nameserver import habits
from ansible_collections.postroom.email.tests.fakes.nameserver.server import BadServer, misbehaving
from ansible_collections.postroom.email.tests.support.bind import BindServer, running

HOMES = [f"wait{number}.example" for number in range(6)]


@pytest.fixture(scope="module")
def bind(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BindServer]:
    """Run an authority for domains that have no records yet."""
    with running(tmp_path_factory.mktemp("waiting"), dict.fromkeys(HOMES, "")) as server:
        yield server


def lines(home: str, *numbers: int) -> list[str]:
    """Return the records of a domain, or some of them: MX, SPF and DKIM."""
    whole = [line.replace(" IN ", " ", 1) for line in zone(home).splitlines()]
    return [whole[number] for number in numbers or range(3)]


def questions(server: BadServer) -> list[tuple[str, str]]:
    """Return the questions since the last call, except those about wildcards."""
    asked = [(each.name, each.kind) for each in server.asked]
    server.asked.clear()
    return sorted(each for each in asked if each[0].count(".") in {1, 3})


def test_only_missing_records_are_asked_for_again(bind: BindServer) -> None:
    """When none is missing any more, all are asked for once."""
    home = HOMES[0]
    mx, spf, dkim = (home, "MX"), (home, "TXT"), (f"service._domainkey.{home}", "TXT")
    asked: list[list[tuple[str, str]]] = []
    with misbehaving({("*", "*"): habits.relay(bind.address, bind.port)}) as server:

        def publish(*numbers: int) -> None:
            asked.append(questions(server))
            bind.change(home, add=lines(home, *numbers))

        play = Play([lambda: publish(0), lambda: publish(1, 2)])
        verification = play.wait(home, server)
        asked.append(questions(server))
    assert statuses(verification) == ["match"] * 3
    assert asked == [
        sorted([mx, spf, dkim]),
        sorted([mx, spf, dkim]),
        sorted([spf, dkim, mx, spf, dkim]),
    ]
    progress = [line.partition(", ")[0] for line in play.lines]
    assert progress == [f"{home}: {count} of 3 records are there" for count in (0, 1)]
    assert all(f"TXT of {home} is missing at {server}" in line for line in play.lines)
    assert [line.rpartition("again for ")[2] for line in play.lines] == ["600 s.", "599 s."]


def test_real_time(bind: BindServer) -> None:
    """The records are published after the first progress line."""
    home = HOMES[1]
    told: list[str] = []

    def publish(line: str) -> None:
        if not told:
            bind.change(home, add=lines(home))
        told.append(line)

    assert wait(records_of(home), asked_of(bind), Waiting(600, publish)).verified
    assert told
    # Nothing to wait for any more.
    play = Play()
    assert play.wait(home, bind, seconds=0).verified
    assert (play.pauses, play.lines) == ([], [])


def test_missing_records_are_named_at_the_end(bind: BindServer) -> None:
    """Each with the record to add; a key is shortened in the line, not in the remedy."""
    home = HOMES[2]
    bind.change(home, add=lines(home, 0))
    verification = Play().wait(home, bind, seconds=10)
    assert statuses(verification) == ["match", "missing", "missing"]
    spf, dkim = shortfall(verification).splitlines()
    assert spf.startswith(f"{home} TXT (missing): {bind}: ")
    assert spf.endswith("Add the record TXT v=spf1 include:spf.example.net ~all")
    assert dkim.startswith(f"service._domainkey.{home} TXT (missing): {bind}: ")
    assert dkim.endswith("...")
    assert len(verification.verdicts[2].remedy) > 400 > len(dkim)


@pytest.mark.parametrize(
    ("rng", "pauses"),
    [(1.0, [1, 2, 4, 8, 16, 30, 30, 9]), (0.0, [0.5, 1, 2, 4, 8, 15, 15, 15, 15, 15, 9.5])],
)
def test_pauses_grow_and_end_with_the_time(rng: float, pauses: list[float]) -> None:
    """From one second to thirty, or at random down to half of that."""
    with misbehaving({}) as server:
        play = Play(rng=rng)
        verification = play.wait(HOMES[3], server, seconds=100)
    assert play.pauses == pauses
    assert statuses(verification) == ["unknown"] * 3
    assert len(play.lines) == 2
    assert play.lines[0].endswith("asking again for 100 s.")


def test_unknown_records_are_waited_for(bind: BindServer) -> None:
    """A server that refuses at first has said nothing about the records."""
    home = HOMES[4]
    bind.change(home, add=lines(home))
    with misbehaving({("*", "*"): habits.refused}) as server:
        relay = habits.relay(bind.address, bind.port)
        play = Play([lambda: server.habits.update({("*", "*"): relay})])
        assert statuses(play.wait(home, server)) == ["match"] * 3
    assert f"MX of {home} is not known at {server}" in play.lines[0]
    assert play.pauses == [1]


def test_rivals_end_the_wait_where_presence_is_enough(bind: BindServer) -> None:
    """Otherwise it lasts its whole time."""
    home = HOMES[5]
    bind.change(home, add=[*lines(home, 0), f"{home}. 60 MX 5 rival.example.net."])
    play = Play([lambda: bind.change(home, add=lines(home, 1, 2))])
    assert statuses(play.wait(home, bind, beside=True)) == ["conflict", "match", "match"]
    assert len(play.pauses) == 1
    assert play.lines[0].startswith(f"{home}: 1 of 3 records are there, TXT of {home} is missing")
    hopeful = Play()
    assert statuses(hopeful.wait(home, bind)) == ["conflict", "match", "match"]
    assert sum(hopeful.pauses) == 600


def test_an_interrupt_ends_the_wait() -> None:
    """In a pause, and at once while questions are under way."""

    def interrupt() -> None:
        raise KeyboardInterrupt

    def interrupted(_question: habits.Asked) -> list[habits.Piece]:
        if not done.is_set():
            done.set()
            _thread.interrupt_main()
        return []

    play = Play([interrupt])
    with misbehaving({}) as server, pytest.raises(KeyboardInterrupt):
        play.wait(HOMES[3], server)
    assert len(play.pauses) == 1
    done = threading.Event()
    before = set(threading.enumerate())
    # A shell has its background processes ignore interrupts.
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with misbehaving({("*", "*"): interrupted}) as server:
            with pytest.raises(KeyboardInterrupt):
                Play().wait(HOMES[3], server, each=1)
            under_way = [t for t in set(threading.enumerate()) - before if "Pool" in t.name]
            assert under_way
            for each in under_way:
                each.join()
    finally:
        signal.signal(signal.SIGINT, handler)
