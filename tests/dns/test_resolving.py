# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Resolvers: look-ups, DNSSEC, and the name servers that are authoritative for a name."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ansible_collections.postroom.email.plugins.module_utils._api.errors import NameServerError
from ansible_collections.postroom.email.plugins.module_utils._api.nameservers.asking import ask
from ansible_collections.postroom.email.plugins.module_utils._api.nameservers.finding import (
    Given,
    Zone,
    addresses,
    primary_of,
    servers_of,
)
from ansible_collections.postroom.email.plugins.module_utils._api.nameservers.resolving import (
    Resolvers,
)
from ansible_collections.postroom.email.plugins.module_utils._api.records.lookups import Lookup
from ansible_collections.postroom.email.plugins.module_utils._api.records.observed import Server
from ansible_collections.postroom.email.tests.fakes.nameserver.habits import (
    Habit,
    answer,
    by_turns,
    checking,
    failing,
    nothing_there,
    silent,
)
from ansible_collections.postroom.email.tests.fakes.nameserver.server import BadServer, misbehaving
from ansible_collections.postroom.email.tests.support import bind
from ansible_collections.postroom.email.tests.support.loopback import (
    free_port,
)

REVERSE = "2.0.192.in-addr.arpa"
ZONE = "example.test"
TEXT = f"""
    @ SOA Primary hostmaster 1 3600 600 86400 60
    @ NS ns1
    @ NS NS2
    @ NS ns3
    @ NS ns4.gone.test.
    primary A 192.0.2.9
    ns1 A 192.0.2.1
    ns1 A 127.0.0.1
    ns2 A 127.0.0.1
    ns2 A 127.0.0.2
    ns2 AAAA fe80::2
    ns3 AAAA fe80::3
    www CNAME {ZONE}.
    alias CNAME ns1
    text TXT "one" " text"
    text TXT "two"
    text MX 10 mail
    www.text CNAME text
"""
TOP = f'example NS ns1.{ZONE}.\nthere TXT "something"'
SERVERS = [
    Server("", "ns4.gone.test"),  # has no address
    Server(f"ns1.{ZONE}", "127.0.0.1"),
    Server(f"ns1.{ZONE}", "192.0.2.1"),
    Server(f"ns2.{ZONE}", "127.0.0.2"),
    Server(f"ns3.{ZONE}", "fe80::3"),  # unreachable, but its only address
]
RIGHT = answer("10 mail.example.net.", aa=False)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Resolvers]:
    """Run an authority and a resolver."""
    reverse = {REVERSE: f"1 PTR ns1.{ZONE}."}
    zones: dict[str, bind.Zone | str] = {**reverse, "test": TOP, ZONE: TEXT, f"deep.{ZONE}": ""}
    place = tmp_path_factory.mktemp("resolving")
    with bind.running(place, zones) as authority:
        forwards = {name: bind.Forward(authority) for name in ("test", REVERSE)}
        with bind.running(place, {}, forwards=forwards) as resolver:
            yield resolvers(resolver)


def resolvers(*servers: bind.BindServer | BadServer, timeout: float = 5.0) -> Resolvers:
    """Return a client of these resolvers."""
    return Resolvers([Server("", server.address, server.port) for server in servers], timeout)


def test_look_ups(world: Resolvers) -> None:
    """Texts, hosts, addresses and names are found, also behind an alias; the rest is void."""
    texts = Lookup("found", ("one text", "two"))
    expected = {
        (f"text.{ZONE}", "TXT"): texts,
        (f"www.text.{ZONE}", "TXT"): texts,
        (f"text.{ZONE}", "MX"): Lookup("found", (f"mail.{ZONE}",)),
        (f"alias.{ZONE}", "A"): Lookup("found", ("127.0.0.1", "192.0.2.1")),
        (f"ns2.{ZONE}", "AAAA"): Lookup("found", ("fe80::2",)),
        (f"alias.{ZONE}", "TXT"): Lookup("void"),
        (f"nobody.{ZONE}", "TXT"): Lookup("void"),
        (f"a..b.{ZONE}", "TXT"): Lookup("void"),
        (f"1.{REVERSE}", "PTR"): Lookup("found", (f"ns1.{ZONE}",)),
    }
    for (name, kind), lookup in expected.items():
        found = world.lookup(name, kind)
        assert found._replace(values=tuple(sorted(found.values))) == lookup


