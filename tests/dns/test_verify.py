# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Verifying records, and waiting for them, with good and bad servers and a validating resolver."""

from __future__ import annotations

import _thread
import contextlib
import signal
import threading
from collections.abc import Iterator
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.postroom.email.plugins.module_utils._api.dns.notations import as_rdata
from ansible_collections.postroom.email.plugins.module_utils._api.dns.record_types import (
    Mx,
    txt,
    txt_strings,
)
from ansible_collections.postroom.email.tests.dns.bind_with_faults import (
    DKIM,
    MX,
    SPF,
    SimulatedWait,
    seen,
    shortfall,
    statuses,
    zone,
)
from ansible_collections.postroom.email.tests.fakes.nameserver import behaviors
from ansible_collections.postroom.email.tests.fakes.nameserver.server import fake_nameserver
from ansible_collections.postroom.email.tests.support.bind import (
    BindServer,
    Forward,
    Zone,
    running,
)

MATCH, MISSING, UNKNOWN = ["match"] * 3, ["missing"] * 3, ["unknown"] * 3
TEN = " ".join(f"include:s{number}.example.net" for number in range(10))
EXPENSIVE = f"v=spf1 {TEN} include:spf.example.net -all"
ALIAS = "service._domainkey{} 300 IN CNAME {}"
KEY = as_rdata(txt(DKIM))
#: Domains without records.
HOMES = [f"wait{number}.example" for number in range(3)]
ZONES: dict[str, Zone | str] = {
    **dict.fromkeys(HOMES, ""),
    "signed.example": Zone(zone("signed.example"), signed=True),
    "bogus.example": Zone(zone("bogus.example"), signed=True),
    "plain.example": zone("plain.example"),
    "bare.example": "",
    "two.example": zone("two.example", '@ 300 TXT "v=spf1 a -all"'),
    "cut.example": zone("cut.example", dkim=as_rdata(txt(txt_strings(DKIM)[0]))),
    "fixed.example": zone("fixed.example", spf=EXPENSIVE),
    "full.example": zone("full.example", spf=f"v=spf1 {TEN} -all"),
    "linked.example": zone(
        "linked.example", ALIAS.format("", "service._domainkey.plain.example."), dkim=""
    ),
    "astray.example": zone("astray.example", ALIAS.format("", "gone.example.net."), dkim=""),
    "alias.example": "\n".join(
        [
            "shop IN CNAME shops.example.org.",
            zone("inside.alias.example", ALIAS.format(".inside", "key"), dkim=""),
            f"key 300 IN TXT {KEY}",
        ]
    ),
    "wildalias.example": "* 300 IN CNAME parking.example.org.",
    "wild.example": (
        '* 300 IN MX 1 parking.example.org.\n* 300 IN TXT "v=spf1 -all"\n'
        'own 300 IN TXT "v=spf1 -all"'
    ),
    "example.net": "\n".join(
        [
            "mail 300 IN A 192.0.2.7",
            'spf 300 IN TXT "v=spf1 ip4:192.0.2.0/24 -all"',
            *(f's{number} 300 IN TXT "v=spf1 ip4:192.0.2.{number} -all"' for number in range(10)),
        ]
    ),
}


class Scene(NamedTuple):
    """An authoritative server, and a resolver that validates DNSSEC."""

    authority: BindServer
    resolver: BindServer


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """Run both servers.

    The resolver has the right DS record for one zone and a wrong one for another.
    """
    place = tmp_path_factory.mktemp("resolving")
    with running(place, ZONES) as authority:
        # The authoritative server refuses other names, so no query leaves this machine.
        forwards = {name: Forward(authority) for name in [".", *ZONES]}
        right = authority.anchor("signed.example")
        forwards["signed.example"] = forwards["bogus.example"] = Forward(authority, right)
        with running(place, {}, forwards=forwards) as resolver:
            yield Scene(authority, resolver)


