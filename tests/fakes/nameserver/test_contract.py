# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The fake name server follows the DNS protocol, except where a habit says otherwise."""

from __future__ import annotations

import dns.edns
import dns.exception
import dns.flags
import dns.message
import dns.query
import dns.rcode
import pytest

from ansible_collections.postroom.email.tests.fakes.nameserver.habits import (
    Habit,
    answer,
    failing,
    garbage,
    half,
    nothing_there,
    silent,
    truncated,
    wrong_id,
    wrong_question,
)
from ansible_collections.postroom.email.tests.fakes.nameserver.server import misbehaving

MX = "10 mail.example.net."


def ask(habit: Habit, *, tcp: bool = False, seconds: float = 10.0) -> dns.message.Message:
    """Ask a server with one habit for the MX records of example.com."""
    query = dns.message.make_query("example.com", "MX", use_edns=0)
    send = dns.query.tcp if tcp else dns.query.udp
    with misbehaving({("*.com", "MX"): habit}) as server:
        return send(query, server.address, seconds, server.port)


@pytest.mark.parametrize("tcp", [False, True])
def test_answers_follow_the_protocol(tcp: bool) -> None:
    """An answer has the query's id and question, the flag AA and the records (RFC 1035)."""
    response = ask(answer(MX, ttl=60), tcp=tcp)
    assert response.flags & dns.flags.AA
    assert [str(rrset) for rrset in response.answer] == [f"example.com. 60 IN MX {MX}"]


def test_a_question_without_a_habit_is_refused() -> None:
    """The server is not authoritative for other names."""
    query = dns.message.make_query("example.net", "MX")
    with misbehaving({("example.com", "*"): answer(MX)}) as server:
        response = dns.query.udp(query, server.address, 10, server.port)
        assert [(one.name, one.kind) for one in server.asked] == [("example.net", "MX")]
    assert response.rcode() == dns.rcode.REFUSED


def test_negative_answers_and_errors_are_distinct() -> None:
    """NXDOMAIN carries the SOA record (RFC 2308), and an error its extended code (RFC 8914)."""
    negative = ask(nothing_there("NXDOMAIN", soa="example.com"))
    assert negative.rcode() == dns.rcode.NXDOMAIN
    assert [rrset.name.to_text() for rrset in negative.authority] == ["example.com."]
    failed = ask(failing("SERVFAIL", error=6, text="bogus"))
    (option,) = failed.options
    assert isinstance(option, dns.edns.EDEOption)
    assert (failed.rcode(), option.code) == (dns.rcode.SERVFAIL, 6)


def test_a_truncated_answer_is_complete_over_tcp() -> None:
    """TC over UDP means that the client must ask again over TCP (RFC 7766)."""
    cut = ask(truncated(answer(MX)))
    assert (bool(cut.flags & dns.flags.TC), cut.answer) == (True, [])
    assert len(ask(truncated(answer(MX)), tcp=True).answer) == 1


@pytest.mark.parametrize(
    ("habit", "tcp"),
    [
        (silent, False),
        (garbage, False),
        (wrong_id(answer(MX)), False),
        (wrong_question(answer(MX)), False),
        (half(answer(MX)), True),
    ],
)
def test_broken_answers_are_not_accepted(habit: Habit, tcp: bool) -> None:
    """An independent client, dnspython, takes none of these for an answer (RFC 5452)."""
    with pytest.raises((dns.exception.DNSException, EOFError)):
        ask(habit, tcp=tcp, seconds=0.3)
