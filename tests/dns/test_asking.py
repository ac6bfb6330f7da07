# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Questions to single name servers: a bad answer never passes for records or for their absence."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.postroom.email.plugins.module_utils._api.nameservers.asking import (
    answer_of,
    ask,
    find,
)
from ansible_collections.postroom.email.plugins.module_utils._api.records.observed import (
    Answer,
    Server,
)
from ansible_collections.postroom.email.plugins.module_utils._api.records.sets import Mx, Txt
from ansible_collections.postroom.email.tests.fakes.nameserver.habits import (
    Habit,
    alias,
    another_name,
    answer,
    both,
    by_turns,
    dripping,
    elsewhere,
    failing,
    garbage,
    half,
    late,
    no_response,
    nothing_there,
    referral,
    refused,
    silent,
    truncated,
    without_edns,
    wrong_id,
    wrong_question,
)
from ansible_collections.postroom.email.tests.fakes.nameserver.server import misbehaving
from ansible_collections.postroom.email.tests.support import bind
from ansible_collections.postroom.email.tests.support.loopback import free_port

QUICK = 0.4
MX = "10 mail.example.net."
RIGHT = answer(MX)
OTHER = answer("10 mail.elsewhere.example.")
FOUND = (Mx(10, "mail.example.net"),)


def asked(habit: Habit, *, timeout: float = 2.0, recursive: bool = False) -> Answer:
    """Ask a server with that habit for the MX records of example.com."""
    with misbehaving({("example.com", "MX"): habit}) as server:
        at = Server("ns1.example.com", server.address, server.port)
        found = find(at, "example.com", "MX", timeout=timeout, recursive=recursive)
        return answer_of(at, found)


@pytest.mark.parametrize(
    "habit",
    [
        truncated(RIGHT),
        by_turns(silent, silent, RIGHT),
        late(0.6, RIGHT),
        without_edns("FORMERR", RIGHT),
        without_edns("NOTIMP", RIGHT),
        without_edns("BADVERS", RIGHT),
        both(wrong_id(OTHER), RIGHT),
        both(wrong_question(OTHER), RIGHT),
        both(garbage, RIGHT),
        both(elsewhere(OTHER), RIGHT),
        both(no_response(OTHER), RIGHT),
        both(RIGHT, OTHER),
    ],
)
def test_the_right_answer_is_found_among_others(habit: Habit) -> None:
    """Retries, TCP, a question without EDNS and patience lead to the valid answer."""
    found = asked(habit)
    assert (found.kind, found.detail, found.values, found.ttl) == ("answered", "", FOUND, 3600)


@pytest.mark.parametrize(
    ("kind", "words", "habit"),
    [
        ("silent", "time was up", silent),
        ("silent", "time was up", elsewhere(RIGHT)),
        ("garbled", "cannot be read", garbage),
        ("garbled", "not an answer", wrong_id(RIGHT)),
        ("garbled", "not an answer", wrong_question(RIGHT)),
        ("garbled", "not an answer", no_response(RIGHT)),
        ("lame", "REFUSED", refused),
        (
            "failed",
            "(NO REACHABLE AUTHORITY: a[31m)",
            failing("SERVFAIL", error=22, text="a\x1b[31m"),
        ),
        ("failed", "SERVFAIL (4711)", failing("SERVFAIL", error=4711)),
        ("failed", "FORMERR", failing("FORMERR")),
        ("failed", "12", failing("12")),
        ("lame", "not an authority's", answer(MX, aa=False)),
        ("lame", "a resolver answered", answer(MX, aa=False, ra=True)),
        ("lame", "not an authority's", nothing_there(soa="example.com", aa=False)),
        ("lame", "servers of example.com", referral("example.com", "ns9.example.net")),
        ("lame", "servers of the root", referral("", "a.root")),
        ("garbled", "other records", another_name("example.org", MX)),
        ("garbled", "other records", alias("example.net", MX, of="example.org")),
        ("garbled", "", alias("example.com")),
        ("garbled", "does not name the zone", nothing_there()),
        ("garbled", "does not name the zone", nothing_there("NXDOMAIN", soa="example.org")),
        ("lame", "answers for com", nothing_there("NXDOMAIN", soa="com")),
        ("lame", "answers for the root", nothing_there(soa="")),
        ("garbled", "the connection ended", truncated(half(RIGHT))),
        ("silent", "over TCP the time was up", truncated(dripping(0.1, RIGHT))),
        ("garbled", "over TCP what came cannot be read", truncated(garbage)),
        ("garbled", "over TCP what came cannot be read", truncated(wrong_id(RIGHT))),
        ("lame", "REFUSED", truncated(refused)),
    ],
)
def test_a_bad_answer_is_never_an_empty_answer(kind: str, words: str, habit: Habit) -> None:
    """Each failure gets its own kind, and none reports missing records."""
    found = asked(habit, timeout=QUICK)
    assert (found.kind, found.values) == (kind, ())
    assert words in found.detail