def test_what_an_authority_has(scene: Scene) -> None:
    """Published records match, and absent records are reported as missing."""
    found = seen("plain.example", scene.authority)
    assert (statuses(found), found.verified, found.stage) == (MATCH, True, "published")
    assert shortfall(found) == ""
    current = found.current["plain.example", "MX"]
    assert current == ("plain.example", "MX", 300, (Mx(10, "mail.example.net"),))
    bare = seen("bare.example", scene.authority)
    assert (statuses(bare), bare.stage) == (MISSING, "created")
    assert bare.current["bare.example", "MX"] == ("bare.example", "MX", 0, ())
    assert f"add the record MX {MX[0]}" in shortfall(bare)


def test_a_conflict_is_reported_of_its_record_only(scene: Scene) -> None:
    """Each conflict is reported with a remedy, while the other records still match."""
    cases = {
        "two.example": (1, "there are 2 SPF records"),
        "cut.example": (2, "was cut"),
    }
    for domain, (place, words) in cases.items():
        verification = seen(domain, scene.authority)
        assert statuses(verification) == [*MATCH[:place], "conflict", *MATCH[place + 1 :]], domain
        assert words in verification.verdicts[place].detail
        assert verification.verdicts[place].remedy
        assert verification.stage == "created"


def test_aliases(scene: Scene) -> None:
    """A domain that is an alias causes a conflict, but a key may be behind an alias."""
    shop = seen("shop.alias.example", scene.authority)
    assert statuses(shop) == ["conflict", "conflict", "missing"]
    assert shop.aliases == {"shop.alias.example": "shops.example.org"}
    assert statuses(seen("inside.alias.example", scene.authority)) == MATCH
    # Only resolvers can look up names in another zone.
    unknown = seen("astray.example", scene.authority)
    assert (statuses(unknown), unknown.stage) == ([*MATCH[:2], "unknown"], "unknown")
    assert "option resolvers" in unknown.verdicts[2].remedy
    known = seen("astray.example", scene.authority, resolvers=(scene.resolver,))
    assert statuses(known) == [*MATCH[:2], "conflict"]
    linked = seen("linked.example", scene.authority, resolvers=(scene.resolver,))
    assert statuses(linked) == MATCH
    key = "service._domainkey."
    assert linked.aliases == {f"{key}linked.example": f"{key}plain.example"}


def test_a_wildcard_is_no_record_of_the_name(scene: Scene) -> None:
    """A wildcard's answers count as missing records, unless the name has records of its own."""
    for domain in ("new.wild.example", "new.wildalias.example"):
        new = seen(domain, scene.authority)
        assert (statuses(new), new.aliases) == (MISSING, {})
        assert all("a wildcard record answers" in each.detail for each in new.verdicts)
        assert [each and each.values for each in new.current.values()] == [()] * 3
    own = seen("own.wild.example", scene.authority)
    assert own.current["own.wild.example", "TXT"] == (
        *("own.wild.example", "TXT", 300, (txt("v=spf1 -all"),)),
    )
    assert "wildcard" not in own.verdicts[1].detail


def test_authorities_that_disagree(scene: Scene, tmp_path_factory: pytest.TempPathFactory) -> None:
    """If servers disagree, the remedy names the server that is out of date."""
    old = {"plain.example": zone("plain.example", mx="5 old.example.org.")}
    with running(tmp_path_factory.mktemp("old"), old) as behind:
        verification = seen("plain.example", scene.authority, behind)
    remedy = verification.verdicts[0].remedy
    assert statuses(verification) == ["conflict", "match", "match"]
    assert remedy.startswith(f"Wait until {behind} has the zone data of {scene.authority}")
    both = (Mx(10, "mail.example.net"), Mx(5, "old.example.org"))
    assert verification.current["plain.example", "MX"] == ("plain.example", "MX", 300, both)


