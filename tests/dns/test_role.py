# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The `dns` role's output without a provider, its errors and its documentation."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import yaml

from ansible_collections.postroom.email.tests.dns.role import (
    MERGED,
    dkim_text,
    joined,
    register,
    run_role,
)
from ansible_collections.postroom.email.tests.fakes.nameserver.behaviors import (
    answer,
    failing,
    nothing_there,
)
from ansible_collections.postroom.email.tests.fakes.nameserver.server import fake_nameserver
from ansible_collections.postroom.email.tests.support import powerdns, repository
from ansible_collections.postroom.email.tests.support.service import RunningService

ROLE = repository.ROOT / "roles" / "dns"
DOMAIN, UNSERVED = "said.example", "unserved.example"
SPF = "v=spf1 include:spf.postroom.test ~all"
PLAIN = {"dns_provider": "none", "dns_domains": [DOMAIN]}
SILENT = {
    (DOMAIN, "TXT"): failing("SERVFAIL"),
    (DOMAIN, "MX"): answer("30 backup.example.net."),
    ("*", "*"): nothing_there("NXDOMAIN", soa=DOMAIN),
}
ZONE_TEXT = '@ MX 20 backup.example.net.\n@ TXT "v=spf1 mx -all"\n@ TXT "other"'


def test_without_a_provider(service: RunningService, tmp_path: Path) -> None:
    """Without a provider, the role prints the records to add, merged with the current records."""
    register(service, DOMAIN)
    key = dkim_text(service, DOMAIN)
    with (
        powerdns.running(tmp_path, {DOMAIN: ZONE_TEXT}) as server,
        fake_nameserver(SILENT) as silent,
    ):
        # The values are strings, as on the command line.
        looked = {"dns_nameservers": str(server), "dns_resolvers": str(server), "dns_ttl": "3600"}
        looked |= {"dns_wait": "false", "dns_wait_timeout": "1", "dns_domains": f"{DOMAIN},"}
        gone = {"dns_domains": ["gone.example"], "dns_state": "absent", "dns_provider": "powerdns"}
        gone |= {"dns_powerdns_url": server.api_url, "dns_powerdns_api_key": server.api_key}
        hosts: dict[str, dict[str, Any]] = {
            "looked": looked,
            "silent": {"dns_nameservers": [str(silent)], "dns_resolvers": [str(silent)]},
            "blind": {"dns_verify": "false"},
            "back": {"dns_verify": "false", "dns_state": "absent"},
            "gone": gone,
        }
        run = run_role(tmp_path, service, {name: {**PLAIN, **h} for name, h in hosts.items()})
    assert all(run.recap(host).changed == 0 for host in hosts)
    paste = {host: run.results[host][DOMAIN]["paste"].splitlines() for host in list(hosts)[:4]}
    for lines in paste.values():
        assert "\n".join(lines) in run.output
    assert paste["looked"] == [
        f"{DOMAIN}: make these changes at the DNS provider of the zone.",
        "",
        "Do      Type  Name                                TTL  Value",
        f"add     MX    {DOMAIN}                       3600  10 mail.postroom.test.",
        f"remove  TXT   {DOMAIN}                       3600  v=spf1 mx -all",
        f"add     TXT   {DOMAIN}                       3600  {joined(MERGED)}",
        f"add     TXT   service._domainkey.{DOMAIN}    3600  {key}",
        "",
        "Or, if the provider accepts lines of a zone file, replace all records of the same name",
        "and type with these:",
        "",
        f"{DOMAIN}.                    3600 IN MX  20 backup.example.net.",
        f"{DOMAIN}.                    3600 IN MX  10 mail.postroom.test.",
        f'{DOMAIN}.                    3600 IN TXT "other"',
        f"{DOMAIN}.                    3600 IN TXT {MERGED}",
        f'service._domainkey.{DOMAIN}. 3600 IN TXT "{key[:255]}" "{key[255:]}"',
    ]
    stages = {host: run.results[host][DOMAIN]["stage"] for host in paste}
    assert stages == {"looked": "created", "silent": "created", "blind": None, "back": None}
    # No server returned TXT records, so the output says to add this line instead of replacing one.
    silent_lines = paste["silent"]
    replaced = silent_lines.index(
        f"{DOMAIN}.                    3600 IN MX  30 backup.example.net."
    )
    assert replaced < silent_lines.index(f'{DOMAIN}. 3600 IN TXT "{SPF}"')
    assert "The current records of these names could not be looked up:" in silent_lines
    assert f"  {DOMAIN} TXT" in silent_lines
    assert f"add     TXT   {DOMAIN}                       3600  {SPF}" in paste["blind"]
    for host in ("silent", "blind"):
        assert paste[host][-1] == "both invalid."
        assert "Or, if the provider accepts lines of a zone file, add these:" in paste[host]
    assert f"remove  TXT   {DOMAIN}                       3600  {SPF}" in paste["back"]
    assert f"remove  TXT   service._domainkey.{DOMAIN}    3600  {key}" in paste["back"]
    assert not any("zone file" in line for line in paste["back"])
    assert run.results["gone"]["gone.example"]["changes"] == []
    assert "gone.example is not registered with the service" in run.words


