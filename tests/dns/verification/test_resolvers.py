# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What resolvers add: DNSSEC, caches, what an SPF record costs, and advice."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import pytest

from ansible_collections.postroom.email.tests.dns.verification.scene import (
    SPF,
    Play,
    published,
    seen,
    shortfall,
    statuses,
    zone,
)
from ansible_collections.postroom.email.tests.fakes.nameserver import habits
from ansible_collections.postroom.email.tests.fakes.nameserver.server import misbehaving
from ansible_collections.postroom.email.tests.support.bind import (
    BindServer,
    Forward,
    Zone,
    running,
)
from ansible_collections.postroom.email.tests.support.loopback import address_with_port_53

DMARC = '_dmarc 300 IN TXT "v=DMARC1; p=none"'
MANY = " ".join(f"include:s{number}.example.net" for number in range(10))
NETWORKS = "\n".join(
    [
        "mail 300 IN A 192.0.2.7",
        "here 300 IN A 127.0.0.1",
        'spf 300 IN TXT "v=spf1 ip4:192.0.2.0/24 -all"',
        *(f's{number} 300 IN TXT "v=spf1 ip4:192.0.2.{number} -all"' for number in range(10)),
    ]
)
ZONES: dict[str, Zone | str] = {
    "signed.example": Zone(f"{published('signed.example')}\n{DMARC}", signed=True),
    "bogus.example": Zone(published("bogus.example"), signed=True),
    "plain.example": published("plain.example"),
    "dear.example": zone("dear.example", spf=f"v=spf1 {MANY} include:spf.example.net -all"),
    "mended.example": zone("mended.example", spf=f"v=spf1 {MANY} include:spf.example.net -all"),
    "void.example": zone(
        "void.example",
        spf="v=spf1 a:no1.example.net a:no2.example.net a:no3.example.net "
        "include:spf.example.net -all",
    ),
    "lost.example": zone(
        "lost.example", spf="v=spf1 include:lost.test include:spf.example.net -all"
    ),
    "linked.example": zone("linked.example", dkim='""').rsplit("service.", 1)[0]
    + "service._domainkey 300 IN CNAME service._domainkey.plain.example.",
    "astray.example": zone("astray.example", dkim='""').rsplit("service.", 1)[0]
    + "service._domainkey 300 IN CNAME gone.example.net.",
    "example.net": NETWORKS,
    "2.0.192.in-addr.arpa": "7 300 IN PTR mail.example.net.",
}


class Scene(NamedTuple):
    """An authority, and a resolver that validates."""

    authority: BindServer
    resolver: BindServer


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """Run both. The resolver trusts one zone's key, and for another zone a key that is not its."""
    place = tmp_path_factory.mktemp("resolving")
    with running(place, ZONES) as authority:
        # All other names are refused there, so that nobody asks outside.
        forwards = {name: Forward(authority) for name in [".", *ZONES]}
        right = authority.anchor("signed.example")
        forwards["signed.example"] = Forward(authority, right)
        forwards["bogus.example"] = Forward(authority, right)
        with running(place, {}, forwards=forwards) as resolver:
            yield Scene(authority, resolver)


def test_a_signed_domain_that_resolvers_give_is_active(scene: Scene) -> None:
    """Everything is as it should be, and there is nothing to be said."""
    verification = seen("signed.example", scene.authority, resolvers=(scene.resolver,))
    assert statuses(verification) == ["match"] * 3
    assert verification.stage == "active"
    assert verification.advice == ()


def test_signatures_that_do_not_hold_are_a_conflict(scene: Scene) -> None:
    """The DS record is for another key: whoever validates sees nothing."""
    verification = seen("bogus.example", scene.authority, resolvers=(scene.resolver,))
    assert statuses(verification) == ["conflict"] * 3
    assert verification.stage == "created"
    assert f"DNSSEC signatures do not hold at {scene.resolver}" in verification.verdicts[0].detail
    assert "DS record" in verification.verdicts[0].remedy
    assert statuses(seen("bogus.example", scene.authority)) == ["match"] * 3


def test_no_dmarc_record_is_advice(scene: Scene) -> None:
    """And does not keep a domain from being active."""
    verification = seen("plain.example", scene.authority, resolvers=(scene.resolver,))
    assert verification.stage == "active"
    assert len(verification.advice) == 1
    assert verification.advice[0].startswith("There is no DMARC record at _dmarc.plain.example,")


@pytest.mark.parametrize(
    ("domain", "words"),
    [
        ("dear.example", "receivers reject it: it takes more than 10 DNS look-ups"),
        ("void.example", "receivers reject it: 3 of its DNS look-ups find nothing"),
    ],
)
def test_an_spf_record_that_costs_too_much_is_a_conflict(
    scene: Scene, domain: str, words: str
) -> None:
    """It is counted through what it includes."""
    verification = seen(domain, scene.authority, resolvers=(scene.resolver,))
    assert statuses(verification) == ["match", "conflict", "match"]
    assert words in verification.verdicts[1].detail


def test_what_only_resolvers_tell_is_waited_for(scene: Scene) -> None:
    """Somebody may mend it meanwhile; if nobody does, it is named in the end."""
    home = "mended.example"

    def mend() -> None:
        scene.authority.change(home, delete=[f"{home}. TXT"], add=[f'{home}. 60 TXT "{SPF}"'])

    play = Play([lambda: None, mend])
    assert statuses(play.wait(home, scene.authority, (scene.resolver,))) == ["match"] * 3
    assert len(play.pauses) == 2
    assert f"2 of 3 records are there, TXT of {home} is in conflict" in play.lines[0]
    vain = Play().wait("bogus.example", scene.authority, (scene.resolver,), seconds=3)
    assert "DNSSEC signatures do not hold" in shortfall(vain)
    assert "receivers reject it: it takes more than 10" in (
        shortfall(Play().wait("dear.example", scene.authority, (scene.resolver,), seconds=3))
    )