def test_dnssec(scene: Scene) -> None:
    """A correctly signed domain becomes active.

    With a wrong DS record, every record is in conflict.
    """
    signed = seen("signed.example", scene.authority, resolvers=(scene.resolver,))
    assert (statuses(signed), signed.stage, signed.advice) == (MATCH, "active", ())
    bogus = seen("bogus.example", scene.authority, resolvers=(scene.resolver,))
    assert (statuses(bogus), bogus.stage) == (["conflict"] * 3, "created")
    assert f"{scene.resolver} rejects its DNSSEC signatures" in bogus.verdicts[0].detail
    assert "DS record" in bogus.verdicts[0].remedy
    assert statuses(seen("bogus.example", scene.authority)) == MATCH


def test_conflicts_that_only_resolvers_see_are_waited_for(scene: Scene) -> None:
    """A wait continues despite conflicts that only resolvers see, and reports them at the end."""
    home = "fixed.example"

    def fix() -> None:
        scene.authority.change(home, delete=[f"{home}. TXT"], add=[f'{home}. 60 TXT "{SPF}"'])

    simulation = SimulatedWait([lambda: None, fix])
    assert statuses(simulation.wait(home, scene.authority, (scene.resolver,))) == MATCH
    assert len(simulation.pauses) == 2
    assert f"2 of 3 records are published, TXT of {home} is in conflict" in simulation.lines[0]
    vain = SimulatedWait().wait("bogus.example", scene.authority, (scene.resolver,), seconds=3)
    assert "DNSSEC" in shortfall(vain)


def test_a_stale_resolver_delays_active(scene: Scene) -> None:
    """A stale resolver delays the stage `active`, even though the records match."""
    stale = {
        ("*", "MX"): behaviors.nothing_there(soa="plain.example"),
        ("*", "*"): behaviors.relay(scene.resolver.address, scene.resolver.port),
    }
    with fake_nameserver(stale) as behind:
        verification = seen("plain.example", scene.authority, resolvers=(scene.resolver, behind))
    assert (statuses(verification), verification.stage) == (MATCH, "published")


def test_no_remedy_costs_more_than_receivers_allow(scene: Scene) -> None:
    """The remedy never suggests an SPF record with more lookups than receivers allow."""
    verification = seen("full.example", scene.authority, resolvers=(scene.resolver,))
    (spf,) = [each for each in verification.verdicts if each.status != "match"]
    assert spf.code == "spf_too_expensive"
    assert "replace the SPF record with" not in spf.remedy
    assert "more than 10 DNS lookups (include:" in spf.remedy


def test_a_resolver_that_lies_about_an_include(scene: Scene) -> None:
    """An authoritative server takes precedence over a resolver's wrong answer about an include."""
    lie = {
        ("spf.example.net", "TXT"): behaviors.nothing_there(soa="example.net"),
        ("*", "*"): behaviors.relay(scene.resolver.address, scene.resolver.port),
    }
    with fake_nameserver(lie) as liar:
        found = seen(HOME, scene.authority, resolvers=(liar,))
        assert (statuses(found), found.stage, found.advice) == (MATCH, "active", ())
        ignorant = {
            ("*example.net", "*"): behaviors.failing("REFUSED"),
            ("*", "*"): behaviors.relay(scene.authority.address, scene.authority.port),
        }
        with fake_nameserver(ignorant) as authority:
            found = seen(HOME, authority, resolvers=(liar,))
    assert statuses(found) == MATCH
    assert "could not be counted" in found.advice[0]
    assert "Therefore, the SPF record at " in found.advice[0]


def test_a_resolver_that_fails(scene: Scene) -> None:
    """If a resolver fails, the records are still verified, but SPF lookups are not counted."""
    with fake_nameserver({("*", "*"): behaviors.silent}) as bad:
        verification = seen("signed.example", scene.authority, resolvers=(bad,), seconds=2.0)
        # Without an authoritative server, nothing is known about the records.
        lost = seen("signed.example", resolvers=(bad,), seconds=0.4)
    assert (statuses(verification), verification.stage) == (MATCH, "published")
    assert verification.advice == ()
    ignorant = {
        ("*example.net", "*"): behaviors.failing("REFUSED"),
        ("*", "*"): behaviors.relay(scene.resolver.address, scene.resolver.port),
    }
    with fake_nameserver(ignorant) as half:
        found = seen("signed.example", scene.authority, resolvers=(half,))
    assert (statuses(found), found.stage) == (MATCH, "active")
    (advice,) = found.advice
    assert "lookups for spf.example.net could not be counted" in advice
    assert (statuses(lost), lost.stage) == (UNKNOWN, "unknown")
    assert "name servers of signed.example could not be found (" in lost.verdicts[0].detail
    assert "Set nameservers" in lost.verdicts[0].remedy


