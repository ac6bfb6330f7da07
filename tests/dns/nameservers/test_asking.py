# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""One question to one server, whatever the server makes of it."""

from __future__ import annotations

import random
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
    Asked,
    Habit,
    Piece,
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
RIGHT = answer("10 mail.example.net.")
OTHER = answer("10 mail.elsewhere.example.")
FOUND = (Mx(10, "mail.example.net"),)


def asked(
    habit: Habit, *, timeout: float = 2.0, recursive: bool = False, tcp: bool = True
) -> Answer:
    """Ask a server of that habit for the MX records of example.com."""
    with misbehaving({("example.com", "MX"): habit}, tcp=tcp) as server:
        at = Server("ns1.example.com", server.address, server.port)
        found = find(at, "example.com", "MX", timeout=timeout, recursive=recursive)
        return answer_of(at, found)


RIGHT_IN_THE_END = {
    "at once": RIGHT,
    "truncated over UDP, whole over TCP": truncated(RIGHT),
    "the first two questions lost": by_turns(silent, silent, RIGHT),
    "after a while": late(0.6, RIGHT),
    "no EDNS": without_edns("FORMERR", RIGHT),
    "no EDNS, and not implemented": without_edns("NOTIMP", RIGHT),
    "another version of EDNS": without_edns("BADVERS", RIGHT),
    "after another id": both(wrong_id(OTHER), RIGHT),
    "after another question's answer": both(wrong_question(OTHER), RIGHT),
    "after garbage": both(garbage, RIGHT),
    "after another port's answer": both(elsewhere(OTHER), RIGHT),
    "after a question": both(no_response(OTHER), RIGHT),
    "twice": both(RIGHT, OTHER),
}


@pytest.mark.parametrize("habit", RIGHT_IN_THE_END.values(), ids=RIGHT_IN_THE_END)
def test_the_answer_is_found_among_what_comes(habit: Habit) -> None:
    """A server that answers in the end has answered, whatever came before."""
    found = asked(habit)

    assert (found.kind, found.detail, found.values, found.ttl) == ("answered", "", FOUND, 3600)


NO_ANSWER = {
    "silence": (silent, "silent", "the time was up"),
    "an answer that comes too late": (late(30, RIGHT), "silent", "the time was up"),
    "garbage": (garbage, "garbled", "what came cannot be read"),
    "another id": (wrong_id(RIGHT), "garbled", "what came is not an answer to the question"),
    "another question": (
        wrong_question(RIGHT),
        "garbled",
        "what came is not an answer to the question",
    ),
    "a question": (no_response(RIGHT), "garbled", "what came is not an answer to the question"),
    "an answer from another port": (elsewhere(RIGHT), "silent", "the time was up"),
    "REFUSED": (refused, "lame", "REFUSED"),
    "SERVFAIL": (failing("SERVFAIL"), "failed", "SERVFAIL"),
    "SERVFAIL with a reason": (
        failing("SERVFAIL", error=22, text="all\x1b[31m upstreams down"),
        "failed",
        "SERVFAIL (NO REACHABLE AUTHORITY: all[31m upstreams down)",
    ),
    "SERVFAIL with a reason that nobody knows": (
        failing("SERVFAIL", error=4711),
        "failed",
        "SERVFAIL (4711)",
    ),
    "an error in EDNS and without": (failing("FORMERR"), "failed", "FORMERR"),
    "an error that nobody knows": (failing("12"), "failed", "12"),
    "not an authority": (
        answer("10 mail.example.net.", aa=False),
        "lame",
        "its answer is not an authority's",
    ),
    "a resolver": (
        answer("10 mail.example.net.", aa=False, ra=True),
        "lame",
        "a resolver answered, and not an authority",
    ),
    "not an authority, and nothing there": (
        nothing_there(soa="example.com", aa=False),
        "lame",
        "its answer is not an authority's",
    ),
    "not an authority, and no such name": (
        nothing_there("NXDOMAIN", soa="com", aa=False),
        "lame",
        "its answer is not an authority's",
    ),
    "a referral": (
        referral("example.com", "ns9.example.net"),
        "lame",
        "it refers to the servers of example.com",
    ),
    "a referral to the root": (
        referral("", "a.root"),
        "lame",
        "it refers to the servers of the root",
    ),
    "another name's records": (
        another_name("example.org", "10 mail.example.net."),
        "garbled",
        "it answered with other records than those asked for",
    ),
    "another name's alias": (
        alias("example.net", "10 mail.example.net.", of="example.org"),
        "garbled",
        "it answered with other records than those asked for",
    ),
    "nothing at all": (
        nothing_there(),
        "garbled",
        "its answer is empty and does not name the zone",
    ),
    "nothing, and the name of another zone": (
        nothing_there("NXDOMAIN", soa="example.org"),
        "garbled",
        "its answer is empty and does not name the zone",
    ),
    "nothing in the zone above": (
        nothing_there("NXDOMAIN", soa="com"),
        "lame",
        "it answers for com, and not for the zone of the name",
    ),
    "nothing in the root": (
        nothing_there("NXDOMAIN", soa=""),
        "lame",
        "it answers for the root, and not for the zone of the name",
    ),
    "truncated over UDP, silent over TCP": (
        truncated(silent),
        "garbled",
        "its answer was cut over UDP, and over TCP the connection ended within the answer",
    ),
    "truncated over UDP, half over TCP": (
        truncated(half(RIGHT)),
        "garbled",
        "its answer was cut over UDP, and over TCP the connection ended within the answer",
    ),
    "truncated over UDP, dripping over TCP": (
        truncated(dripping(0.1, RIGHT)),
        "silent",
        "its answer was cut over UDP, and over TCP the time was up",
    ),
    "truncated over UDP, hanging over TCP": (
        truncated(late(30, RIGHT)),
        "silent",
        "its answer was cut over UDP, and over TCP the time was up",
    ),
    "truncated over UDP, garbage over TCP": (
        truncated(garbage),
        "garbled",
        "its answer was cut over UDP, and over TCP what came cannot be read",
    ),
    "truncated over UDP, another id over TCP": (
        truncated(wrong_id(RIGHT)),
        "garbled",
        "its answer was cut over UDP, and over TCP what came cannot be read",
    ),
    "truncated over UDP, refused over TCP": (truncated(refused), "lame", "REFUSED"),
}


