# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The filter `records_for` with modules that the role `dns` does not run."""

from __future__ import annotations

import importlib
import json
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import dns.rdata
import pytest
from octodns.provider.yaml import YamlProvider
from octodns.zone import Zone

from ansible_collections.postroom.email.plugins.filter.record_sets import record_sets
from ansible_collections.postroom.email.plugins.filter.records_for import records_for
from ansible_collections.postroom.email.plugins.module_utils._api.dns import formats as notation
from ansible_collections.postroom.email.plugins.module_utils._api.models import (
    DnsRecord,
    DnsRecordSet,
)
from ansible_collections.postroom.email.plugins.module_utils._api.names import parse_domain
from ansible_collections.postroom.email.tests.support import bind
from ansible_collections.postroom.email.tests.support.modules import run_module
from ansible_collections.postroom.email.tests.support.recordsets import (
    DOMAIN,
    SELECTOR,
    key,
    neutral,
)

Options = dict[str, Any]

SETS = [(DOMAIN, "MX"), (DOMAIN, "TXT"), (SELECTOR, "TXT")]
THEIR_MX = "20 backup.example.org."
THEIR_SPF = '"v=spf1 mx " "-all"'
MERGED_SPF = '"v=spf1 mx include:spf.example.net -all"'
SPF_BEFORE = '"v=spf1 mx -all"'


def module(name: str) -> Any:
    """Import a module of another collection."""
    namespace, collection, last = name.split(".")
    return importlib.import_module(
        f"ansible_collections.{namespace}.{collection}.plugins.modules.{last}"
    )


def joined(text: str) -> str:
    """Read a TXT value as name servers do, and join its strings."""
    rdata: Any = dns.rdata.from_text("IN", "TXT", text)
    return b"".join(rdata.strings).decode()


def publish(
    shape: str,
    current: Callable[[], list[Options]],
    write: Callable[[], None],
    access: Options,
    state: str = "present",
) -> list[bool]:
    """Write each record set twice, of which the second must change nothing; return the first."""
    changed = []
    # No resolver answers there.
    rows = record_sets(neutral(4096), current(), state, resolvers=["127.0.0.1:1"])
    for call in records_for(rows, shape, DOMAIN):
        changed.append(run_module(write, call | access)["changed"])
        assert not run_module(write, call | access)["changed"]
    return changed


def test_nsupdate_publishes_to_bind(tmp_path: Path) -> None:
    """It publishes, changes nothing again, and withdraws without touching other records."""
    tsig = bind.new_key("mail")
    write = module("community.general.nsupdate").main
    zone = f"@ MX {THEIR_MX}\n@ TXT {THEIR_SPF}\n@ TXT caf\\195\\169"
    with bind.running(tmp_path, {DOMAIN: zone}, keys=[tsig]) as server:
        access = {"server": server.address, "port": server.port, "key_name": tsig.name}
        access |= {"key_secret": tsig.secret, "key_algorithm": tsig.algorithm}

        def held() -> list[Options]:
            return [
                {"name": name, "type": kind, "ttl": 3600, "values": list(server.lookup(name, kind))}
                for name, kind in SETS
            ]

        before = held()
        assert publish("nsupdate", held, write, access) == [True, True, True]
        assert joined(server.lookup(SELECTOR, "TXT")[0]) == key(4096)
        assert server.lookup(DOMAIN, "MX") == ("10 mail.example.net.", THEIR_MX)
        assert server.lookup(DOMAIN, "TXT") == ('"caf\\195\\169"', MERGED_SPF)
        assert publish("nsupdate", held, write, access) == []
        assert publish("nsupdate", held, write, access, "absent") == [True, True, True]
        before[1]["values"] = ['"caf\\195\\169"', SPF_BEFORE]
        assert held() == before