HOME = "plain.example"
BAD = [
    behaviors.silent,
    behaviors.garbage,
    behaviors.nothing_there(),
    behaviors.failing("SERVFAIL"),
]
RIGHT = {
    (HOME, "MX"): behaviors.answer(*MX),
    (HOME, "TXT"): behaviors.answer(as_rdata(txt(SPF))),
    (f"service._domainkey.{HOME}", "TXT"): behaviors.answer(KEY),
}


def test_bad_servers_hide_nothing_and_add_nothing(scene: Scene) -> None:
    """Bad servers alone make all records unknown.

    They don't affect the verdicts if a good server answers as well.
    """
    with contextlib.ExitStack() as stack:
        bad = [stack.enter_context(fake_nameserver({("*", "*"): behavior})) for behavior in BAD]
        for server in bad:
            alone = seen(HOME, server, seconds=0.3)
            assert (statuses(alone), alone.stage) == (UNKNOWN, "unknown")
            assert set(alone.current.values()) == {None}
            assert all(str(server) in each.detail for each in alone.verdicts)
        beside = seen(HOME, *bad, scene.authority)
        assert (statuses(beside), beside.stage) == (MATCH, "published")
        assert statuses(seen("bare.example", scene.authority, bad[0], seconds=2.0)) == MISSING
    assert statuses(seen(HOME, bad[0], seconds=0.4)) == UNKNOWN


def test_each_question_is_answered_on_its_own() -> None:
    """A failed query does not affect the verdict on other records."""
    cut = {question: behaviors.truncated(behavior) for question, behavior in RIGHT.items()}
    with fake_nameserver(cut) as server:
        assert statuses(seen(HOME, server)) == MATCH
        assert {asked.over_tcp for asked in server.asked} == {False, True}
    with fake_nameserver({**RIGHT, (HOME, "TXT"): behaviors.failing("SERVFAIL")}) as server:
        verification = seen(HOME, server)
    assert (statuses(verification), verification.stage) == (
        ["match", "unknown", "match"],
        "unknown",
    )


CHANGES = st.lists(st.tuples(st.integers(2, 400), st.integers(1, 255)), min_size=1, max_size=6)


def test_any_bytes_come_to_a_verdict() -> None:
    """An unreadable answer raises no exception and never counts as a missing record."""
    # The bits to flip, with their positions, or the bytes that follow the query's ID.
    spoilt: list[tuple[int, int]] | bytes = []

    def changed(wire: bytes) -> bytes:
        if isinstance(spoilt, bytes):
            return wire[:2] + spoilt
        flipped = bytearray(wire)
        for place, mask in spoilt:
            flipped[2 + place % (len(wire) - 2)] ^= mask
        return bytes(flipped)

    def spoiling(behavior: behaviors.Behavior) -> behaviors.Behavior:
        return lambda asked: [p._replace(data=changed(p.data)) for p in behavior(asked)]

    with fake_nameserver({key: spoiling(behavior) for key, behavior in RIGHT.items()}) as server:

        @settings(max_examples=80, deadline=None)
        @given(CHANGES | st.binary(max_size=200))
        def check(changes: list[tuple[int, int]] | bytes) -> None:
            nonlocal spoilt
            spoilt = changes
            verification = seen(HOME, server, seconds=0.1)
            assert verification.stage in {"created", "unknown", "published"}
            assert all(line.isprintable() for line in verification.advice)
            assert shortfall(verification).replace("\n", "").isprintable()
            if isinstance(changes, bytes):
                assert statuses(verification) == UNKNOWN

        check()


