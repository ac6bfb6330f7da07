# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The samples of what `email_dns_records` returns are what it would return."""

from __future__ import annotations

from typing import Any

from ansible_collections.postroom.email.plugins.module_utils._api.models import (
    DnsRecord,
    DnsRecordSet,
)
from ansible_collections.postroom.email.plugins.module_utils._api.names import parse_domain
from ansible_collections.postroom.email.plugins.module_utils._api.planning.publication import (
    plan_presence,
)
from ansible_collections.postroom.email.plugins.module_utils._api.records import (
    advising,
    criteria,
    judging,
    lookups,
    notation,
    observed,
    sets,
)
from ansible_collections.postroom.email.tests.docs import documentation

HOME = "example.com"
TTL = 3600
MX = DnsRecord("MX", "@", "mail.example.net", 10)
SPF = DnsRecord("TXT", "@", "v=spf1 include:example.net ~all")
SAMPLES: dict[str, Any] = documentation.texts("email_dns_records")["RETURN"]
RECORD = SAMPLES["records"]["contains"]


def only(record: DnsRecord) -> DnsRecordSet:
    """Return what a service wants that asks for one record."""
    return DnsRecordSet(parse_domain(HOME, "domain"), (record,))


def samples(fields: dict[str, Any], names: tuple[str, ...]) -> tuple[Any, ...]:
    """Return the samples of some fields."""
    return tuple(fields[name]["sample"] for name in names)


def test_notations() -> None:
    """A zone file's line, octoDNS' block, and the strings of a text."""
    assert SAMPLES["zone"]["sample"] == notation.zone_text(only(MX), TTL).rstrip()
    assert SAMPLES["octodns"]["sample"] == notation.octodns(only(MX), TTL)
    (shown,) = notation.neutral(only(SPF), TTL)
    names = ("strings", "quoted")
    assert samples(RECORD, names) == tuple(shown[name] for name in names)


def test_a_record_that_is_missing() -> None:
    """What is said of it, and of it at a server."""
    server = observed.Server("ns1.example.com", "192.0.2.53")
    seen = observed.Observation(HOME, "MX", (observed.Answer(server, "answered"),))
    verdict = judging.judge(criteria.Wanted(MX, HOME), seen)
    told = (verdict.status, verdict.detail, verdict.remedy)
    assert samples(RECORD, ("status", "detail", "remedy")) == told
    (at,) = verdict.servers
    fields = RECORD["servers"]["contains"]
    assert samples(fields, ("server", "status", "detail")) == (at.server, at.status, at.detail)


def test_advice() -> None:
    """The first thing that is advised to most."""
    told = advising.advise(only(SPF), lambda _name, _kind: lookups.Lookup("void"))
    assert SAMPLES["advice"]["sample"] == told


def test_a_change() -> None:
    """An SPF record of somebody else, as it is and as it becomes."""
    key = (HOME, "TXT")
    held = sets.RecordSet(*key, 600, (sets.txt("v=spf1 mx ~all"),))
    publication = plan_presence(sets.wanted_sets(only(SPF), TTL), {key: held}, {})
    shown = publication.changes[0].as_dict()
    fields = SAMPLES["changes"]["contains"]
    assert {name: field["sample"] for name, field in fields.items()} == shown
    after = publication.changes[0].after
    assert after is not None
    fields = SAMPLES["current"]["contains"]
    assert samples(fields, ("name", "type", "value")) == (HOME, "TXT", after.as_dict()["value"])
