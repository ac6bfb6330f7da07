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
    garbage,
    half,
    silent,
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
