# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What the role says: what to paste, what is missing, and what went wrong, each in one sentence."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.postroom.email.tests.dns.role.rig import (
    Rig,
    Run,
    dkim_text,
    register,
)
from ansible_collections.postroom.email.tests.support import powerdns
from ansible_collections.postroom.email.tests.support.service import RunningService

DOMAIN = "said.example"
SPF = "v=spf1 include:spf.postroom.test ~all"
MERGED = "v=spf1 mx include:spf.postroom.test -all"
KEY = "pdns-Ay72kQx0Vb9sTe4m"


@pytest.fixture(scope="module")
def rig(service: RunningService, tmp_path_factory: pytest.TempPathFactory) -> Rig:
    """Set the role up for a domain, and for no provider."""
    register(service, DOMAIN)
    return Rig(tmp_path_factory.mktemp("said"), service, {"dns_domains": [DOMAIN]})


@pytest.fixture
def server(tmp_path: Path) -> Iterator[powerdns.PowerDnsServer]:
    """Run a name server that holds other records of the domain."""
    text = '@ MX 20 backup.example.net.\n@ TXT "v=spf1 mx -all"\n@ TXT "other"'
    with powerdns.running(tmp_path, {DOMAIN: text}) as server:
        yield server


def test_prints_what_to_paste(rig: Rig, server: powerdns.PowerDnsServer) -> None:
    """With no provider, the merged records are printed as a table and as lines of a zone file."""
    key = dkim_text(rig.service, DOMAIN)
    at = {"dns_nameservers": [str(server)], "dns_resolvers": [str(server)]}
    blind = {"dns_verify": False}
    plays: dict[str, dict[str, Any]] = {
        "looked": at,
        "blind": blind,
        "back": {**blind, "dns_state": "absent"},
    }
    run = rig.run({name: {"dns_provider": "none", **play} for name, play in plays.items()})
    assert run["looked"].recap.changed == 0
    assert paste(run, "looked") == [
        f"{DOMAIN}: do this at the DNS provider that holds the zone.",
        "",
        "Do      Type  Name                                TTL  Value",
        f"add     MX    {DOMAIN}                       3600  10 mail.postroom.test.",
        f"remove  TXT   {DOMAIN}                       3600  v=spf1 mx -all",
        f"add     TXT   {DOMAIN}                       3600  {MERGED}",
        f"add     TXT   service._domainkey.{DOMAIN}    3600  {key}",
        "",
        "Or, where the provider takes lines of a zone file, put these in place of all records",
        "of the same name and type:",
        "",
        f"{DOMAIN}.                    3600 IN MX  20 backup.example.net.",
        f"{DOMAIN}.                    3600 IN MX  10 mail.postroom.test.",
        f'{DOMAIN}.                    3600 IN TXT "other"',
        f'{DOMAIN}.                    3600 IN TXT "{MERGED}"',
        f'service._domainkey.{DOMAIN}. 3600 IN TXT "{key[:255]}" "{key[255:]}"',
    ]
    assert run["looked"].result[DOMAIN]["stage"] == "created"
    told = paste(run, "blind")
    assert f"add     TXT   {DOMAIN}                       3600  {SPF}" in told
    assert told[-2:] == [
        "Where the domain has an SPF record, put the service's part into it: a second one makes",
        "both invalid.",
    ]
    told = paste(run, "back")
    assert f"remove  TXT   {DOMAIN}                       3600  {SPF}" in told
    assert f"remove  TXT   service._domainkey.{DOMAIN}    3600  {key}" in told
    assert not any("zone file" in line for line in told)


def paste(run: Run, play: str) -> list[str]:
    """Return the lines that were printed, which the role returns as well."""
    lines: list[str] = run[play].result[DOMAIN]["paste"].splitlines()
    assert all(json.dumps(line) in run.output for line in lines)
    return lines


def test_names_what_is_missing(rig: Rig) -> None:
    """A variable that a provider needs is named before anything is asked."""
    run = rig.run({"none": {"dns_provider": "rfc2136", "dns_tsig_name": "mail"}}, fails=True)
    assert "dns_tsig_secret is not set, and dns_provider=rfc2136 needs it. Set it." in run.words
    run = rig.run({"none": {"dns_provider": "bind"}}, fails=True)
    assert "value of dns_provider must be one of: rfc2136, route53," in run.words


def test_names_the_collection(rig: Rig) -> None:
    """A collection that is not installed is named, with how to install it."""
    needs = json.dumps({"__dns_needs": {"none": {"collection": "none.such"}}})
    run = rig.run({"none": {"dns_provider": "none"}}, "-e", needs, fails=True)
    assert (
        "The collection none.such is not installed, and dns_provider=none needs it. "
        "Install it with: ansible-galaxy collection install none.such"
    ) in run.words


def test_says_why_powerdns_refuses(rig: Rig, server: powerdns.PowerDnsServer) -> None:
    """A wrong key and a zone that is not there are told apart from each other, and no key shown."""
    play = {"dns_provider": "powerdns", "dns_powerdns_url": server.api_url}
    run = rig.run({"key": {**play, "dns_powerdns_api_key": KEY}}, "-vvv", fails=True)
    assert f"PowerDNS at {server.api_url} does not show the zone {DOMAIN}:" in run.words
    assert "401" in run.words
    assert KEY not in run.output
    right = {**play, "dns_powerdns_api_key": server.api_key, "dns_zone": "none.example"}
    run = rig.run({"zone": right}, "-vvv", fails=True)
    assert "does not show the zone none.example:" in run.words
    assert "404" in run.words
    assert server.api_key not in run.output
