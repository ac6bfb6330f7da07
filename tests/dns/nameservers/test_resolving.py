# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Resolvers: real ones that validate, and some that do badly."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ansible_collections.postroom.email.plugins.module_utils._api.nameservers.resolving import (
    Resolvers,
)
from ansible_collections.postroom.email.plugins.module_utils._api.records.lookups import Lookup
from ansible_collections.postroom.email.plugins.module_utils._api.records.observed import Server
from ansible_collections.postroom.email.plugins.module_utils._api.records.sets import Mx
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
from ansible_collections.postroom.email.tests.support.loopback import free_port

SIGNED = "signed.test"
REVERSE = "2.0.192.in-addr.arpa"
TEXT = """
    @ MX 10 mail
    @ TXT "one" " text"
    @ TXT "two"
    mail A 192.0.2.1
    mail AAAA 2001:db8::1
    www CNAME mail
"""
MAIL = (Mx(10, f"mail.{SIGNED}"),)
RIGHT = answer("10 mail.example.net.", aa=False)
FOUND = Lookup("found", ("mail.example.net",))


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Iterator[bind.BindServer]:
    """Run an authority for a signed zone, and one for addresses."""
    zones: dict[str, bind.Zone | str] = {
        SIGNED: bind.Zone(TEXT, signed=True),
        REVERSE: f"1 PTR mail.{SIGNED}.",
    }
    with bind.running(tmp_path_factory.mktemp("authority"), zones) as server:
        yield server


@pytest.fixture(scope="module")
def resolver(
    authority: bind.BindServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[bind.BindServer]:
    """Run a resolver that trusts the right key."""
    forwards = {
        SIGNED: bind.Forward(authority, authority.anchor(SIGNED)),
        REVERSE: bind.Forward(authority),
    }
    with bind.running(tmp_path_factory.mktemp("resolver"), {}, forwards=forwards) as server:
        yield server


@pytest.fixture(scope="module")
def doubting(
    authority: bind.BindServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[bind.BindServer]:
    """Run a resolver to which the zone's signatures are wrong."""
    tag, algorithm, digest, *_text = authority.anchor(SIGNED).split()
    forwards = {SIGNED: bind.Forward(authority, f"{tag} {algorithm} {digest} {'00' * 32}")}
    with bind.running(tmp_path_factory.mktemp("doubting"), {}, forwards=forwards) as server:
        yield server


def resolvers(*servers: bind.BindServer | BadServer, timeout: float = 5.0) -> Resolvers:
    """Return a way to ask some servers."""
    return Resolvers([Server("", server.address, server.port) for server in servers], timeout)


LOOKUPS = {
    ("@", "TXT"): Lookup("found", ("one text", "two")),
    ("@", "MX"): Lookup("found", (f"mail.{SIGNED}",)),
    ("mail", "A"): Lookup("found", ("192.0.2.1",)),
    ("mail", "AAAA"): Lookup("found", ("2001:db8::1",)),
    ("www", "A"): Lookup("found", ("192.0.2.1",)),
    ("www", "TXT"): Lookup("void"),
    ("mail", "TXT"): Lookup("void"),
    ("nobody", "TXT"): Lookup("void"),
    ("a..b", "TXT"): Lookup("void"),
}


@pytest.mark.parametrize(("name", "kind"), LOOKUPS)
def test_look_ups(resolver: bind.BindServer, name: str, kind: str) -> None:
    """Texts, hosts and addresses are found, also behind an alias, and what is not there is void."""
    full = SIGNED if name == "@" else f"{name}.{SIGNED}"
    found = resolvers(resolver).lookup(full, kind)

    assert found._replace(values=tuple(sorted(found.values))) == LOOKUPS[name, kind]


def test_the_name_of_an_address(resolver: bind.BindServer) -> None:
    """An address has a name by its PTR record."""
    found = resolvers(resolver).lookup(f"1.{REVERSE}", "PTR")

    assert found == Lookup("found", (f"mail.{SIGNED}",))


def test_each_resolver_is_asked(resolver: bind.BindServer, doubting: bind.BindServer) -> None:
    """Each resolver says what it sees: the records, or that the signatures do not hold."""
    right, wrong = resolvers(resolver, doubting).resolve(SIGNED, "MX")

    assert (right.kind, right.values) == ("answered", MAIL)
    assert (wrong.kind, wrong.values) == ("bogus", MAIL)
    assert wrong.detail.startswith("SERVFAIL")


def test_a_zone_is_found_in_spite_of_its_signatures(doubting: bind.BindServer) -> None:
    """What is needed to find servers is asked without checks; look-ups are not."""
    there = resolvers(doubting)

    assert there.find(SIGNED, "SOA").kind == "answered"
    assert there.lookup(SIGNED, "MX") == Lookup("failed")


def test_nobody_is_asked() -> None:
    """Without resolvers nothing is known, and nothing is void."""
    nobody = Resolvers([], 5.0)

    assert nobody.resolve("example.com", "MX") == ()
    assert nobody.lookup("example.com", "MX") == Lookup("failed")
    assert nobody.find("example.com", "MX").detail == "there is no resolver to ask"


RESOLVED: dict[str, tuple[Habit, str, str]] = {
    "validated": (checking(RIGHT), "bogus", "SERVFAIL (DNSSEC BOGUS: no valid signature)"),
    "nothing, validated": (
        checking(nothing_there(soa="example.com", aa=False)),
        "bogus",
        "SERVFAIL (DNSSEC BOGUS: no valid signature)",
    ),
    "failing for a moment": (by_turns(failing("SERVFAIL"), RIGHT), "answered", ""),
    "failing in any case": (failing("SERVFAIL"), "failed", "SERVFAIL"),
    "refusing": (failing("REFUSED"), "lame", "REFUSED"),
    "silent": (silent, "silent", "the time was up"),
}


@pytest.mark.parametrize(("habit", "kind", "detail"), RESOLVED.values(), ids=RESOLVED)
def test_what_a_resolver_means(habit: Habit, kind: str, detail: str) -> None:
    """Only a failure that goes away without checks is one of signatures."""
    with misbehaving({("*", "*"): habit}) as server:
        (found,) = resolvers(server, timeout=0.4).resolve("example.com", "MX")

    assert (found.kind, found.detail) == (kind, detail)


def test_the_next_one_is_asked() -> None:
    """One that does not answer costs its time once, and is asked last from then on."""
    with (
        misbehaving({("*", "*"): silent}) as dead,
        misbehaving({("example.com", "MX"): RIGHT, ("*", "*"): failing("SERVFAIL")}) as alive,
    ):
        there = resolvers(dead, alive, timeout=0.4)
        assert [there.lookup("example.com", "MX") for _time in range(2)] == [FOUND, FOUND]
        # Three times in its time, and not again.
        assert len(dead.asked) == 3


def test_failures_name_the_resolver() -> None:
    """Where no resolver answers, the last one and its trouble are told."""
    gone = Server("", "127.0.0.1", free_port())
    found = Resolvers([gone], 5.0).find("example.com", "MX")

    assert (found.kind, found.detail) == ("silent", f"{gone}: nothing listens there")