def lines(home: str, *numbers: int) -> list[str]:
    """Return some or all of a domain's records: MX, SPF and DKIM."""
    whole = [line.replace(" IN ", " ", 1) for line in zone(home).splitlines()]
    return [whole[number] for number in numbers or range(3)]


def test_progress_is_reported(scene: Scene) -> None:
    """Each change is reported as progress, with the missing records and the remaining time."""
    home = HOMES[0]
    relay = behaviors.relay(scene.authority.address, scene.authority.port)
    with fake_nameserver({("*", "*"): relay}) as server:

        def publish(*numbers: int) -> None:
            scene.authority.change(home, add=lines(home, *numbers))

        simulation = SimulatedWait([lambda: publish(0), lambda: publish(1, 2)])
        verification = simulation.wait(home, server)
    assert statuses(verification) == ["match"] * 3
    progress = [line.partition(", ")[0] for line in simulation.lines]
    assert progress == [f"{home}: {count} of 3 records are published" for count in (0, 1)]
    assert all(f"TXT of {home} is missing at {server}" in line for line in simulation.lines)
    assert [line.rpartition("retrying for ")[2] for line in simulation.lines] == [
        "600 s.",
        "599 s.",
    ]


@pytest.mark.parametrize(
    ("rng", "pauses"),
    [(1.0, [1, 2, 4, 8, 16, 30, 30, 9]), (0.0, [0.5, 1, 2, 4, 8, 15, 15, 15, 15, 15, 9.5])],
)
def test_pauses_grow_and_end_with_the_time(rng: float, pauses: list[float]) -> None:
    """Pauses grow from one second to thirty, and the last one ends at the time limit."""
    with fake_nameserver({}) as server:
        simulation = SimulatedWait(rng=rng)
        verification = simulation.wait(HOMES[1], server, seconds=100)
    assert simulation.pauses == pauses
    assert statuses(verification) == ["unknown"] * 3
    assert len(simulation.lines) == 2
    assert simulation.lines[0].endswith("retrying for 100 s.")


def test_unknown_records_are_waited_for(scene: Scene) -> None:
    """A wait continues while a server refuses queries, because a refusal proves nothing."""
    home = HOMES[2]
    scene.authority.change(home, add=lines(home))
    with fake_nameserver({("*", "*"): behaviors.refused}) as server:
        relay = behaviors.relay(scene.authority.address, scene.authority.port)
        simulation = SimulatedWait([lambda: server.behaviors.update({("*", "*"): relay})])
        assert statuses(simulation.wait(home, server)) == ["match"] * 3
    assert f"MX of {home} is not known at {server}" in simulation.lines[0]
    assert simulation.pauses == [1]


def test_an_interrupt_ends_the_wait() -> None:
    """An interrupt ends the wait, both during a pause and during queries."""

    def interrupt() -> None:
        raise KeyboardInterrupt

    def interrupted(_question: behaviors.ReceivedQuery) -> list[behaviors.Piece]:
        if not done.is_set():
            done.set()
            _thread.interrupt_main()
        return []

    simulation = SimulatedWait([interrupt])
    with fake_nameserver({}) as server, pytest.raises(KeyboardInterrupt):
        simulation.wait(HOMES[1], server)
    assert len(simulation.pauses) == 1
    done = threading.Event()
    before = set(threading.enumerate())
    # A shell makes its background processes ignore interrupts.
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with fake_nameserver({("*", "*"): interrupted}) as server:
            with pytest.raises(KeyboardInterrupt):
                SimulatedWait().wait(HOMES[1], server, each=1)
            under_way = [t for t in set(threading.enumerate()) - before if "Pool" in t.name]
            assert under_way
            for each in under_way:
                each.join()
    finally:
        signal.signal(signal.SIGINT, handler)
