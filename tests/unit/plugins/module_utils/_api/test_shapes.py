# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Record sets as what DNS providers take."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.postroom.email.plugins.module_utils._api.errors import InvalidInput
from ansible_collections.postroom.email.plugins.module_utils._api.records.shapes import (
    PROVIDERS,
    Options,
    records_for,
)
from ansible_collections.postroom.email.tests.support.recordsets import DOMAIN, SPF

OUTSIDE = "example.com MX: the name does not lie in the zone {}. Give the zone that holds it."
MERGED = "v=spf1 mx include:spf.example.net ~all"
SERVERS: dict[str, Any] = {
    "name": DOMAIN, "type": "MX", "ttl": 60, "action": "update",
    "value": ["20 MX.other.example", "10 mail.example.net."],
    "before": {"ttl": 60, "value": ["20 MX.other.example"]},
}  # fmt: skip
NOTES: dict[str, Any] = {
    "name": DOMAIN, "type": "TXT", "ttl": 60, "action": "update",
    "value": [r'"\195\188"', f'"{MERGED}"'],
    "before": {"ttl": 60, "value": [r'"\195\188"', '"v=spf1 mx ~all"']},
}  # fmt: skip
GONE: dict[str, Any] = {
    "name": "s._domainkey.example.com", "type": "TXT", "ttl": 60, "action": "delete",
    "value": [], "before": {"ttl": 60, "value": ['"v=DKIM1; p="']},
}  # fmt: skip
SAME = NOTES | {"action": "none"}
SETS = [SERVERS, NOTES, GONE, SAME]


def test_nsupdate_takes_absolute_names() -> None:
    """Of the record and in its values, for everything else is relative to the zone."""
    assert records_for(SETS, "nsupdate", "example.com.") == [
        {
            "zone": "example.com", "record": "example.com.", "type": "MX", "state": "present",
            "ttl": 60, "value": ["20 MX.other.example.", "10 mail.example.net."],
        },
        {
            "zone": "example.com", "record": "example.com.", "type": "TXT", "state": "present",
            "ttl": 60, "value": NOTES["value"],
        },
        {
            "zone": "example.com", "record": "s._domainkey.example.com.", "type": "TXT",
            "state": "absent",
        },
    ]  # fmt: skip


def test_route53_overwrites() -> None:
    """In its own escapes. The zone may be said in the task instead, by its id."""
    servers, notes, gone = records_for(SETS, "route53")
    assert servers == {
        "record": DOMAIN, "type": "MX", "state": "present", "ttl": 60, "overwrite": True,
        "value": ["20 MX.other.example.", "10 mail.example.net."],
    }  # fmt: skip
    assert notes["value"] == [r'"\303\274"', f'"{MERGED}"']
    assert gone == {"record": GONE["name"], "type": "TXT", "state": "absent"}


def test_hetzner_takes_relative_names_and_keeps_comments() -> None:
    """The domain itself is `@`, and a record without its comment would lose it."""
    servers, notes, gone = records_for(
        [SERVERS | {"comments": ["until May", None]}, NOTES, GONE], "hetzner", DOMAIN
    )
    assert servers == {
        "zone": DOMAIN, "name": "@", "type": "MX", "state": "present", "ttl": 60,
        "records": [
            {"value": "20 MX.other.example", "comment": "until May"},
            {"value": "10 mail.example.net.", "comment": None},
        ],
    }  # fmt: skip
    assert [record["value"] for record in notes["records"]] == NOTES["value"]
    assert gone == {"zone": DOMAIN, "name": "s._domainkey", "type": "TXT", "state": "absent"}


@pytest.mark.parametrize("zone", ["EXAMPLE.com.", "example.com"])
def test_a_zone_is_known_in_any_spelling(zone: str) -> None:
    """In capitals, with a dot at the end, or in letters that DNS does not have."""
    assert {call["zone"] for call in records_for(SETS, "hetzner", zone)} == {DOMAIN}
    row = NOTES | {"name": "www.xn--bcher-kva.example"}
    (call,) = records_for([row], "nsupdate", "B\u00fccher.example")
    assert call["zone"] == "xn--bcher-kva.example"


