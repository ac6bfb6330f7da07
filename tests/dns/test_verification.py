# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Verification at authorities that disagree, at a validating resolver, and at bad servers."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.postroom.email.plugins.module_utils._api.records.notation import (
    quoted,
    txt_strings,
)
from ansible_collections.postroom.email.plugins.module_utils._api.records.sets import Mx, txt
from ansible_collections.postroom.email.tests.dns.scene import (
    MX,
    SPF,
    Play,
    seen,
    shortfall,
    statuses,
    zone,
)
from ansible_collections.postroom.email.tests.dns.stage import DKIM
from ansible_collections.postroom.email.tests.fakes.nameserver import habits
from ansible_collections.postroom.email.tests.fakes.nameserver.server import BadServer, misbehaving
from ansible_collections.postroom.email.tests.support.bind import (
    BindServer,
    Forward,
    Zone,
    running,
)
from ansible_collections.postroom.email.tests.support.loopback import address_with_port_53

MATCH, MISSING, UNKNOWN = ["match"] * 3, ["missing"] * 3, ["unknown"] * 3
DMARC = '_dmarc 300 IN TXT "v=DMARC1; p=none"'
TEN = " ".join(f"include:s{number}.example.net" for number in range(10))
EXPENSIVE = f"v=spf1 {TEN} include:spf.example.net -all"
VOID = "a:no1.example.net a:no2.example.net a:no3.example.net"
ALIAS = "service._domainkey{} 300 IN CNAME {}"
KEY = quoted(txt_strings(DKIM))
ZONES: dict[str, Zone | str] = {
    "signed.example": Zone(zone("signed.example", DMARC), signed=True),
    "bogus.example": Zone(zone("bogus.example"), signed=True),
    "plain.example": zone("plain.example"),
    "bare.example": "",
    "null.example": zone("null.example", mx="0 ."),
    "rival.example": zone("rival.example", mx=f"{MX};5 mx.example.org."),
    "two.example": zone("two.example", '@ 300 TXT "v=spf1 a -all"'),
    "cut.example": zone("cut.example", dkim=quoted(txt_strings(DKIM)[:1])),
    # As if zone-file text had been given to a provider that adds the quotes.
    "marks.example": zone("marks.example", dkim=quoted(txt_strings(KEY))),
    # Without quotes, a zone file's semicolon begins a comment.
    "unquoted.example": zone("unquoted.example", dkim=DKIM.split(";")[0]),
    "costly.example": zone("costly.example", spf=EXPENSIVE),
    "fixed.example": zone("fixed.example", spf=EXPENSIVE),
    "void.example": zone("void.example", spf=f"v=spf1 {VOID} include:spf.example.net -all"),
    "lost.example": zone(
        "lost.example", spf="v=spf1 include:lost.test include:spf.example.net -all"
    ),
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
        '* 300 IN MX 1 parking.example.org.\n* 300 IN TXT "v=spf1 -all"\nwww IN A 127.0.0.1\n'
        'own 300 IN TXT "v=spf1 -all"'
    ),
    "example.net": "\n".join(
        [
            "mail 300 IN A 192.0.2.7",
            "here 300 IN A 127.0.0.1",
            'spf 300 IN TXT "v=spf1 ip4:192.0.2.0/24 -all"',
            *(f's{number} 300 IN TXT "v=spf1 ip4:192.0.2.{number} -all"' for number in range(10)),
        ]
    ),
    "2.0.192.in-addr.arpa": "7 300 IN PTR mail.example.net.",
}


class Scene(NamedTuple):
    """An authority, and a resolver that validates."""

    authority: BindServer
    resolver: BindServer


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """Run both. The resolver has the right DS record for one zone and a wrong one for another."""
    place = tmp_path_factory.mktemp("resolving")
    with running(place, ZONES) as authority:
        # The authority refuses other names, so that no question leaves this machine.
        forwards = {name: Forward(authority) for name in [".", *ZONES]}
        right = authority.anchor("signed.example")
        forwards["signed.example"] = forwards["bogus.example"] = Forward(authority, right)
        with running(place, {}, forwards=forwards) as resolver:
            yield Scene(authority, resolver)


