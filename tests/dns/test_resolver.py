# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Queries to name servers and resolvers.

A bad answer proves neither that records exist nor that they are missing.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ansible_collections.postroom.email.plugins.module_utils._api.dns.query import (
    Answer,
    Server,
    query,
)
from ansible_collections.postroom.email.plugins.module_utils._api.dns.record_types import Mx, Txt
from ansible_collections.postroom.email.plugins.module_utils._api.dns.resolver import (
    Resolvers,
    addresses,
    servers_of,
)
from ansible_collections.postroom.email.plugins.module_utils._api.errors import NameServerError
from ansible_collections.postroom.email.tests.fakes.nameserver import behaviors
from ansible_collections.postroom.email.tests.fakes.nameserver.server import (
    FakeNameserver,
    fake_nameserver,
)
from ansible_collections.postroom.email.tests.support import bind
from ansible_collections.postroom.email.tests.support.loopback import free_port

QUICK = 0.4
MX = "10 mail.example.net."
RIGHT = behaviors.answer(MX)
OTHER = behaviors.answer("10 mail.elsewhere.example.")
FOUND = (Mx(10, "mail.example.net"),)


def asked(behavior: behaviors.Behavior, *, timeout: float = 2.0, recursive: bool = False) -> Answer:
    """Query a server with the given behavior for the MX records of example.com."""
    with fake_nameserver({("example.com", "MX"): behavior}) as server:
        at = Server("ns1.example.com", server.address, server.port)
        return query(at, "example.com", "MX", timeout=timeout, recursive=recursive)


@pytest.mark.parametrize(
    "behavior",
    [
        behaviors.truncated(RIGHT),
        behaviors.by_turns(behaviors.silent, behaviors.silent, RIGHT),
        behaviors.late(0.6, RIGHT),
        behaviors.without_edns("FORMERR", RIGHT),
        behaviors.both(behaviors.wrong_id(OTHER), RIGHT),
        behaviors.both(behaviors.wrong_question(OTHER), RIGHT),
        behaviors.both(behaviors.garbage, RIGHT),
        behaviors.both(behaviors.elsewhere(OTHER), RIGHT),
        behaviors.both(behaviors.no_response(OTHER), RIGHT),
        behaviors.both(RIGHT, OTHER),
    ],
)
def test_the_right_answer_is_found_among_others(behavior: behaviors.Behavior) -> None:
    """A valid answer is found despite bad ones, by retrying, using TCP or omitting EDNS."""
    found = asked(behavior)
    assert (found.kind, found.detail, found.values, found.ttl) == ("answered", "", FOUND, 3600)


@pytest.mark.parametrize(
    ("kind", "words", "behavior"),
    [
        ("silent", "timed out", behaviors.silent),
        ("silent", "timed out", behaviors.elsewhere(RIGHT)),
        ("silent", "timed out", behaviors.garbage),
        ("silent", "timed out", behaviors.wrong_id(RIGHT)),
        ("silent", "timed out", behaviors.wrong_question(RIGHT)),
        ("silent", "timed out", behaviors.no_response(RIGHT)),
        ("lame", "REFUSED", behaviors.refused),
        ("failed", "SERVFAIL", behaviors.failing("SERVFAIL", error=22, text="a\x1b[31m")),
        ("lame", "not authoritative", behaviors.answer(MX, aa=False)),
        ("lame", "a resolver answered", behaviors.answer(MX, aa=False, ra=True)),
        ("lame", "not authoritative", behaviors.nothing_there(soa="example.com", aa=False)),
        ("lame", "refers to ns9.example.net", behaviors.referral("example.com", "ns9.example.net")),
        ("garbled", "other records", behaviors.another_name("example.org", MX)),
        ("garbled", "other records", behaviors.alias("example.net", MX, of="example.org")),
        ("garbled", "", behaviors.alias("example.com")),
        ("garbled", "does not name the zone", behaviors.nothing_there()),
        (
            "garbled",
            "does not name the zone",
            behaviors.nothing_there("NXDOMAIN", soa="example.org"),
        ),
        ("lame", "answers for com", behaviors.nothing_there("NXDOMAIN", soa="com")),
        ("garbled", "can't be read", behaviors.truncated(behaviors.half(RIGHT))),
        ("silent", "timed out", behaviors.truncated(behaviors.dripping(0.1, RIGHT))),
        ("garbled", "can't be read", behaviors.truncated(behaviors.garbage)),
    ],
)
def test_a_bad_answer_is_never_an_empty_answer(
    kind: str, words: str, behavior: behaviors.Behavior
) -> None:
    """Each failure has its own kind, and none of them is reported as missing records."""
    found = asked(behavior, timeout=QUICK)
    assert (found.kind, found.values) == (kind, ())
    assert words in found.detail