def test_errors(service: RunningService, tmp_path: Path) -> None:
    """Each error names the variable and the remedy.

    No error reveals a key, even a malformed one.
    """
    register(service, UNSERVED, "torn.example", "dear.example")
    key, nowhere = "pdns-Ay72kQx0Vb9sTe4m", "http://127.0.0.1:9"
    other = {
        ("torn.example", "MX"): answer("30 backup.example.net."),
        ("*", "*"): nothing_there("NXDOMAIN", soa="torn.example"),
    }
    includes = " ".join(f"include:i{number}.test" for number in range(10))
    ten = {
        ("dear.example", "TXT"): answer(f'"v=spf1 {includes} -all"'),
        ("*.test", "TXT"): answer('"v=spf1 -all"'),
        ("*", "*"): nothing_there("NXDOMAIN", soa="dear.example"),
    }
    with (
        powerdns.running(tmp_path, {"torn.example": ""}) as server,
        fake_nameserver(other) as second,
        fake_nameserver(ten) as dear,
    ):
        at = {"dns_provider": "powerdns", "dns_powerdns_url": server.api_url}
        right = {**at, "dns_powerdns_api_key": server.api_key}
        wrong = {**at, "dns_powerdns_api_key": key}
        tsig = {"dns_provider": "rfc2136", "dns_tsig_name": "mail"}
        path = f"{server.api_url}/api/v1"
        both = [str(server), str(second)]
        cases: list[tuple[dict[str, Any], str]] = [
            ({"dns_domains": []}, "dns_domains is empty"),
            ({"dns_wait_timeout": "-1"}, "dns_wait_timeout is -1"),
            (tsig, "dns_tsig_secret is required"),
            (
                {**tsig, "dns_tsig_secret": "c2VjcmV0", "dns_nameservers": ["no name"]},
                "nameservers: 'no name'",
            ),
            ({"dns_provider": "bind"}, "value of dns_provider must be one of: rfc2136, route53, "),
            ({"dns_provider": "route53"}, "ansible-galaxy collection install none.such"),
            ({**wrong, "dns_powerdns_url": path}, "without /api/v1"),
            ({**wrong, "dns_powerdns_url": nowhere}, f"PowerDNS at {nowhere} did not return"),
            ({**right, "dns_powerdns_server_id": "other"}, "Check dns_powerdns_server_id"),
            (wrong, "Check dns_powerdns_api_key"),
            ({**right, "dns_zone": "none.example"}, "is not in the zone none.example"),
            ({**right, "dns_domains": [UNSERVED]}, f" has no zone {UNSERVED}"),
            (
                {"dns_nameservers": both, "dns_resolvers": [str(server)]},
                "torn.example MX: the name servers disagree",
            ),
            (
                {
                    "dns_domains": ["dear.example"],
                    "dns_nameservers": [str(dear)],
                    "dns_resolvers": [str(dear)],
                },
                "more than 10 DNS lookups (include:i0.test 1, ",
            ),
        ]
        hosts = {
            f"host{number}": {"dns_provider": "none", "dns_domains": ["torn.example"], **variables}
            for number, (variables, _words) in enumerate(cases)
        }
        # A requirement that is not installed on this machine.
        needs: dict[str, Any] = {
            "rfc2136": {"variables": ["dns_tsig_name", "dns_tsig_secret"]},
            "powerdns": {},
            "route53": {"collection": "none.such"},
            "none": {},
        }
        more = json.dumps({"__dns_needs": needs})
        run = run_role(tmp_path, service, hosts, "-e", more, "-vvv", fails=True)
    for _variables, words in cases:
        assert words in run.words
    assert key not in run.output
    assert server.api_key not in run.output


def test_documentation() -> None:
    """The README lists every key of the role's result."""
    text = (ROLE / "README.md").read_text("utf-8")
    table = text.partition("## Result")[2].partition("## Providers")[0]
    *_tasks, last = yaml.safe_load((ROLE / "tasks/publish.yml").read_text("utf-8"))
    keys = set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE))
    assert keys == set(last["vars"]["__dns_summary"])
