# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The fakes of the DNS providers enforce the rules of the providers' APIs."""

from __future__ import annotations

from typing import Any

import httpx

from ansible_collections.postroom.email.tests.fakes.dns_providers import cloudflare
from ansible_collections.postroom.email.tests.fakes.dns_providers.playing import Player, played

ZONE = "example.com"
CLOUDFLARE = f"/client/v4/zones/{cloudflare.ZONE_ID}/dns_records"
SPF = '"v=spf1 -all"'


def ask(player: Player, method: str, path: str, body: Any = None) -> tuple[int, Any]:
    """Send a request; return the status and the body of the response."""
    headers = {"Authorization": player.api.authorization}
    answer = httpx.request(method, player.url + path, json=body, headers=headers, trust_env=False)
    return answer.status_code, answer.json()


def test_cloudflare_refuses_a_second_identical_record() -> None:
    """A record is unique by name, type and content, and its text stays as it was entered."""
    zone = cloudflare.Cloudflare(ZONE)
    record = {"name": ZONE, "type": "TXT", "content": "v=spf1 -all", "ttl": 1}
    with played(zone) as player:
        assert ask(player, "POST", CLOUDFLARE, record)[0] == 200
        status, body = ask(player, "POST", CLOUDFLARE, record)
        assert (status, body["errors"][0]["code"]) == (400, 81058)
        _status, body = ask(player, "GET", f"{CLOUDFLARE}?name={ZONE}&type=TXT")
        assert [one["content"] for one in body["result"]] == ["v=spf1 -all"]
        assert player.take_writes() == [f"POST {CLOUDFLARE}"] * 2
    assert zone.lookup(ZONE, "TXT") == (SPF,)


def test_cloudflare_refuses_records_above_the_quota() -> None:
    """A full zone answers 400, and a record that exists can still be changed and deleted."""
    zone = cloudflare.Cloudflare(ZONE)
    zone.put(f"full.{ZONE}", "TXT", "a")
    more = {"name": f"full.{ZONE}", "type": "TXT", "content": "b"}
    with played(zone) as player:
        assert ask(player, "POST", CLOUDFLARE, more)[0] == 400
        number = ask(player, "GET", CLOUDFLARE)[1]["result"][0]["id"]
        assert ask(player, "PUT", f"{CLOUDFLARE}/{number}", more)[0] == 200
        assert ask(player, "DELETE", f"{CLOUDFLARE}/{number}")[0] == 200
    assert zone.lookup(f"full.{ZONE}", "TXT") == ()