@pytest.mark.parametrize(("habit", "kind", "detail"), NO_ANSWER.values(), ids=NO_ANSWER)
def test_a_bad_server_is_never_taken_to_have_nothing(habit: Habit, kind: str, detail: str) -> None:
    """Whatever is no answer is told as what it is, and not as records that are missing."""
    found = asked(habit, timeout=QUICK)

    assert (found.kind, found.detail, found.values) == (kind, detail, ())


def test_no_tcp_where_it_is_needed() -> None:
    """A server that cuts its answer and does not listen on TCP gives no answer."""
    found = asked(truncated(RIGHT), tcp=False)

    assert (found.kind, found.detail) == (
        "silent",
        "its answer was cut over UDP, and over TCP nothing listens there",
    )


def test_nobody_there() -> None:
    """Where nothing listens, that is known without waiting."""
    found = ask(Server("", "127.0.0.1", free_port()), "example.com", "MX", timeout=30)

    assert (found.kind, found.detail) == ("silent", "nothing listens there")


def test_no_route() -> None:
    """An address that means nothing to this machine is told as such."""
    found = ask(Server("", "2001:db8::1%nowhere", 53), "example.com", "MX", timeout=QUICK)

    assert found.kind == "unfound"


@pytest.mark.parametrize(
    "habit",
    [nothing_there(soa="example.com"), nothing_there("NXDOMAIN", soa="example.com")],
    ids=["nothing of the type", "no such name"],
)
def test_nothing_there_is_an_answer(habit: Habit) -> None:
    """An authority that says so is believed: there are no records, for certain."""
    found = asked(habit)

    assert (found.kind, found.values, found.ttl, found.alias) == ("answered", (), None, None)


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
def test_nothing_there_counts_in_the_zone_of_the_name(zone: str, soa: str, kind: str) -> None:
    """A server of a zone above knows nothing of what is delegated to others."""
    name = "mail.sub.example.com"
    with misbehaving({("*", "*"): nothing_there("NXDOMAIN", soa=soa)}) as server:
        at = Server("", server.address, server.port)
        found = ask(at, name, "MX", timeout=2, zone=zone)

    assert (found.kind, found.values) == (kind, ())


@pytest.mark.parametrize("values", [(), ("10 mail.example.net.",)], ids=["alone", "followed"])
def test_an_alias_is_told(values: tuple[str, ...]) -> None:
    """A CNAME record is followed as far as the answer goes."""
    found = asked(alias("web.example.net", *values))

    assert (found.kind, found.alias) == ("answered", "web.example.net")
    assert found.values == (FOUND if values else ())