class Hetzner:
    """The records of one zone behind Hetzner's DNS API, in place of the module's HTTP helper."""

    def __init__(self, *records: tuple[str, str]) -> None:
        self.records: dict[str, Options] = {}
        for kind, value in records:
            self._keep({"name": "@", "type": kind, "value": value, "ttl": 3600})

    def fetch_url(
        self, url: str, method: str = "GET", data: bytes | None = None, **_more: Any
    ) -> tuple[bytes, Options]:
        """Answer a request."""
        path, body = urlsplit(url).path.split("/")[3:], json.loads(data or b"{}")
        answer: Options = {"records": list(self.records.values())}
        if path == ["zones"]:
            answer = {"zones": [{"id": "z", "name": DOMAIN}]}
        elif path[-1] == "bulk":
            answer = {"records": [self._keep(record) for record in body["records"]]}
        elif method == "DELETE":
            answer = self.records.pop(path[1])
        elif method != "GET":
            answer = {"record": self._keep(body, *path[1:])}
        info = {"status": 200, "url": url, "content-type": "application/json"}
        return json.dumps(answer).encode(), info

    def _keep(self, record: Options, number: str = "") -> Options:
        number = number or uuid.uuid4().hex
        self.records[number] = record | {"id": number, "zone_id": "z"}
        return self.records[number]

    def values(self, name: str, kind: str) -> list[str]:
        """Return the values at a name."""
        found = self.records.values()
        return sorted(r["value"] for r in found if (r["name"], r["type"]) == (name, kind))


@pytest.mark.filterwarnings("ignore:YamlProvider. escaped_semicolons:DeprecationWarning")
def test_octodns_loads_the_records(tmp_path: Path) -> None:
    """Its provider for YAML takes the output with its default settings."""
    records = (
        DnsRecord("MX", "@", "mail.example.net", 10),
        DnsRecord("TXT", "@", joined(MERGED_SPF)),
        DnsRecord("TXT", "s10._domainkey", key(4096)),
        DnsRecord("TXT", "s2._domainkey", key(2048)),
    )
    text = notation.octodns(DnsRecordSet(parse_domain(DOMAIN), records), 300)
    (tmp_path / f"{DOMAIN}.yaml").write_text(text, "utf-8")
    zone = Zone(f"{DOMAIN}.", [])
    YamlProvider("config", str(tmp_path)).populate(zone)
    names = sorted((record.name, record._type) for record in zone.records)
    assert names == [("", "MX"), ("", "TXT"), ("s10._domainkey", "TXT"), ("s2._domainkey", "TXT")]


def test_community_dns_publishes(monkeypatch: pytest.MonkeyPatch) -> None:
    """It publishes, changes nothing again, and withdraws; other records stay."""
    theirs = [("MX", THEIR_MX), ("MX", "30 mail2"), ("TXT", '"caf\u00e9 \\"au lait\\""')]
    account = Hetzner(*theirs, ("TXT", SPF_BEFORE))
    write = module("community.dns.hetzner_dns_record_set")
    read = module("community.dns.hetzner_dns_record_set_info")
    for one in (write, read):
        monkeypatch.setattr(one, "ModuleHTTPHelper", lambda _module: account)
    access = {"hetzner_token": "hz-9Lw2xKr5"}

    def held() -> list[Options]:
        which = [{"zone": DOMAIN, "record": name, "type": kind} for name, kind in SETS]
        return [run_module(read.main, one | access)["set"] for one in which]

    before = account.values("@", "MX"), account.values("@", "TXT")
    assert publish("community_dns", held, write.main, access) == [True, True, True]
    (text,) = account.values("service._domainkey", "TXT")
    assert joined(text) == key(4096)
    assert account.values("@", "MX") == ["10 mail.example.net.", THEIR_MX, "30 mail2"]
    assert MERGED_SPF in account.values("@", "TXT")
    assert publish("community_dns", held, write.main, access) == []
    assert publish("community_dns", held, write.main, access, "absent") == [True, True, True]
    assert (account.values("@", "MX"), account.values("@", "TXT")) == before
