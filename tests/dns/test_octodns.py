# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""octoDNS loads the records that the module returns."""

from __future__ import annotations

from pathlib import Path

import pytest
from octodns.provider.yaml import YamlProvider
from octodns.zone import Zone

from ansible_collections.postroom.email.plugins.module_utils._api.dns.notations import octodns
from ansible_collections.postroom.email.plugins.module_utils._api.models import (
    DnsRecord,
    RequiredRecords,
)
from ansible_collections.postroom.email.plugins.module_utils._api.names import parse_domain
from ansible_collections.postroom.email.tests.support.recordsets import DOMAIN, SPF, key


@pytest.mark.filterwarnings("ignore:YamlProvider. escaped_semicolons:DeprecationWarning")
def test_octodns_loads_the_records(tmp_path: Path) -> None:
    """The YAML provider of octoDNS loads the module's output with default settings."""
    records = (
        DnsRecord("MX", "@", "mail.example.net", 10),
        DnsRecord("TXT", "@", SPF),
        DnsRecord("TXT", "s10._domainkey", key(4096)),
        DnsRecord("TXT", "s2._domainkey", key(2048)),
    )
    text = octodns(RequiredRecords(parse_domain(DOMAIN), records), 300)
    (tmp_path / f"{DOMAIN}.yaml").write_text(text, "utf-8")
    zone = Zone(f"{DOMAIN}.", [])
    YamlProvider("config", str(tmp_path)).populate(zone)
    names = sorted((record.name, record._type) for record in zone.records)
    assert names == [("", "MX"), ("", "TXT"), ("s10._domainkey", "TXT"), ("s2._domainkey", "TXT")]