def test_servers_that_do_not_listen() -> None:
    """A refused connection over UDP or TCP, and an unknown host, are reported without waiting."""
    with fake_nameserver({("*", "*"): behaviors.truncated(RIGHT)}, tcp=False) as server:
        found = query(Server("", server.address, server.port), "example.com", "MX", timeout=30)
        assert (found.kind, found.detail) == ("silent", "Connection refused")
    found = query(Server("", "127.0.0.1", free_port()), "example.com", "MX", timeout=30)
    assert (found.kind, found.detail) == ("silent", "Connection refused")
    unknown = Server("ns1.example.com", "")
    assert query(unknown, "example.com", "MX", timeout=QUICK).kind == "unfound"


@pytest.mark.parametrize(
    ("zone", "soa", "kind"),
    [
        ("example.com", "EXAMPLE.com", "answered"),
        ("example.com", "sub.example.com", "answered"),
        ("sub.example.com", "example.com", "lame"),
        ("com", "com", "answered"),
        ("", "example.com", "answered"),
        ("", "com", "lame"),
    ],
)
def test_an_empty_answer_counts_in_the_zone_of_the_name(zone: str, soa: str, kind: str) -> None:
    """An empty answer counts only if it comes from the zone of the queried name."""
    with fake_nameserver({("*", "*"): behaviors.nothing_there("NXDOMAIN", soa=soa)}) as server:
        at = Server("", server.address, server.port)
        found = query(at, "mail.sub.example.com", "MX", timeout=2, zone=zone)
    assert (found.kind, found.values, found.ttl, found.alias) == (kind, (), None, None)


@pytest.mark.parametrize(
    ("behavior", "kind"),
    [
        (behaviors.answer(MX, aa=False), "answered"),
        (behaviors.nothing_there(soa="example.com", aa=False), "answered"),
        (behaviors.referral("com", "a.gtld.example"), "lame"),
        (behaviors.nothing_there(aa=False), "lame"),
    ],
)
def test_resolvers_need_no_authority(behavior: behaviors.Behavior, kind: str) -> None:
    """A resolver's answer counts even without the AA flag, unless it is merely a referral."""
    assert asked(behavior, recursive=True).kind == kind


def test_flags_of_a_question() -> None:
    """Authoritative servers are queried without recursion and with a safe EDNS payload size."""
    with fake_nameserver({("*", "*"): RIGHT}) as server:
        at = Server("", server.address, server.port)
        query(at, "example.com", "MX", timeout=2)
        query(at, "example.com", "MX", timeout=2, recursive=True, checking_disabled=True)
    plain, recursive = (question.query for question in server.asked)
    assert (int(plain.flags), plain.payload) == (0, 1232)
    assert int(recursive.flags) == 0x0110


@pytest.mark.parametrize("name", ["a..b", "a" * 64 + ".example", "abcdefg." * 40, "\udc80"])
def test_an_impossible_name_has_no_records(name: str) -> None:
    """No query is sent for a name that DNS can't represent."""
    found = query(Server("", "127.0.0.1", 9), name, "TXT", timeout=QUICK)
    assert (found.kind, found.values) == ("answered", ())


