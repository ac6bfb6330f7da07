# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What the role says: what to paste, what is missing, and what went wrong, each in one sentence."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from ansible_collections.postroom.email.tests.dns.role.rig import (
    Rig,
    Run,
    dkim_text,
    register,
)
from ansible_collections.postroom.email.tests.fakes.nameserver import server as nameserver
from ansible_collections.postroom.email.tests.fakes.nameserver.habits import (
    answer,
    failing,
    nothing_there,
)
from ansible_collections.postroom.email.tests.support import powerdns
from ansible_collections.postroom.email.tests.support.service import RunningService

DOMAIN = "said.example"
UNSERVED = "unserved.example"
SPF = "v=spf1 include:spf.postroom.test ~all"
MERGED = "v=spf1 mx include:spf.postroom.test -all"
PLAIN = {"dns_provider": "none", "dns_domains": [DOMAIN]}
#: Nobody listens there.
NOWHERE = "http://127.0.0.1:9"
KEY = "pdns-Ay72kQx0Vb9sTe4m"


@pytest.fixture(scope="module")
def rig(service: RunningService, tmp_path_factory: pytest.TempPathFactory) -> Rig:
    """Set the role up, and a domain for it."""
    register(service, DOMAIN, UNSERVED)
    return Rig(tmp_path_factory.mktemp("said"), service)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[powerdns.PowerDnsServer]:
    """Run a name server that holds other records of the domain."""
    text = '@ MX 20 backup.example.net.\n@ TXT "v=spf1 mx -all"\n@ TXT "other"'
    with powerdns.running(tmp_path_factory.mktemp("dns"), {DOMAIN: text}) as server:
        yield server


@pytest.fixture(scope="module")
def silent() -> Iterator[nameserver.BadServer]:
    """Run a name server that does not tell the texts at the domain, and has another mail server."""
    habits = {
        (DOMAIN, "TXT"): failing("SERVFAIL"),
        (DOMAIN, "MX"): answer("30 backup.example.net."),
        ("*", "*"): nothing_there("NXDOMAIN", soa=DOMAIN),
    }
    with nameserver.misbehaving(habits) as server:
        yield server


@pytest.fixture(scope="module")
def said(rig: Rig, server: powerdns.PowerDnsServer, silent: nameserver.BadServer) -> Run:
    """Run the role where it has nothing to change."""
    # As texts, which is how variables come from the command line.
    at = {"dns_nameservers": str(server), "dns_resolvers": str(server), "dns_ttl": "3600"}
    at |= {"dns_wait": "false", "dns_wait_timeout": "1", "dns_domains": f"{DOMAIN},"}
    blind = {"dns_verify": "false"}
    gone = {
        "dns_domains": ["gone.example"],
        "dns_state": "absent",
        "dns_provider": "powerdns",
        "dns_powerdns_url": server.api_url,
        "dns_powerdns_api_key": server.api_key,
    }
    hosts: dict[str, dict[str, Any]] = {
        "looked": at,
        "silent": {"dns_nameservers": [str(silent)], "dns_resolvers": [str(silent)]},
        "blind": blind,
        "back": {**blind, "dns_state": "absent"},
        "gone": gone,
    }
    return rig.run({name: {**PLAIN, **host} for name, host in hosts.items()})