def test_community_dns_reads_quotes() -> None:
    """Host names stay as they are there, for without a dot they are relative to the zone."""
    quotes = {"txt_transformation": "quoted", "txt_character_encoding": "decimal"}
    servers, notes, gone = records_for(SETS, "community_dns", DOMAIN)
    assert servers == quotes | {
        "zone": DOMAIN, "record": DOMAIN, "type": "MX", "state": "present", "ttl": 60,
        "value": SERVERS["value"],
    }  # fmt: skip
    assert notes["value"] == NOTES["value"]
    assert gone == quotes | {
        "zone": DOMAIN, "record": GONE["name"], "type": "TXT", "state": "absent",
    }  # fmt: skip


def test_powerdns_takes_rrsets() -> None:
    """Of its HTTP API, where the zone is in the address."""
    assert records_for([SERVERS, GONE], "powerdns", DOMAIN) == [
        {
            "name": "example.com.", "type": "MX", "ttl": 60, "changetype": "REPLACE",
            "records": [
                {"content": "20 MX.other.example.", "disabled": False},
                {"content": "10 mail.example.net.", "disabled": False},
            ],
        },
        {"name": "s._domainkey.example.com.", "type": "TXT", "changetype": "DELETE"},
    ]  # fmt: skip


def cloudflare(values: list[str], before: list[str] | None, **more: Any) -> list[Options]:
    """Return the calls for one record set, without what all of them have."""
    kind = "TXT" if '"' in "".join([*values, *(before or [])]) else "MX"
    earlier = None if before is None else {"ttl": 60, "value": before}
    row = {"name": DOMAIN, "type": kind, "ttl": 60, "value": values, "before": earlier}
    row |= {"action": "update", **more}
    calls = records_for([row], "cloudflare", DOMAIN)
    common = {"zone": DOMAIN, "record": DOMAIN, "type": kind}
    assert all(call.items() >= common.items() for call in calls)
    return [{key: call[key] for key in call if key not in common} for call in calls]


def there(value: str, priority: int | None = None, ttl: int = 60) -> Options:
    """Return a call that makes a record."""
    extra = {} if priority is None else {"priority": priority}
    return {"value": value, "ttl": ttl, "state": "present"} | extra


def away(value: str) -> Options:
    """Return a call that removes one."""
    return {"value": value, "state": "absent"}


@pytest.mark.parametrize(
    ("values", "before", "calls"),
    [
        (["10 a.b."], None, [there("a.b", 10)]),
        (["20 c.d.", "10 a.b."], ["20 c.d."], [there("a.b", 10)]),
        (["10 a.b."], ["20 a.b."], [there("a.b", 10)]),
        (["10 a.b."], ["20 c.d."], [there("a.b", 10), away("c.d")]),
        (["10 a.b."], ["5 a.b.", "20 a.b."], [away("a.b"), there("a.b", 10)]),
        ([], ["10 a.b.", "20 a.b.", "20 c.d."], [away("a.b"), away("c.d")]),
        (["20 c.d.", "30 c.d."], ["20 c.d.", "30 c.d.", "10 a.b."], [away("a.b")]),
        (["0 .", "10 a.b."], ["0 ."], [there("a.b", 10)]),
    ],
)
def test_cloudflare_keeps_single_mail_servers(
    values: list[str], before: list[str] | None, calls: list[Options]
) -> None:
    """New ones come before old ones go; a host is one record; those of others are not touched."""
    assert cloudflare(values, before) == calls