def test_what_an_authority_has(scene: Scene) -> None:
    """Published records match with what is current, and absent ones are missing."""
    found = seen("plain.example", scene.authority)
    assert (statuses(found), found.verified, found.stage) == (MATCH, True, "published")
    assert shortfall(found) == ""
    current = found.current["plain.example", "MX"]
    assert current == ("plain.example", "MX", 300, (Mx(10, "mail.example.net"),))
    bare = seen("bare.example", scene.authority)
    assert (statuses(bare), bare.stage) == (MISSING, "created")
    assert bare.current["bare.example", "MX"] == ("bare.example", "MX", 0, ())
    assert f"Add the record MX {MX}" in shortfall(bare)


def test_a_conflict_is_reported_of_its_record_only(scene: Scene) -> None:
    """Each mistake is named, with a remedy, and the other records still match."""
    cases = {
        "null.example": (0, "null MX"),
        "rival.example": (0, "mx.example.org (priority 5)"),
        "two.example": (1, "there are 2 SPF records"),
        "cut.example": (2, "was cut"),
        "marks.example": (2, "holds quotes"),
        "unquoted.example": (2, "has no key"),
    }
    for domain, (place, words) in cases.items():
        verification = seen(domain, scene.authority)
        assert statuses(verification) == [*MATCH[:place], "conflict", *MATCH[place + 1 :]], domain
        assert words in verification.verdicts[place].detail
        assert verification.verdicts[place].remedy
        assert verification.stage == "created"


def test_aliases(scene: Scene) -> None:
    """A domain that is an alias is in conflict; a key behind an alias counts where it is known."""
    shop = seen("shop.alias.example", scene.authority)
    assert statuses(shop) == ["conflict", "conflict", "missing"]
    assert shop.aliases == {"shop.alias.example": "shops.example.org"}
    assert statuses(seen("inside.alias.example", scene.authority)) == MATCH
    # Only resolvers can look up another zone.
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
    """Its answers leave ours missing, unless the name itself has records."""
    for domain in ("new.wild.example", "new.wildalias.example"):
        new = seen(domain, scene.authority)
        assert (statuses(new), new.aliases) == (MISSING, {})
        assert all("a wildcard record answers" in each.detail for each in new.verdicts)
        assert [each and each.values for each in new.current.values()] == [()] * 3
    www = seen("www.wild.example", scene.authority)
    assert "wildcard" not in www.verdicts[0].detail
    own = seen("own.wild.example", scene.authority)
    sets = [each and each.values for each in own.current.values()]
    assert sets == [(), (txt("v=spf1 -all"),), ()]
    assert "wildcard" not in own.verdicts[1].detail