@pytest.mark.parametrize(
    ("habit", "kind"),
    [
        (checking(RIGHT), "bogus"),
        (checking(nothing_there(soa="example.com", aa=False)), "bogus"),
        (by_turns(failing("SERVFAIL"), RIGHT), "answered"),
        (failing("SERVFAIL"), "failed"),
        (failing("REFUSED"), "lame"),
        (silent, "silent"),
    ],
)
def test_what_a_resolver_means(habit: Habit, kind: str) -> None:
    """Only a failure that vanishes when checks are disabled is a DNSSEC failure."""
    with misbehaving({("*", "*"): habit}) as server:
        client = resolvers(server, timeout=0.4)
        (found,) = client.resolve("example.com", "MX")
        assert found.kind == kind
        if kind == "bogus":
            # The search for zones ignores signatures; look-ups do not.
            assert client.find("example.com", "MX").kind == "answered"
            assert client.lookup("example.com", "MX") == Lookup("failed")


def test_a_resolver_that_fails_is_asked_last() -> None:
    """It costs its timeout once; without any resolver nothing is known, and nothing is void."""
    with (
        misbehaving({("*", "*"): silent}) as dead,
        misbehaving({("example.com", "MX"): RIGHT, ("*", "*"): failing("SERVFAIL")}) as alive,
    ):
        both = resolvers(dead, alive, timeout=1.0)
        found = Lookup("found", ("mail.example.net",))
        assert [both.lookup("example.com", "MX") for _time in range(2)] == [found, found]
        assert len(dead.asked) == 3
    gone = Server("", "127.0.0.1", free_port())
    last = Resolvers([gone], 5.0).find("example.com", "MX")
    assert (last.kind, last.detail) == ("silent", f"{gone}: nothing listens there")
    none = resolvers()
    assert none.resolve("example.com", "MX") == ()
    assert none.lookup("example.com", "MX") == Lookup("failed")
    assert none.find("example.com", "MX").detail == "there is no resolver to ask"


def test_the_servers_of_a_name(world: Resolvers) -> None:
    """Each reachable address of each server of the closest zone is found once."""
    for name in (ZONE, f"selector._domainkey.{ZONE}", f"www.{ZONE}"):
        zone = servers_of(name, world)
        assert (zone.name, sorted(zone.servers)) == (ZONE, SERVERS)
    deep = f"deep.{ZONE}"
    expected = Zone(deep, (Server(f"ns1.{deep}", "127.0.0.1"),))
    assert servers_of(f"x._domainkey.{deep}", world) == expected
    # Within a company, a zone may have one label.
    assert servers_of("there.test", world).name == "test"
    with pytest.raises(NameServerError, match=r"Register the domain .* option nameservers"):
        servers_of("selector._domainkey.free.test", world)


def test_servers_given_as_options(world: Resolvers) -> None:
    """They keep their ports; a host may have several addresses, or none, which is reported."""
    given = [
        Given("192.0.2.7", 5353),
        Given(f"ns2.{ZONE}", 5353),
        Given("127.0.0.1", 5353),
        Given(f"alias.{ZONE}"),
        Given("fe80::1"),
    ]
    assert sorted(addresses(given, world)) == [
        Server("", "192.0.2.7", 5353),
        Server("", "fe80::1"),
        Server(f"alias.{ZONE}", "127.0.0.1"),
        Server(f"alias.{ZONE}", "192.0.2.1"),
        Server(f"ns2.{ZONE}", "127.0.0.1", 5353),
        Server(f"ns2.{ZONE}", "127.0.0.2", 5353),
    ]
    (server,) = addresses([Given(f"nobody.{ZONE}", 5353)], world)
    assert str(server) == f"nobody.{ZONE}:5353"
    assert ask(server, ZONE, "MX", timeout=5).kind == "unfound"


def test_the_primary_of_a_name() -> None:
    """It is the MNAME of the SOA record; no other question is sent."""
    with misbehaving({(ZONE, "SOA"): answer("Primary.test. root.test. 1 2 3 4 5")}) as server:
        assert primary_of(ZONE, resolvers(server)) == Given("primary.test")
        assert [asked.kind for asked in server.asked] == ["SOA"]


SOA = answer("ns1.example.test. hostmaster.example.test. 1 2 3 4 5")


@pytest.mark.parametrize(
    ("habits", "words"),
    [
        ({("*", "*"): silent}, "the time was up"),
        ({("*", "*"): failing("SERVFAIL", error=22)}, "SERVFAIL (NO REACHABLE"),
        ({(ZONE, "SOA"): SOA, (ZONE, "NS"): nothing_there(soa=ZONE)}, "there are no NS records"),
    ],
)
def test_servers_that_cannot_be_found(habits: dict[tuple[str, str], Habit], words: str) -> None:
    """The error names the zone, and the resolver's failure or the lack of NS records."""
    with misbehaving(habits) as server, pytest.raises(NameServerError) as caught:
        servers_of(ZONE, resolvers(server, timeout=0.4))
    assert str(caught.value).startswith(f"The name servers of {ZONE} could not be found (")
    assert words in str(caught.value)