def test_prints_what_to_paste(said: Run, service: RunningService) -> None:
    """With no provider, the merged records are printed as a table and as lines of a zone file."""
    key = dkim_text(service, DOMAIN)
    assert said["looked"].recap.changed == 0
    assert paste(said, "looked") == [
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
    assert said["looked"].result[DOMAIN]["stage"] == "created"
    assert said["blind"].result[DOMAIN]["stage"] is None
    told = paste(said, "blind")
    assert f"add     TXT   {DOMAIN}                       3600  {SPF}" in told
    assert told[-2:] == [
        "Where the domain has an SPF record, put the service's part into it: a second one makes",
        "both invalid.",
    ]
    assert "Or, where the provider takes lines of a zone file, add these:" in told
    told = paste(said, "back")
    assert f"remove  TXT   {DOMAIN}                       3600  {SPF}" in told
    assert f"remove  TXT   service._domainkey.{DOMAIN}    3600  {key}" in told
    assert not any("zone file" in line for line in told)


def test_says_what_nobody_told(said: Run, service: RunningService) -> None:
    """What name servers told is merged, and what they did not tell is not said to be missing."""
    key = dkim_text(service, DOMAIN)
    assert said["silent"].result[DOMAIN]["stage"] == "created"
    assert paste(said, "silent")[6:] == [
        "",
        "Or, where the provider takes lines of a zone file, put these in place of all records",
        "of the same name and type:",
        "",
        f"{DOMAIN}.                    3600 IN MX  30 backup.example.net.",
        f"{DOMAIN}.                    3600 IN MX  10 mail.postroom.test.",
        f'service._domainkey.{DOMAIN}. 3600 IN TXT "{key[:255]}" "{key[255:]}"',
        "",
        "Or, where the provider takes lines of a zone file, add these:",
        "",
        f'{DOMAIN}. 3600 IN TXT "{SPF}"',
        "",
        "What is there now could not be looked up:",
        f"  {DOMAIN} TXT",
        "Where the domain has an SPF record, put the service's part into it: a second one makes",
        "both invalid.",
    ]


def test_withdraws_from_a_domain_that_is_gone(said: Run) -> None:
    """Nothing is known of such a domain, which is said and no failure."""
    assert said["gone"].recap.changed == 0
    assert said["gone"].result["gone.example"]["changes"] == []
    assert "gone.example is not registered with the service, so which records" in said.words
    assert "Register it first" not in said.words


def paste(run: Run, host: str) -> list[str]:
    """Return the lines that were printed, which the role returns as well."""
    lines: list[str] = run[host].result[DOMAIN]["paste"].splitlines()
    assert all(json.dumps(line) in run.output for line in lines)
    return lines


@pytest.fixture(scope="module")
def failed(rig: Rig, server: powerdns.PowerDnsServer, silent: nameserver.BadServer) -> Run:
    """Run the role for hosts each of which lacks something."""
    at_powerdns = {"dns_provider": "powerdns", "dns_powerdns_url": server.api_url}
    hosts: dict[str, dict[str, Any]] = {
        "nobody": {"dns_domains": []},
        "late": {"dns_wait_timeout": "-1"},
        "variable": {"dns_provider": "rfc2136", "dns_tsig_name": "mail"},
        "asked": {
            "dns_provider": "rfc2136",
            "dns_tsig_name": "mail",
            "dns_tsig_secret": "c2VjcmV0",
            "dns_nameservers": ["no name"],
        },
        "choice": {"dns_provider": "bind"},
        "collection": {"dns_provider": "route53"},
        "path": {
            **at_powerdns,
            "dns_powerdns_url": f"{server.api_url}/api/v1",
            "dns_powerdns_api_key": KEY,
        },
        "nowhere": {
            **at_powerdns,
            "dns_powerdns_url": NOWHERE,
            "dns_powerdns_api_key": KEY,
        },
        "server": {
            **at_powerdns,
            "dns_powerdns_server_id": "other",
            "dns_powerdns_api_key": server.api_key,
        },
        "key": {**at_powerdns, "dns_powerdns_api_key": KEY},
        "zone": {
            **at_powerdns,
            "dns_powerdns_api_key": server.api_key,
            "dns_zone": "none.example",
        },
        "unserved": {
            **at_powerdns,
            "dns_powerdns_api_key": server.api_key,
            "dns_domains": [UNSERVED],
        },
        "torn": {"dns_nameservers": [str(server), str(silent)], "dns_resolvers": [str(server)]},
    }
    # What the role says of itself cannot be said otherwise by a host.
    needs: dict[str, Any] = {
        "rfc2136": {"variables": ["dns_tsig_name", "dns_tsig_secret"]},
        "powerdns": {},
        "route53": {"collection": "none.such"},
        "none": {},
    }
    more = json.dumps({"__dns_needs": needs})
    return rig.run({n: {**PLAIN, **h} for n, h in hosts.items()}, "-e", more, "-vvv", fails=True)


@pytest.mark.parametrize(
    "words",
    [
        "dns_tsig_secret is not set, and dns_provider=rfc2136 needs it. Set it.",
        "value of dns_provider must be one of: rfc2136, route53, ",
        "The collection none.such is not installed, and dns_provider=route53 needs it.",
        "Install it with: ansible-galaxy collection install none.such",
        "dns_domains is empty, so there is nothing to do. Name at least one domain.",
        "dns_wait_timeout is -1. Give seconds, 0 or more.",
        "nameservers: 'no name' is not a name server. Give a host name or an address",
        "/api/v1. Write it with http:// or https:// and without /api/v1, such as https://ns1.",
        f"PowerDNS at {NOWHERE} does not show the zone {DOMAIN}: Request failed: ",
        " has no server other. Check dns_powerdns_server_id and dns_powerdns_url.",
        " refuses the key. Check dns_powerdns_api_key.",
        f" has no zone {UNSERVED}. Create it there, or name the zone that holds the records in",
        f"{DOMAIN} MX: the name does not lie in the zone none.example. Give the zone that",
        f"{DOMAIN} MX: the name servers do not agree on what is there: ",
    ],
)
def test_says_what_is_wrong(failed: Run, words: str) -> None:
    """What is missing or refused is named, with what to do."""
    assert words in failed.words


def test_no_key_is_shown(failed: Run, server: powerdns.PowerDnsServer) -> None:
    """No failure shows a key, be it right or wrong."""
    assert KEY not in failed.output
    assert server.api_key not in failed.output
