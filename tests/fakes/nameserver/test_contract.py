# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The fake name server follows the DNS protocol, except where a behavior deviates from it."""

from __future__ import annotations

import dns.flags
import dns.message
import dns.query
import pytest

from ansible_collections.postroom.email.tests.fakes.nameserver.behaviors import answer
from ansible_collections.postroom.email.tests.fakes.nameserver.server import fake_nameserver

MX = "10 mail.example.net."


@pytest.mark.parametrize("tcp", [False, True])
def test_answers_follow_the_protocol(tcp: bool) -> None:
    """An answer contains the query's ID and question, the AA flag and the records (RFC 1035)."""
    query = dns.message.make_query("example.com", "MX", use_edns=0)
    send = dns.query.tcp if tcp else dns.query.udp
    with fake_nameserver({("*.com", "MX"): answer(MX, ttl=60)}) as server:
        response = send(query, server.address, 10.0, server.port)
    assert response.flags & dns.flags.AA
    assert [str(rrset) for rrset in response.answer] == [f"example.com. 60 IN MX {MX}"]