def test_look_ups_that_could_not_be_counted_are_advice(scene: Scene) -> None:
    """The resolver knows nobody to ask for that name."""
    verification = seen("lost.example", scene.authority, resolvers=(scene.resolver,))
    assert statuses(verification) == ["match"] * 3
    assert "more than the 10 that receivers allow: no resolver told of lost.test." in " ".join(
        verification.advice
    )


def test_a_key_may_lie_in_another_zone(scene: Scene) -> None:
    """Resolvers tell what is behind an alias."""
    verification = seen("linked.example", scene.authority, resolvers=(scene.resolver,))
    assert statuses(verification) == ["match"] * 3
    assert verification.aliases == {
        "service._domainkey.linked.example": "service._domainkey.plain.example"
    }


def test_a_key_that_leads_nowhere_is_in_conflict(scene: Scene) -> None:
    """Resolvers tell for certain that there is nothing; without them, nobody does."""
    verification = seen("astray.example", scene.authority, resolvers=(scene.resolver,))
    assert statuses(verification) == ["match", "match", "conflict"]
    assert "there is no DKIM record at gone.example.net." in verification.verdicts[2].detail
    alone = seen("astray.example", scene.authority)
    assert statuses(alone) == ["match", "match", "unknown"]
    assert alone.verdicts[2].remedy == (
        "Set the option resolvers to some that can look up gone.example.net, and run again."
    )


def test_a_resolver_that_knows_what_was_before_keeps_a_domain_from_being_active(
    scene: Scene,
) -> None:
    """It is published; who asks that resolver does not see it."""
    stale = {
        ("*", "MX"): habits.nothing_there(soa="plain.example"),
        ("*", "*"): habits.relay(scene.resolver.address, scene.resolver.port),
    }
    with misbehaving(stale) as behind:
        verification = seen("plain.example", scene.authority, resolvers=(scene.resolver, behind))
    assert statuses(verification) == ["match"] * 3
    assert verification.stage == "published"
    assert any(
        f"{behind}, a resolver, does not give the MX record" in a for a in verification.advice
    )


@pytest.mark.parametrize("habit", [habits.silent, habits.garbage, habits.refused])
def test_resolvers_that_tell_nothing_cost_one_line(scene: Scene, habit: habits.Habit) -> None:
    """The records are known all the same."""
    with misbehaving({("*", "*"): habit}) as bad:
        verification = seen("signed.example", scene.authority, resolvers=(bad,), seconds=2.0)
    assert statuses(verification) == ["match"] * 3
    assert verification.stage == "published"
    assert len(verification.advice) == 1
    assert verification.advice[0].startswith("No resolver told anything, so nothing is known of")


def test_name_servers_are_given_by_name_or_address(scene: Scene) -> None:
    """Names are looked up; one that has no address is there in the answer."""
    port = scene.authority.port
    given = (f"here.example.net:{port}", "nowhere.example.net")
    verification = seen("signed.example", *given, resolvers=(scene.resolver,))
    assert statuses(verification) == ["match"] * 3
    assert verification.verdicts[0].detail == f"here.example.net (127.0.0.1:{port}) has it."
    assert "nowhere.example.net told nothing (" in verification.advice[0]
    nowhere = seen("signed.example", "nowhere.example.net", resolvers=(scene.resolver,))
    assert statuses(nowhere) == ["unknown"] * 3
    assert all("the option nameservers" in each.remedy for each in nowhere.verdicts)


def test_who_is_an_authority_is_found_through_resolvers(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """By the delegation, as receivers find it: it names hosts, and so port 53."""
    address = address_with_port_53()
    place = tmp_path_factory.mktemp("delegation")
    text = f"{published('found.example')}\nns1 300 IN A {address}\n"
    soa = "@ IN SOA ns1 hostmaster 1 3600 600 86400 60\n@ IN NS ns1\n"
    with running(place, {"found.example": f"{soa}{text}"}) as authority:
        here = {("*", "*"): habits.relay(authority.address, authority.port)}
        forwards = {".": Forward(authority)}
        with (
            misbehaving(here, address=address, port=53),
            running(place, {}, forwards=forwards) as r,
        ):
            verification = seen("found.example", resolvers=(r,))
    assert statuses(verification) == ["match"] * 3
    assert verification.stage == "active"
    assert verification.verdicts[0].detail == f"ns1.found.example ({address}) has it."


@pytest.mark.parametrize("habit", [habits.silent, habits.failing("SERVFAIL"), habits.garbage])
def test_where_no_authority_can_be_found_nothing_is_known(habit: habits.Habit) -> None:
    """Without resolvers that tell, nobody can be asked."""
    with misbehaving({("*", "*"): habit}) as bad:
        verification = seen("found.example", resolvers=(bad,), seconds=0.4)
    assert statuses(verification) == ["unknown"] * 3
    assert verification.stage == "unknown"
    told = verification.verdicts[0]
    assert told.detail.startswith("The name servers of found.example could not be found (")
    # What to do is said once, and not with the cause as well.
    assert "the option nameservers" not in told.detail
    assert "the option nameservers" in told.remedy
    assert SPF not in shortfall(verification)