def test_an_alias_of_itself() -> None:
    """A CNAME record that leads back to itself ends the search, and is no answer."""
    found = asked(alias("example.com"))

    assert (found.kind, found.values) == ("garbled", ())


RESOLVERS = {
    "records": (answer("10 mail.example.net.", aa=False), "answered"),
    "nothing, with the zone": (nothing_there(soa="example.com", aa=False), "answered"),
    "a referral": (referral("com", "a.gtld.example"), "lame"),
    "nothing, and no recursion": (nothing_there(aa=False), "lame"),
    "an error": (failing("SERVFAIL"), "failed"),
}


@pytest.mark.parametrize(("habit", "kind"), RESOLVERS.values(), ids=RESOLVERS)
def test_resolvers_need_no_authority(habit: Habit, kind: str) -> None:
    """A resolver hands on what others said; one that refers to others is none."""
    assert asked(habit, recursive=True).kind == kind


def test_flags_of_a_question() -> None:
    """An authority is not asked to recurse, and may send as much as fits everywhere."""
    with misbehaving({("*", "*"): RIGHT}) as server:
        at = Server("", server.address, server.port)
        ask(at, "example.com", "MX", timeout=2)
        find(at, "example.com", "MX", timeout=2, recursive=True, checking_disabled=True)

    plain, recursive = (question.query for question in server.asked)
    assert (int(plain.flags), plain.payload) == (0, 1232)
    assert int(recursive.flags) == 0x0110


@pytest.mark.parametrize(
    "name", ["a..b", "a" * 64 + ".example", ".".join(["abcdefg"] * 40), "\udc80"]
)
def test_a_name_that_cannot_be(name: str) -> None:
    """A name that DNS cannot hold has no records, and nobody need be asked."""
    found = ask(Server("", "127.0.0.1", 9), name, "TXT", timeout=QUICK)

    assert (found.kind, found.values) == ("answered", ())


def damaged(rng: random.Random, *habits: Habit) -> Habit:
    """Do as one of them, with some bytes changed, and now and then the end missing."""

    def habit(asked: Asked) -> list[Piece]:
        wire = bytearray(rng.choice(habits)(asked)[0].data)
        for _time in range(rng.randint(1, 6)):
            wire[rng.randrange(2, len(wire))] = rng.randrange(256)
        return [Piece(bytes(wire[: rng.choice([None, rng.randrange(len(wire))])]))]

    return habit


def test_no_answer_raises() -> None:
    """Whatever bytes come, there is an answer of some kind, and none that makes up the other."""
    rng = random.Random(5)  # noqa: S311 - the same in each run
    habit = damaged(rng, truncated(RIGHT), RIGHT, alias("a.example", "10 mail.example.net."))
    with misbehaving({("*", "*"): habit}) as server:
        at = Server("", server.address, server.port)
        for _time in range(100):
            found = ask(at, "example.com", "MX", timeout=0.03)
            assert found.kind == "answered" or (found.detail and not found.values)


def test_a_real_server(tmp_path: Path) -> None:
    """BIND's answers are understood: records, none, an alias, a wildcard, another's name."""
    long = " ".join(f'"{str(part) * 200}"' for part in range(1, 10))
    text = f"""
        @ MX 20 B.Example.NET.
        @ MX 10 a.example.net.
        * TXT "anything" "\\255\\000"
        big TXT {long}
        www CNAME big
        out CNAME mail.example.net.
        null MX 0 .
        sub NS ns.example.net.
    """
    with bind.running(tmp_path, {"example.com": text}) as server:
        at = Server("", server.address, server.port)

        def of(name: str, kind: str) -> Answer:
            return ask(at, name, kind, timeout=5)

        assert set(of("EXAMPLE.com", "MX").values) == {
            Mx(10, "a.example.net"),
            Mx(20, "b.example.net"),
        }
        assert of("example.com", "TXT") == Answer(at, "answered")
        assert of("x.example.com", "TXT").values == (Txt((b"anything", b"\xff\0")),)
        assert of("null.example.com", "MX").values == (Mx(0, ""),)
        big = (Txt(tuple(str(part).encode() * 200 for part in range(1, 10))),)
        assert of("big.example.com", "TXT").values == big
        assert of("www.example.com", "TXT")[3:] == (big, 3600, "big.example.com")
        assert of("out.example.com", "TXT")[3:] == ((), None, "mail.example.net")
        assert (
            of("mail.sub.example.com", "MX").detail == "it refers to the servers of sub.example.com"
        )
        assert of("example.org", "MX").detail.startswith("REFUSED")