def test_authorities_that_disagree(scene: Scene, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Each server's records are shown, and the remedy names the one that is behind."""
    old = {"plain.example": zone("plain.example", mx="5 old.example.org.")}
    with running(tmp_path_factory.mktemp("old"), old) as behind:
        verification = seen("plain.example", scene.authority, behind)
    mx = verification.verdicts[0]
    assert statuses(verification) == ["conflict", "match", "match"]
    assert [each.status for each in mx.servers] == ["match", "conflict"]
    assert mx.found == (MX, "5 old.example.org.")
    assert mx.remedy.startswith(f"Wait until the zone at {behind} is the one at {scene.authority}")
    both = (Mx(10, "mail.example.net"), Mx(5, "old.example.org"))
    assert verification.current["plain.example", "MX"] == ("plain.example", "MX", 300, both)


def test_a_server_without_the_zone(scene: Scene) -> None:
    """It proves nothing about the domain, and the remedy names the option."""
    verification = seen("elsewhere.example", scene.authority)
    assert (statuses(verification), verification.stage) == (UNKNOWN, "unknown")
    assert "elsewhere.example (REFUSED)" in verification.verdicts[0].detail
    assert "option nameservers" in verification.verdicts[2].remedy
    assert verification.current["elsewhere.example", "MX"] is None


def test_dnssec(scene: Scene) -> None:
    """A signed domain becomes active; with a wrong DS record, every record is in conflict."""
    signed = seen("signed.example", scene.authority, resolvers=(scene.resolver,))
    assert (statuses(signed), signed.stage, signed.advice) == (MATCH, "active", ())
    bogus = seen("bogus.example", scene.authority, resolvers=(scene.resolver,))
    assert (statuses(bogus), bogus.stage) == (["conflict"] * 3, "created")
    assert f"DNSSEC signatures do not hold at {scene.resolver}" in bogus.verdicts[0].detail
    assert "DS record" in bogus.verdicts[0].remedy
    assert statuses(seen("bogus.example", scene.authority)) == MATCH


def test_what_an_spf_record_costs(scene: Scene) -> None:
    """Over the limits it is a conflict; where look-ups fail, there is advice."""
    for domain, words in (("costly.example", "more than 10"), ("void.example", "3 of its DNS")):
        verification = seen(domain, scene.authority, resolvers=(scene.resolver,))
        assert statuses(verification) == ["match", "conflict", "match"]
        assert words in verification.verdicts[1].detail
    lost = seen("lost.example", scene.authority, resolvers=(scene.resolver,))
    assert statuses(lost) == MATCH
    assert "no resolver told of lost.test." in " ".join(lost.advice)


def test_conflicts_that_only_resolvers_see_are_waited_for(scene: Scene) -> None:
    """The owner may fix them during the wait; otherwise they are reported at its end."""
    home = "fixed.example"

    def fix() -> None:
        scene.authority.change(home, delete=[f"{home}. TXT"], add=[f'{home}. 60 TXT "{SPF}"'])

    play = Play([lambda: None, fix])
    assert statuses(play.wait(home, scene.authority, (scene.resolver,))) == MATCH
    assert len(play.pauses) == 2
    assert f"2 of 3 records are there, TXT of {home} is in conflict" in play.lines[0]
    for domain, words in (("bogus.example", "DNSSEC"), ("costly.example", "more than 10")):
        vain = Play().wait(domain, scene.authority, (scene.resolver,), seconds=3)
        assert words in shortfall(vain)


def test_a_stale_resolver_delays_active(scene: Scene) -> None:
    """The records match, and the advice names the resolver that does not give them."""
    stale = {
        ("*", "MX"): habits.nothing_there(soa="plain.example"),
        ("*", "*"): habits.relay(scene.resolver.address, scene.resolver.port),
    }
    with misbehaving(stale) as behind:
        verification = seen("plain.example", scene.authority, resolvers=(scene.resolver, behind))
    assert (statuses(verification), verification.stage) == (MATCH, "published")
    assert any(f"{behind}, a resolver, does not give the MX" in a for a in verification.advice)
    assert any("no DMARC record at _dmarc.plain.example" in a for a in verification.advice)


@pytest.mark.parametrize("habit", [habits.silent, habits.garbage, habits.refused])
def test_resolvers_that_fail_cost_one_line_of_advice(scene: Scene, habit: habits.Habit) -> None:
    """What authorities have is known all the same."""
    with misbehaving({("*", "*"): habit}) as bad:
        verification = seen("signed.example", scene.authority, resolvers=(bad,), seconds=2.0)
        # Without an authority given, nothing is.
        lost = seen("signed.example", resolvers=(bad,), seconds=0.4)
    assert (statuses(verification), verification.stage) == (MATCH, "published")
    (advice,) = verification.advice
    assert advice.startswith("No resolver told anything")
    assert (statuses(lost), lost.stage) == (UNKNOWN, "unknown")
    assert "name servers of signed.example could not be found (" in lost.verdicts[0].detail
    assert "option nameservers" in lost.verdicts[0].remedy


def test_name_servers_given_by_name(scene: Scene) -> None:
    """Resolvers look the names up; one without an address is reported."""
    here = f"here.example.net:{scene.authority.port}"
    resolvers = (scene.resolver,)
    verification = seen("signed.example", here, "nowhere.example.net", resolvers=resolvers)
    assert statuses(verification) == MATCH
    assert verification.verdicts[0].detail.startswith("here.example.net (127.0.0.1:")
    assert "nowhere.example.net told nothing (" in verification.advice[0]
    nowhere = seen("signed.example", "nowhere.example.net", resolvers=resolvers)
    assert statuses(nowhere) == UNKNOWN
    assert all("the option nameservers" in each.remedy for each in nowhere.verdicts)


def test_authorities_are_found_by_the_delegation(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """As receivers find them: a delegation names hosts, and so means port 53."""
    address = address_with_port_53()
    place = tmp_path_factory.mktemp("delegation")
    soa = "@ IN SOA ns1 hostmaster 1 3600 600 86400 60\n@ IN NS ns1\n"
    text = f"{soa}{zone('found.example')}\nns1 300 IN A {address}\n"
    with running(place, {"found.example": text}) as authority:
        here = {("*", "*"): habits.relay(authority.address, authority.port)}
        with (
            misbehaving(here, address=address, port=53),
            running(place, {}, forwards={".": Forward(authority)}) as resolver,
        ):
            verification = seen("found.example", resolvers=(resolver,))
    assert (statuses(verification), verification.stage) == (MATCH, "active")
    assert verification.verdicts[0].detail == f"ns1.found.example ({address}) has it."


HOME = "plain.example"
BAD = [
    habits.silent,
    habits.garbage,
    habits.wrong_id(habits.nothing_there(soa=HOME)),
    habits.nothing_there("NXDOMAIN", soa=HOME, aa=False),
    habits.nothing_there(),
    habits.referral(HOME, "ns1.example.net"),
    habits.failing("SERVFAIL"),
    habits.truncated(habits.silent),
]
RIGHT = {
    (HOME, "MX"): habits.answer(MX),
    (HOME, "TXT"): habits.answer(quoted([SPF])),
    (f"service._domainkey.{HOME}", "TXT"): habits.answer(KEY),
}


def is_named(server: BadServer, text: str) -> bool:
    """Return whether a text has a server with what came of asking it."""
    kinds = ("told nothing (", "is not in charge of ", "failed (")
    return any(f"{server} {words}" in text for words in kinds)


def test_bad_servers_hide_nothing_and_add_nothing(scene: Scene) -> None:
    """Alone, all is unknown; beside a good server, its records and their absence count."""
    with contextlib.ExitStack() as stack:
        bad = [stack.enter_context(misbehaving({("*", "*"): habit})) for habit in BAD]
        for server in bad:
            alone = seen(HOME, server, seconds=0.3)
            assert (statuses(alone), alone.stage) == (UNKNOWN, "unknown")
            assert set(alone.current.values()) == {None}
            assert all(is_named(server, each.detail) for each in alone.verdicts)
        beside = seen(HOME, *bad, scene.authority)
        assert (statuses(beside), beside.stage) == (MATCH, "published")
        lines = [line for line in beside.advice if "told nothing (" in line]
        assert len(lines) == 3
        assert all(is_named(server, line) for server in bad for line in lines)
        assert statuses(seen("bare.example", scene.authority, bad[0], seconds=2.0)) == MISSING
    assert statuses(seen(HOME, bad[0], seconds=0.4)) == UNKNOWN


def test_each_question_is_answered_on_its_own() -> None:
    """Cut answers are read over TCP; a failure leaves the other records known."""
    cut = {question: habits.truncated(habit) for question, habit in RIGHT.items()}
    with misbehaving(cut) as server:
        assert statuses(seen(HOME, server)) == MATCH
        assert {asked.over_tcp for asked in server.asked} == {False, True}
    with misbehaving({**RIGHT, (HOME, "TXT"): habits.failing("SERVFAIL")}) as server:
        verification = seen(HOME, server)
    assert (statuses(verification), verification.stage) == (
        ["match", "unknown", "match"],
        "unknown",
    )


class Spoiler:
    """A server that has all records, and whose answers are spoilt.

    :param changes: places and bits that flip, or bytes that follow the id of the question
    """

    def __init__(self) -> None:
        self.changes: list[tuple[int, int]] | bytes = []

    def spoilt(self, habit: habits.Habit) -> habits.Habit:
        """Answer as ``habit``, with the changes."""
        return lambda asked: [p._replace(data=self._changed(p.data)) for p in habit(asked)]

    def _changed(self, wire: bytes) -> bytes:
        if isinstance(self.changes, bytes):
            return wire[:2] + self.changes
        changed = bytearray(wire)
        for place, mask in self.changes:
            changed[2 + place % (len(wire) - 2)] ^= mask
        return bytes(changed)


CHANGES = st.lists(st.tuples(st.integers(2, 400), st.integers(1, 255)), min_size=1, max_size=6)


def test_any_bytes_come_to_a_verdict() -> None:
    """No answer raises an exception, and what cannot be read is never a missing record."""
    spoiler = Spoiler()
    with misbehaving({key: spoiler.spoilt(habit) for key, habit in RIGHT.items()}) as server:

        @settings(max_examples=80, deadline=None)
        @given(CHANGES | st.binary(max_size=200))
        def check(changes: list[tuple[int, int]] | bytes) -> None:
            spoiler.changes = changes
            verification = seen(HOME, server, seconds=0.1)
            assert verification.stage in {"created", "unknown", "published"}
            assert all(line.isprintable() for line in verification.advice)
            assert shortfall(verification).replace("\n", "").isprintable()
            if isinstance(changes, bytes):
                assert statuses(verification) == UNKNOWN

        check()
