# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Answers that list something."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.postroom.email.plugins.module_utils._api.models import DnsRecord
from ansible_collections.postroom.email.tests.bot.words import drawn
from ansible_collections.postroom.email.tests.bot.words.samples import request
from postroom_bot.model import Request, State
from postroom_bot.words import catalog, lists
from postroom_bot.words.message import TEXT_LIMIT

ALICE, BOB = "alice@example.com", "bob@example.com"
records = st.builds(
    DnsRecord, drawn.texts, drawn.texts, drawn.texts, st.none() | st.integers(0, 65535)
)


def test_commands() -> None:
    """Help shows every entry of the catalogue."""
    text = lists.commands().text
    for entry in catalog.ENTRIES:
        assert f"`/email {entry.usage}` {entry.says}" in text


def test_aliases() -> None:
    """Addresses are counted and listed in order."""
    assert lists.alias_list(ALICE, ["b@example.com", "a@example.com"]).text == (
        "`alice@example.com` has 2 more addresses:\n`a@example.com`\n`b@example.com`"
    )
    assert lists.alias_list(ALICE, []).text == "`alice@example.com` has no other addresses."


def test_too_many() -> None:
    """Where not all fits, it says how many are missing."""
    text = lists.alias_list(ALICE, [f"a{n:04}@example.com" for n in range(1000)]).text
    shown = text.count("@example.com") - 1
    assert text.endswith(f"\nAnd {1000 - shown} more.")
    assert TEXT_LIMIT - 100 < len(text) <= TEXT_LIMIT


def test_forwards() -> None:
    """Each forwarding address is listed with where its mail goes on to."""
    assert lists.forward_list([("t@x.example", [BOB, ALICE]), ("s@x.example", [])]).text == (
        "`s@x.example` goes on to nobody.\n"
        "`t@x.example` goes on to `alice@example.com` and `bob@example.com`."
    )
    assert lists.forward_list([]).text == "No address is forwarded."


def test_requests() -> None:
    """Each of one's requests is listed with how it stands."""
    assert lists.request_list([request(expires_at=None), request(State.NEW)]).text == (
        "Request *R-7K2M*: add `sales@example.com` to `alice@example.com`. "
        "It needs 2 approvals from mail-admins.\n"
        "Request *R-7K2M*: add `sales@example.com` to `alice@example.com`. "
        "It is being looked into."
    )
    assert lists.request_list([]).text == "You have no requests."


def test_dns() -> None:
    """Each record is told with its value, and the value can be copied as it is."""
    spf = "v=spf1 include:_spf.example.net <all>"
    shown = lists.dns_records(
        "example.com", [DnsRecord("MX", "@", "mx.example.net", 10), DnsRecord("TXT", "@", spf)]
    )
    assert shown.text == (
        "`example.com` needs 2 DNS records.\n"
        "MX record for `@`, priority 10: `mx.example.net`\n"
        "TXT record for `@`: `v=spf1 include:_spf.example.net &lt;all&gt;`"
    )
    copied = [block["elements"][0]["elements"][0]["text"] for block in shown.blocks[2::2]]
    assert copied == ["mx.example.net", spf]


def test_no_records() -> None:
    """A domain may need nothing."""
    assert lists.dns_records("example.com", []).text == "`example.com` needs no DNS records."


@drawn.steady
@given(
    drawn.addresses,
    st.lists(drawn.addresses, max_size=5),
    st.lists(st.tuples(drawn.addresses, st.lists(drawn.addresses, max_size=4)), max_size=3),
    st.lists(drawn.requests, max_size=2),
    st.lists(records, max_size=3),
)
def test_all_lists_are_right(
    mailbox: str,
    aliases: list[str],
    forwards: list[tuple[str, list[str]]],
    requests: list[Request],
    found: list[DnsRecord],
) -> None:
    """Slack takes every list, and nobody speaks through it."""
    drawn.check(lists.commands())
    drawn.check(lists.alias_list(mailbox, aliases))
    drawn.check(lists.forward_list(forwards))
    drawn.check(lists.request_list(requests))
    drawn.check(lists.dns_records(mailbox, found))


def test_the_largest_are_right() -> None:
    """As much as can ever be shown is not too much for Slack."""
    longest = "&" * 254
    drawn.check(lists.alias_list(longest, [longest] * 1000))
    drawn.check(lists.forward_list([(longest, [longest] * 100)] * 100))
    drawn.check(lists.dns_records(longest, [DnsRecord("TXT", longest, "&" * 5000)] * 100))
