# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Advice on DMARC and on the names of a mail server's addresses."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from ansible_collections.postroom.email.plugins.module_utils._api.models import (
    DnsRecord,
    DnsRecordSet,
)
from ansible_collections.postroom.email.plugins.module_utils._api.names import parse_domain
from ansible_collections.postroom.email.plugins.module_utils._api.records.advising import advise
from ansible_collections.postroom.email.plugins.module_utils._api.records.lookups import Lookup

POLICY = {("_dmarc.example.com", "TXT"): ("v=DMARC1; p=reject",)}
ADDRESSES = {
    ("mail.example.net", "A"): ("192.0.2.7",),
    ("mail.example.net", "AAAA"): ("2001:db8::7",),
}
V4 = "7.2.0.192.in-addr.arpa"
V6 = "7.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa"
NAMES = {(V4, "PTR"): ("mail.example.net",), (V6, "PTR"): ("mail.example.net",)}


def records(domain: str = "example.com") -> DnsRecordSet:
    """Return what a service asks for: two records of the same host, and a text."""
    rows = (
        DnsRecord("MX", "@", "mail.example.net", 10),
        DnsRecord("MX", "@", "Mail.example.net.", 20),
        DnsRecord("TXT", "@", "v=spf1 include:example.net ~all"),
    )
    return DnsRecordSet(parse_domain(domain), rows)


def asking(
    found: Mapping[tuple[str, str], tuple[str, ...]], failing: str = ""
) -> Callable[[str, str], Lookup]:
    """Return a resolver that knows these, and fails for one name."""

    def ask(name: str, kind: str) -> Lookup:
        if name == failing:
            return Lookup("failed")
        values = found.get((name, kind), ())
        return Lookup("found" if values else "void", values)

    return ask


@pytest.mark.parametrize("domain", ["example.com", "shop.example.com", "a.b.example.com"])
def test_where_all_is_well_there_is_no_advice(domain: str) -> None:
    """A DMARC record is for the domains below it, too."""
    assert advise(records(domain), asking(POLICY | ADDRESSES | NAMES)) == []


@pytest.mark.parametrize("texts", [(), ("v=spf1 -all",)])
def test_no_dmarc_record_is_told(texts: tuple[str, ...]) -> None:
    """With the name to publish it at, and a beginning that harms nobody."""
    found = {("_dmarc.example.com", "TXT"): texts} | ADDRESSES | NAMES
    assert advise(records(), asking(found)) == [
        (
            "There is no DMARC record at _dmarc.example.com, so receivers do not know what to do "
            "with mail that is not yours. Begin with TXT v=DMARC1; p=none"
        )
    ]


def test_an_address_without_a_name_is_told() -> None:
    """Each by itself, and each once."""
    found = POLICY | ADDRESSES | {(V4, "PTR"): ("mail.example.net",)}
    assert advise(records(), asking(found)) == [
        (
            "2001:db8::7, an address of the mail server mail.example.net, has no PTR record, so "
            "some receivers refuse its mail. Ask those who run it for one."
        )
    ]


REVERSE = "the PTR records of mail servers"


@pytest.mark.parametrize(
    ("failing", "topic"),
    [("_dmarc.example.com", "DMARC"), ("mail.example.net", REVERSE), (V4, REVERSE)],
)
def test_what_nobody_tells_is_no_advice(failing: str, topic: str) -> None:
    """One line says that it is not known; silence is never taken for a missing record."""
    assert advise(records(), asking(POLICY | ADDRESSES | NAMES, failing)) == [
        (
            f"No resolver told of {failing}, so there is no advice on {topic}. Give others in the "
            "option resolvers."
        )
    ]
