# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The servers of a zone, found through a resolver as the world finds them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

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
from ansible_collections.postroom.email.plugins.module_utils._api.records.observed import Server
from ansible_collections.postroom.email.plugins.module_utils._api.records.sets import Mx
from ansible_collections.postroom.email.tests.fakes.nameserver.habits import (
    Habit,
    answer,
    failing,
    nothing_there,
    relay,
    silent,
)
from ansible_collections.postroom.email.tests.fakes.nameserver.server import misbehaving
from ansible_collections.postroom.email.tests.support import bind
from ansible_collections.postroom.email.tests.support.loopback import address_with_port_53

ZONE = "example.test"
TEXT = f"""
    @ SOA Primary hostmaster 1 3600 600 86400 60
    @ NS ns1
    @ NS NS2
    @ NS ns3
    @ NS ns4.gone.test.
    @ MX 10 mail.example.net.
    primary A 192.0.2.9
    ns1 A 192.0.2.1
    ns1 A 127.0.0.1
    ns2 A 127.0.0.1
    ns2 A 127.0.0.2
    ns2 AAAA fe80::2
    ns3 AAAA fe80::3
    www CNAME {ZONE}.
    sub NS ns1
    alias CNAME ns1
"""
TOP = f"""
    example NS ns1.{ZONE}.
    there TXT "something"
"""
FOUND = (
    Server(f"ns1.{ZONE}", "127.0.0.1"),
    Server(f"ns1.{ZONE}", "192.0.2.1"),
    Server(f"ns2.{ZONE}", "127.0.0.2"),
    # It has no address that can be reached, but it has one.
    Server(f"ns3.{ZONE}", "fe80::3"),
    # It has none.
    Server("", "ns4.gone.test"),
)


@pytest.fixture(scope="module")
def resolvers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Resolvers]:
    """Run an authority of two zones, and a resolver that asks it."""
    place = tmp_path_factory.mktemp("finding")
    with bind.running(place, {"test": TOP, ZONE: TEXT, f"deep.{ZONE}": ""}) as authority:
        forwards = {"test": bind.Forward(authority)}
        with bind.running(place, {}, forwards=forwards) as resolver:
            yield Resolvers([Server("", resolver.address, resolver.port)], 5.0)


@pytest.mark.parametrize("name", [ZONE, f"selector._domainkey.{ZONE}", f"www.{ZONE}"])
def test_the_servers_of_a_name(resolvers: Resolvers, name: str) -> None:
    """All addresses of all servers are found, each once, as far as they can be reached."""
    zone = servers_of(name, resolvers)

    assert zone.name == ZONE
    assert sorted(zone.servers) == sorted(FOUND)


def test_the_primary_of_a_name() -> None:
    """It is in the SOA record; who else has the zone is not asked for."""
    with misbehaving({(ZONE, "SOA"): answer("Primary.test. root.test. 1 2 3 4 5")}) as server:
        at = Server("", server.address, server.port)
        assert primary_of(ZONE, Resolvers([at], 5.0)) == Given("primary.test")
        assert [asked.kind for asked in server.asked] == ["SOA"]


def test_a_zone_below(resolvers: Resolvers) -> None:
    """The closest zone is the one that counts."""
    zone = servers_of(f"x._domainkey.deep.{ZONE}", resolvers)

    assert zone == Zone(f"deep.{ZONE}", (Server(f"ns1.deep.{ZONE}", "127.0.0.1"),))


def test_a_name_that_is_not_delegated(resolvers: Resolvers) -> None:
    """A domain that nobody has registered is told as that, and not looked for at the registry's."""
    with pytest.raises(NameServerError) as caught:
        servers_of("selector._domainkey.free.test", resolvers)

    assert str(caught.value) == (
        "selector._domainkey.free.test is in no zone that the resolvers know. Register the domain "
        "and have it delegated, or give its servers in the option nameservers."
    )


def test_a_zone_of_one_label(resolvers: Resolvers) -> None:
    """Inside a company, a zone may have one label, and hold its domains itself."""
    assert servers_of("there.test", resolvers).name == "test"


def test_given_servers(resolvers: Resolvers) -> None:
    """Servers that options name keep their ports; a host may have several addresses."""
    given = [
        Given("192.0.2.7", 5353),
        Given(f"ns2.{ZONE}", 5353),
        Given("127.0.0.1", 5353),
        Given(f"alias.{ZONE}"),
        Given("fe80::1"),
    ]

    assert sorted(addresses(given, resolvers)) == sorted(
        [
            Server("", "192.0.2.7", 5353),
            Server(f"ns2.{ZONE}", "127.0.0.1", 5353),
            Server(f"ns2.{ZONE}", "127.0.0.2", 5353),
            Server(f"alias.{ZONE}", "127.0.0.1"),
            Server(f"alias.{ZONE}", "192.0.2.1"),
            Server("", "fe80::1"),
        ]
    )


def test_a_host_without_address(resolvers: Resolvers) -> None:
    """A host that cannot be found stands for itself, and asking it tells why nothing came."""
    (server,) = addresses([Given(f"nobody.{ZONE}", 5353)], resolvers)
    found = ask(server, ZONE, "MX", timeout=5)

    assert str(server) == f"nobody.{ZONE}:5353"
    assert (found.kind, found.detail) == ("unfound", "its address is not known")


@pytest.mark.parametrize(
    ("habit", "detail"),
    [(silent, "the time was up"), (failing("SERVFAIL", error=22), "SERVFAIL (NO REACHABLE")],
    ids=["silent", "failing"],
)
def test_resolvers_that_do_not_tell(habit: Habit, detail: str) -> None:
    """Without an answer the servers are not known, and it is told who did not answer."""
    with misbehaving({("*", "*"): habit}) as server:
        at = Server("", server.address, server.port)
        with pytest.raises(NameServerError) as caught:
            servers_of(ZONE, Resolvers([at], 0.4))

    assert str(caught.value).startswith(
        f"The name servers of {ZONE} could not be found ({at}: {detail}"
    )


def test_a_zone_without_servers() -> None:
    """A zone that names no servers is told as that."""
    soa = answer("ns1.example.test. hostmaster.example.test. 1 2 3 4 5")
    habits = {(ZONE, "SOA"): soa, (ZONE, "NS"): nothing_there(soa=ZONE)}
    with (
        misbehaving(habits) as server,
        pytest.raises(NameServerError, match=r"could not be found \(there are no NS records\)"),
    ):
        servers_of(ZONE, Resolvers([Server("", server.address, server.port)], 5.0))


def test_the_whole_way(tmp_path: Path) -> None:
    """From a name to its servers at port 53, and to what they say."""
    address = address_with_port_53()
    text = f"""
        @ SOA ns1 hostmaster 1 2 3 4 5
        @ NS ns1
        ns1 A {address}
        @ MX 10 mail.example.net.
    """
    with (
        bind.running(tmp_path, {ZONE: text}) as authority,
        bind.running(tmp_path, {}, forwards={ZONE: bind.Forward(authority)}) as resolver,
        misbehaving(
            {("*", "*"): relay(authority.address, authority.port)}, address=address, port=53
        ),
    ):
        zone = servers_of(ZONE, Resolvers([Server("", resolver.address, resolver.port)], 5.0))
        found = ask(zone.servers[0], ZONE, "MX", timeout=5)

    assert zone == Zone(ZONE, (Server(f"ns1.{ZONE}", address),))
    assert (found.kind, found.values) == ("answered", (Mx(10, "mail.example.net"),))