def test_answers_of_bind(tmp_path: Path) -> None:
    """All kinds of answers from BIND are read correctly, including aliases and wildcards."""
    strings = [str(part) * 200 for part in range(1, 10)]
    text = f"""
        @ MX 20 B.Example.NET.
        @ MX 10 a.example.net.
        * TXT "anything" "\\255\\000"
        big TXT {" ".join(f'"{string}"' for string in strings)}
        www CNAME big
        out CNAME mail.example.net.
        null MX 0 .
        sub NS ns.example.net.
    """
    with bind.running(tmp_path, {"example.com": text}) as server:
        at = Server("", server.address, server.port)

        def of(name: str, kind: str) -> Answer:
            return query(at, name, kind, timeout=5)

        mx = set(of("EXAMPLE.com", "MX").values)
        assert mx == {Mx(10, "a.example.net"), Mx(20, "b.example.net")}
        assert of("example.com", "TXT") == Answer(at, "answered", rcode="NOERROR")
        assert of("x.example.com", "TXT").values == (Txt((b"anything", b"\xff\0")),)
        assert of("null.example.com", "MX").values == (Mx(0, ""),)
        big = (Txt(tuple(string.encode() for string in strings)),)
        www, out = of("www.example.com", "TXT"), of("out.example.com", "TXT")
        assert (www.values, www.ttl, www.alias) == (big, 3600, "big.example.com")
        assert (out.values, out.ttl, out.alias) == ((), None, "mail.example.net")
        assert of("mail.sub.example.com", "MX").kind == "lame"
        assert of("example.org", "MX").detail.startswith("REFUSED")


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
    Server("ns4.gone.test", ""),  # this host has no address
    Server(f"ns1.{ZONE}", "127.0.0.1"),
    Server(f"ns1.{ZONE}", "192.0.2.1"),
    Server(f"ns2.{ZONE}", "127.0.0.2"),
    Server(f"ns2.{ZONE}", "fe80::2"),
    Server(f"ns3.{ZONE}", "fe80::3"),
]
RESOLVED = behaviors.answer(MX, aa=False)


@pytest.fixture(scope="module")
def dns_client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Resolvers]:
    """Run an authoritative server and a resolver."""
    reverse = {REVERSE: f"1 PTR ns1.{ZONE}."}
    zones: dict[str, bind.Zone | str] = {**reverse, "test": TOP, ZONE: TEXT, f"deep.{ZONE}": ""}
    place = tmp_path_factory.mktemp("resolving")
    with bind.running(place, zones) as authority:
        forwards = {name: bind.Forward(authority) for name in ("test", REVERSE)}
        with bind.running(place, {}, forwards=forwards) as resolver:
            yield resolvers(resolver)


def resolvers(*servers: bind.BindServer | FakeNameserver, timeout: float = 5.0) -> Resolvers:
    """Return a client for the given resolvers."""
    return Resolvers([Server("", server.address, server.port) for server in servers], timeout)


def test_look_ups(dns_client: Resolvers) -> None:
    """Lookups return texts, hosts, addresses and names, even behind an alias."""
    texts = ("one text", "two")
    expected = {
        (f"text.{ZONE}", "TXT"): texts,
        (f"www.text.{ZONE}", "TXT"): texts,
        (f"text.{ZONE}", "MX"): (f"mail.{ZONE}",),
        (f"alias.{ZONE}", "A"): ("127.0.0.1", "192.0.2.1"),
        (f"ns2.{ZONE}", "AAAA"): ("fe80::2",),
        (f"alias.{ZONE}", "MX"): (),
        (f"nobody.{ZONE}", "MX"): (),
        (f"a..b.{ZONE}", "TXT"): (),
    }
    for (name, kind), lookup in expected.items():
        found = dns_client.confirmed_texts(name, kind)
        assert found is not None
        assert tuple(sorted(found)) == lookup


@pytest.mark.parametrize(
    ("behavior", "kind"),
    [
        (behaviors.checking(RESOLVED), "bogus"),
        (behaviors.checking(behaviors.nothing_there(soa="example.com", aa=False)), "bogus"),
        (behaviors.by_turns(behaviors.failing("SERVFAIL"), RESOLVED), "answered"),
        (behaviors.failing("SERVFAIL"), "failed"),
        (behaviors.failing("REFUSED"), "lame"),
        (behaviors.silent, "silent"),
    ],
)
def test_what_a_resolver_means(behavior: behaviors.Behavior, kind: str) -> None:
    """A failure counts as a DNSSEC failure only if it disappears when validation is disabled."""
    with fake_nameserver({("*", "*"): behavior}) as server:
        client = resolvers(server, timeout=0.4)
        (found,) = client.all_answers("example.com", "MX")
        assert found.kind == kind
        if kind == "bogus":
            # The search for zones ignores signatures, but lookups do not.
            assert client.first_answer("example.com", "MX").kind == "answered"
            assert client.confirmed_texts("example.com", "MX") is None


