# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The fake DNS providers enforce the rules of the providers' APIs."""

from __future__ import annotations

import httpx

from ansible_collections.postroom.email.tests.fakes.dns_providers import cloudflare
from ansible_collections.postroom.email.tests.fakes.dns_providers.server import running_api

RECORDS = f"/client/v4/zones/{cloudflare.ZONE_ID}/dns_records"


def test_cloudflare_refuses_a_second_identical_record() -> None:
    """Cloudflare refuses a second record with the same name, type and content."""
    zone = cloudflare.Cloudflare("example.com")
    record = {"name": zone.zone, "type": "TXT", "content": "v=spf1 -all", "ttl": 1}
    headers = {"Authorization": zone.authorization}
    with (
        running_api(zone) as server,
        httpx.Client(base_url=server.url, headers=headers, trust_env=False) as http,
    ):
        assert http.post(RECORDS, json=record).is_success
        refused = http.post(RECORDS, json=record)
        assert (refused.status_code, refused.json()["errors"][0]["code"]) == (400, 81058)
        shown = http.get(RECORDS, params={"name": zone.zone, "type": "TXT"}).json()["result"]
        assert [one["content"] for one in shown] == ["v=spf1 -all"]
        assert server.take_writes() == [f"POST {RECORDS}"] * 2
    assert zone.lookup(zone.zone, "TXT") == ('"v=spf1 -all"',)