def test_servers_that_do_not_listen() -> None:
    """A refused connection, by UDP or TCP, and an unknown route are reported without waiting."""
    with misbehaving({("*", "*"): truncated(RIGHT)}, tcp=False) as server:
        found = ask(Server("", server.address, server.port), "example.com", "MX", timeout=30)
        assert (found.kind, found.detail[-21:]) == ("silent", "nothing listens there")
    found = ask(Server("", "127.0.0.1", free_port()), "example.com", "MX", timeout=30)
    assert (found.kind, found.detail) == ("silent", "nothing listens there")
    unreachable = Server("", "2001:db8::1%nowhere", 53)
    assert ask(unreachable, "example.com", "MX", timeout=QUICK).kind == "unfound"


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
    """An authority for the zone is believed; one for a parent zone knows no delegated name."""
    with misbehaving({("*", "*"): nothing_there("NXDOMAIN", soa=soa)}) as server:
        at = Server("", server.address, server.port)
        found = ask(at, "mail.sub.example.com", "MX", timeout=2, zone=zone)
    assert (found.kind, found.values, found.ttl, found.alias) == (kind, (), None, None)


@pytest.mark.parametrize("values", [(), (MX,)], ids=["alone", "followed"])
def test_an_alias_is_followed_within_the_answer(values: tuple[str, ...]) -> None:
    """A CNAME record is reported, with the records behind it that came along."""
    found = asked(alias("web.example.net", *values))
    assert (found.kind, found.alias) == ("answered", "web.example.net")
    assert found.values == (FOUND if values else ())


@pytest.mark.parametrize(
    ("habit", "kind"),
    [
        (answer(MX, aa=False), "answered"),
        (nothing_there(soa="example.com", aa=False), "answered"),
        (referral("com", "a.gtld.example"), "lame"),
        (nothing_there(aa=False), "lame"),
        (failing("SERVFAIL"), "failed"),
    ],
)
def test_resolvers_need_no_authority(habit: Habit, kind: str) -> None:
    """A resolver's answer counts without the AA flag; a referral shows that it doesn't recurse."""
    assert asked(habit, recursive=True).kind == kind


def test_flags_of_a_question() -> None:
    """Authorities are not asked to recurse; the EDNS payload fits every path."""
    with misbehaving({("*", "*"): RIGHT}) as server:
        at = Server("", server.address, server.port)
        ask(at, "example.com", "MX", timeout=2)
        find(at, "example.com", "MX", timeout=2, recursive=True, checking_disabled=True)
    plain, recursive = (question.query for question in server.asked)
    assert (int(plain.flags), plain.payload) == (0, 1232)
    assert int(recursive.flags) == 0x0110


@pytest.mark.parametrize("name", ["a..b", "a" * 64 + ".example", "abcdefg." * 40, "\udc80"])
def test_an_impossible_name_has_no_records(name: str) -> None:
    """No question is sent for a name that DNS cannot hold."""
    found = ask(Server("", "127.0.0.1", 9), name, "TXT", timeout=QUICK)
    assert (found.kind, found.values) == ("answered", ())


def test_answers_of_bind(tmp_path: Path) -> None:
    """Records, none, an alias, a wildcard, a delegation and another zone are read from BIND."""
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
            return ask(at, name, kind, timeout=5)

        mx = set(of("EXAMPLE.com", "MX").values)
        assert mx == {Mx(10, "a.example.net"), Mx(20, "b.example.net")}
        assert of("example.com", "TXT") == Answer(at, "answered")
        assert of("x.example.com", "TXT").values == (Txt((b"anything", b"\xff\0")),)
        assert of("null.example.com", "MX").values == (Mx(0, ""),)
        big = (Txt(tuple(string.encode() for string in strings)),)
        assert of("www.example.com", "TXT")[3:] == (big, 3600, "big.example.com")
        assert of("out.example.com", "TXT")[3:] == ((), None, "mail.example.net")
        assert of("mail.sub.example.com", "MX").kind == "lame"
        assert of("example.org", "MX").detail.startswith("REFUSED")