def test_a_resolver_that_fails_is_asked_last() -> None:
    """A failing resolver delays queries by its timeout only once.

    After that, it is queried last.
    """
    with (
        fake_nameserver({("*", "*"): behaviors.silent}) as dead,
        fake_nameserver(
            {("example.com", "MX"): RESOLVED, ("*", "*"): behaviors.failing("SERVFAIL")}
        ) as alive,
    ):
        both = resolvers(dead, alive, timeout=1.0)
        found = ("mail.example.net",)
        assert [both.confirmed_texts("example.com", "MX") for _time in range(2)] == [found, found]
        assert len(dead.asked) == 3
    gone = Server("", "127.0.0.1", free_port())
    last = Resolvers([gone], 5.0).first_answer("example.com", "MX")
    assert (last.kind, last.detail) == ("silent", f"{gone}: Connection refused")
    none = resolvers()
    assert none.all_answers("example.com", "MX") == ()
    assert none.confirmed_texts("example.com", "MX") is None
    assert none.first_answer("example.com", "MX").detail == "no resolver is known"


def test_the_servers_of_a_name(dns_client: Resolvers) -> None:
    """Each reachable address of the name servers of the closest zone is found once."""
    for name in (ZONE, f"selector._domainkey.{ZONE}", f"www.{ZONE}"):
        zone, servers = servers_of(name, dns_client)
        assert (zone, sorted(servers)) == (ZONE, sorted(SERVERS))
    deep = f"deep.{ZONE}"
    expected = deep, (Server(f"ns1.{deep}", "127.0.0.1"),)
    assert servers_of(f"x._domainkey.{deep}", dns_client) == expected
    # A company's internal zone may have a name of only one label.
    assert servers_of("there.test", dns_client)[0] == "test"
    with pytest.raises(NameServerError, match=r"[Ss]et nameservers"):
        servers_of("selector._domainkey.free.test", dns_client)


def test_servers_given_as_options(dns_client: Resolvers) -> None:
    """Servers given as options keep their ports, and a host without addresses is reported."""
    given = [
        Server("", "192.0.2.7", 5353),
        Server(f"ns2.{ZONE}", "", 5353),
        Server("", "127.0.0.1", 5353),
        Server(f"alias.{ZONE}", ""),
        Server("", "fe80::1"),
    ]
    assert sorted(addresses(given, dns_client)) == [
        Server("", "192.0.2.7", 5353),
        Server("", "fe80::1"),
        Server(f"alias.{ZONE}", "127.0.0.1"),
        Server(f"alias.{ZONE}", "192.0.2.1"),
        Server(f"ns2.{ZONE}", "127.0.0.1", 5353),
        Server(f"ns2.{ZONE}", "127.0.0.2", 5353),
        Server(f"ns2.{ZONE}", "fe80::2", 5353),
    ]
    (server,) = addresses([Server(f"nobody.{ZONE}", "", 5353)], dns_client)
    assert str(server) == f"nobody.{ZONE}:5353"
    assert query(server, ZONE, "MX", timeout=5).kind == "unfound"


SOA = behaviors.answer("ns1.example.test. hostmaster.example.test. 1 2 3 4 5")


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        ({("*", "*"): behaviors.silent}, "timed out"),
        ({("*", "*"): behaviors.failing("SERVFAIL", error=22)}, "SERVFAIL"),
        (
            {(ZONE, "SOA"): SOA, (ZONE, "NS"): behaviors.nothing_there(soa=ZONE)},
            "it has no NS records",
        ),
    ],
)
def test_servers_that_cannot_be_found(
    answers: dict[tuple[str, str], behaviors.Behavior], words: str
) -> None:
    """The error names the zone.

    It also states whether the resolver failed or NS records are missing.
    """
    with fake_nameserver(answers) as server, pytest.raises(NameServerError) as caught:
        servers_of(ZONE, resolvers(server, timeout=0.4))
    assert str(caught.value).startswith(f"The name servers of {ZONE} could not be found (")
    assert words in str(caught.value)