@pytest.mark.parametrize(
    ("values", "before", "calls"),
    [
        ([f'"{SPF}"'], None, [there(f'"{SPF}"')]),
        (['"note"', f'"{MERGED}"'], ['"note"', '"v=spf1 mx ~all"'],
         [there(f'"{MERGED}"'), away('"v=spf1 mx ~all"'), away("v=spf1 mx ~all")]),
        (['"note"'], ['"note"', '"a" "b"'], [away('"a" "b"'), away("ab")]),
        ([], ['""', '" "'], [away('""'), away('" "')]),
    ],
)  # fmt: skip
def test_cloudflare_keeps_single_texts(
    values: list[str], before: list[str] | None, calls: list[Options]
) -> None:
    """Old ones go last, in both spellings; nothing is removed without saying what."""
    assert cloudflare(values, before) == calls


def test_cloudflare_changes_times_to_live() -> None:
    """Of all records of the set: a mail server in place, a text by writing it anew."""
    assert cloudflare(["10 a.b."], ["10 a.b."], ttl=5) == [there("a.b", 10, ttl=5)]
    assert cloudflare(['"x"'], ['"x"'], ttl=5) == [away('"x"'), away("x"), there('"x"', ttl=5)]


def test_cloudflare_cannot_remove_a_null_mx() -> None:
    """Its module would remove every mail server in its place."""
    with pytest.raises(InvalidInput, match="cannot remove a null MX"):
        cloudflare(["10 a.b."], ["0 ."])


@pytest.mark.parametrize("provider", sorted(PROVIDERS))
def test_sets_of_anybody_are_taken(provider: str) -> None:
    """Written by hand, without before, bare and without dots."""
    rows = [
        {
            "name": "Example.com.",
            "type": "mx",
            "action": "create",
            "value": ["10 mail.example.net."],
        },
        {"name": "Example.com.", "type": "txt", "action": "create", "value": ["bare text"]},
    ]
    first, second = records_for(rows, provider, DOMAIN)
    assert "mail.example.net" in str(first)
    assert "'\"bare text\"'" in str(second)
    assert first["ttl"] == 3600


@pytest.mark.parametrize(
    ("data", "provider", "zone", "sentence"),
    [
        (SETS, "other", None,
         ("provider: 'other' is not known. Give one of cloudflare, community_dns, hetzner, "
          "nsupdate, powerdns, route53.")),
        (SETS, None, None,
         ("provider: None is not known. Give one of cloudflare, community_dns, hetzner, "
          "nsupdate, powerdns, route53.")),
        (SETS, "cloudflare", None,
         "zone: it is missing. Give the name of the zone at the provider."),
        (SETS, "hetzner", None,
         "zone: it is missing. Give the name of the zone at the provider."),
        (SETS, "route53", "other.example", OUTSIDE.format("other.example")),
        (SETS, "route53", "ample.com", OUTSIDE.format("ample.com")),
        (SETS, "route53", 7, "zone: 7 is no zone. Give its name, such as example.com."),
        (SETS, "route53", ".",
         ("zone: '.' is not a domain name. Write it in full, such as example.com, in letters, "
          "digits and inner hyphens, without scheme or path.")),
        (None, "route53", None, "input: this is no list. Give a list."),
        ([7], "route53", None,
         "input, item 1: this is no mapping. Give name, type and values."),
        ([SAME, {"name": DOMAIN, "type": "A", "value": [], "action": "create"}], "route53", None,
         "input, item 2: this is neither MX nor TXT. Leave it out."),
        ([SAME, {"name": DOMAIN, "type": "MX", "value": []}], "route53", None,
         ("input, item 2: it has no action, so it does not come from record_sets. Pass the "
          "records through record_sets first.")),
        ([SAME, {"action": "create"}], "route53", None,
         "input, item 2: name is missing. Give the name in full."),
        ([SERVERS | {"before": 7}], "route53", None,
         "example.com MX: before is no mapping. Give ttl and values, or leave it out."),
        ([SERVERS | {"comments": ["x"]}], "route53", None,
         "example.com MX: comments does not fit. Give one a value, or leave it out."),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(data: Any, provider: Any, zone: Any, sentence: str) -> None:
    """In one sentence that says what to give."""
    with pytest.raises(InvalidInput) as caught:
        records_for(data, provider, zone)
    assert str(caught.value) == sentence
