# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Waiting until records are there: what is seen, asked and told, in the order of events."""

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
from ansible_collections.postroom.email.tests.dns.verification.scene import (
    DKIM,
    KEY,
    Play,
    asked_of,
    published,
    records,
    shortfall,
    statuses,
)
from ansible_collections.postroom.email.tests.fakes.nameserver import habits
from ansible_collections.postroom.email.tests.fakes.nameserver.server import BadServer, misbehaving
from ansible_collections.postroom.email.tests.support.bind import BindServer, running

HOMES = [f"wait{number}.example" for number in range(6)]


@pytest.fixture(scope="module")
def bind(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BindServer]:
    """Run an authority for domains that have no records yet."""
    with running(tmp_path_factory.mktemp("waiting"), dict.fromkeys(HOMES, "")) as server:
        yield server


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Heed interrupts, which a shell has its background processes ignore."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def lines(home: str, *numbers: int) -> list[str]:
    """Return the records of a domain, or some of them: MX, SPF and DKIM."""
    whole = [line.replace(" IN ", " ", 1) for line in published(home).splitlines()]
    return [whole[number] for number in numbers or range(3)]


def questions(server: BadServer) -> list[tuple[str, str]]:
    """Return what a server has been asked since the last time, but for wildcards."""
    asked = [(each.name, each.kind) for each in server.asked]
    server.asked.clear()
    return sorted(each for each in asked if each[0].count(".") in {1, 3})


def test_a_late_publication_is_seen(bind: BindServer) -> None:
    """One record first, and then the others: only what is lacking is asked for, then all once."""
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
    assert play.lines == [
        (
            f"{home}: 0 of 3 records are there, MX of {home} is missing at {server}, TXT of {home} "
            f"is missing at {server} and TXT of service._domainkey.{home} is missing at {server}; "
            "asking again for 600 s."
        ),
        (
            f"{home}: 1 of 3 records are there, TXT of {home} is missing at {server} and TXT of "
            f"service._domainkey.{home} is missing at {server}; asking again for 599 s."
        ),
    ]


def test_it_waits_in_real_time(bind: BindServer) -> None:
    """Somebody publishes once it has told that it waits."""
    home = HOMES[1]
    told: list[str] = []

    def publish(line: str) -> None:
        if not told:
            bind.change(home, add=lines(home))
        told.append(line)

    verification = wait(records(home), asked_of(bind), Waiting(600, publish))
    assert verification.verified
    assert told


def test_records_that_are_there_are_not_waited_for(bind: BindServer) -> None:
    """One look, no pause, not a word."""
    home = HOMES[2]
    bind.change(home, add=lines(home))
    play = Play()
    assert play.wait(home, bind, seconds=0).verified
    assert (play.pauses, play.lines) == ([], [])


def test_when_the_time_is_up_what_is_not_there_is_named(bind: BindServer) -> None:
    """Each record with what was found where, and what to do."""
    home = HOMES[3]
    bind.change(home, add=lines(home, 0))
    verification = Play().wait(home, bind, seconds=10)
    assert statuses(verification) == ["match", "missing", "missing"]
    told = shortfall(verification).splitlines()
    assert told[0] == (
        f"{home} TXT (missing): {bind}: there is no SPF record at {home}. Add the record "
        "TXT v=spf1 include:spf.example.net ~all"
    )
    signer = f"service._domainkey.{home}"
    # The whole key is in the verdict.
    assert told[1] == (
        f"{signer} TXT (missing): {bind}: there is no DKIM record at {signer}. Add the record TXT "
        f"{DKIM.partition('p=')[0]}p={KEY.decode()[:20]}..."
    )
    assert verification.verdicts[2].remedy == f"At {signer}, add the record TXT {DKIM}"
    assert len(told) == 2


@pytest.mark.parametrize(
    ("rng", "pauses"),
    [(1.0, [1, 2, 4, 8, 16, 30, 30, 9]), (0.0, [0.5, 1, 2, 4, 8, 15, 15, 15, 15, 15, 9.5])],
)
def test_pauses_grow_and_end_with_the_time(rng: float, pauses: list[float]) -> None:
    """From one second to thirty, or down to half of that, as chance has it."""
    with misbehaving({}) as server:
        play = Play(rng=rng)
        verification = play.wait(HOMES[4], server, seconds=100)
    assert play.pauses == pauses
    assert statuses(verification) == ["unknown"] * 3
    assert len(play.lines) == 2
    assert play.lines[0].endswith("asking again for 100 s.")


def test_what_is_not_known_is_waited_for(bind: BindServer) -> None:
    """A server that refuses at first has said nothing of the records."""
    home = HOMES[4]
    bind.change(home, add=lines(home))
    with misbehaving({("*", "*"): habits.refused}) as server:
        relay = habits.relay(bind.address, bind.port)
        play = Play([lambda: server.habits.update({("*", "*"): relay})])
        verification = play.wait(home, server)
    assert statuses(verification) == ["match"] * 3
    assert f"MX of {home} is not known at {server}" in play.lines[0]
    assert play.pauses == [1]


def test_an_interrupt_in_a_pause_ends_it() -> None:
    """Nothing is asked any more."""

    def interrupt() -> None:
        raise KeyboardInterrupt

    play = Play([interrupt])
    with misbehaving({}) as server, pytest.raises(KeyboardInterrupt):
        play.wait(HOMES[4], server)
    assert len(play.pauses) == 1


def test_an_interrupt_does_not_wait_for_answers(interruptible: None) -> None:
    """Questions are still under way when it is over."""

    def asked(_question: habits.Asked) -> list[habits.Piece]:
        if not interrupted.is_set():
            interrupted.set()
            _thread.interrupt_main()
        return []

    interrupted = threading.Event()
    before = set(threading.enumerate())
    with misbehaving({("*", "*"): asked}) as server:
        with pytest.raises(KeyboardInterrupt):
            Play().wait(HOMES[4], server, each=1)
        under_way = [each for each in set(threading.enumerate()) - before if "Pool" in each.name]
        assert under_way
        for each in under_way:
            each.join()


def test_what_no_waiting_takes_away_is_not_waited_for(bind: BindServer) -> None:
    """Records that are there end the wait, where that is enough, though others are in their way."""
    home = HOMES[5]
    rival = f"{home}. 60 MX 5 rival.example.net."
    bind.change(home, add=[*lines(home, 0), rival])
    play = Play([lambda: bind.change(home, add=lines(home, 1, 2))])
    seen = play.wait(home, bind, beside=True)
    assert statuses(seen) == ["conflict", "match", "match"]
    assert len(play.pauses) == 1
    assert play.lines[0].startswith(
        f"{home}: 1 of 3 records are there, TXT of {home} is missing at {bind} and TXT of service."
    )
    hopeful = Play()
    assert statuses(hopeful.wait(home, bind)) == ["conflict", "match", "match"]
    assert sum(hopeful.pauses) == 600
