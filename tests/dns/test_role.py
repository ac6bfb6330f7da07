# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The role `dns` at each provider, what it prints without one, and its errors."""

from __future__ import annotations

import base64
import json
import re
import sqlite3
from collections.abc import Mapping
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import yaml
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from ansible_collections.postroom.email.plugins.module_utils._api.names import parse_domain
from ansible_collections.postroom.email.tests.dns.providers import PROVIDERS, Provider
from ansible_collections.postroom.email.tests.fakes.nameserver.habits import (
    answer,
    failing,
    nothing_there,
)
from ansible_collections.postroom.email.tests.fakes.nameserver.server import misbehaving
from ansible_collections.postroom.email.tests.support import powerdns, repository
from ansible_collections.postroom.email.tests.support.playbooks import (
    Recap,
    environment,
    read_recap,
    run_playbook,
)
from ansible_collections.postroom.email.tests.support.service import RunningService
from ansible_collections.postroom.email.tests.support.site import Api

ROLE = repository.ROOT / "roles" / "dns"
LOCAL = {
    "ansible_connection": "local",
    "ansible_python_interpreter": "{{ ansible_playbook_python }}",
}
MARK = "result of the role: "
RESULT = f"{MARK}{{{{ inventory_hostname }}}}={{{{ dns_result | to_json }}}}"
PLAY = {
    "hosts": "all",
    "gather_facts": False,
    "roles": ["postroom.email.dns"],
    "post_tasks": [{"name": "Show the result", "ansible.builtin.debug": {"msg": RESULT}}],
}


class Run:
    """A run of the role for several hosts at once."""

    def __init__(self, output: str) -> None:
        self.output = output
        self.words = " ".join(output.split())
        lines = [line for line in output.splitlines() if f'"msg": "{MARK}' in line]
        shown = [json.loads(f"{{{line}}}")["msg"].removeprefix(MARK) for line in lines]
        #: The fact `dns_result` by host.
        self.results: dict[str, dict[str, Any]] = {
            host: json.loads(result)
            for host, _is, result in (each.partition("=") for each in shown)
        }

    def recap(self, host: str) -> Recap:
        """Return the counts of a host's tasks."""
        lines = reversed(self.output.splitlines())
        recap = read_recap(next(line for line in lines if line.startswith(f"{host} ")))
        assert recap is not None
        return recap

    def failure(self, host: str) -> str:
        """Return the message of a host, or of an item of its loop, that failed."""
        begins = f"fatal: [{host}]: ", f"failed: [{host}] "
        return next(line for line in self.output.splitlines() if line.startswith(begins))


def run_role(
    folder: Path,
    service: RunningService,
    hosts: Mapping[str, Mapping[str, Any]],
    *options: str,
    settings: Mapping[str, str] | None = None,
    fails: bool = False,
) -> Run:
    """Run the role for all hosts at once, each with its variables."""
    access = {"POSTROOM_API_URL": service.url, "POSTROOM_API_TOKEN": service.token}
    env = environment(folder, **access, ANSIBLE_PIPELINING="true", **(settings or {}))
    inventory, playbook = folder / "inventory.json", folder / "playbook.yml"
    named = {name: {**LOCAL, **variables} for name, variables in hosts.items()}
    inventory.write_text(json.dumps({"all": {"hosts": named}}), "utf-8")
    playbook.write_text(json.dumps([PLAY]), "utf-8")
    done = run_playbook(playbook, env, "-i", str(inventory), *options)
    assert (done.status != 0) is fails, done.output
    assert "DEPRECATION" not in done.output, done.output
    return Run(done.output)


def register(service: RunningService, *domains: str) -> None:
    """Register domains with the service."""
    with closing(Api(service.url, service.token)) as api:
        for domain in domains:
            api.create(domain)


def exchange_key(service: RunningService, domain: str) -> None:
    """Replace a domain's DKIM key with one of 4096 bits."""
    public = rsa.generate_private_key(public_exponent=65537, key_size=4096).public_key()
    text = base64.b64encode(public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo))
    statement = (
        "UPDATE dkim_key SET public_base64 = ? "
        "WHERE principal_id = (SELECT id FROM principal WHERE name = ?)"
    )
    with closing(sqlite3.connect(service.database)) as database, database:
        assert database.execute(statement, (text.decode(), domain)).rowcount == 1


def dkim_text(service: RunningService, domain: str) -> str:
    """Return the text of the DKIM record that the service wants."""
    with closing(Api(service.url, service.token)) as api:
        records = api.call("GET", f"/api/dns/{domain}")["txt"]
    texts: list[str] = [record["value"] for record in records]
    return next(text for text in texts if text.startswith("v=DKIM1"))


def joined(value: str) -> str:
    """Return the text of one TXT value, whose strings are not escaped."""
    strings = value.split('"')[1::2]
    assert all(len(string) <= 255 for string in strings), strings
    return "".join(strings)


#: It has a higher priority than the service's, and stays.
THEIR_MX = "5 first.example.net."
THEIR_SPF = '"v=spf1 mx -all"'
THEIR_TEXT = '"site-verification=Zm9v; a b"'
THEIRS = ((THEIR_MX,), tuple(sorted((THEIR_SPF, THEIR_TEXT))), ())
MERGED = '"v=spf1 mx include:spf.postroom.test -all"'


def held(provider: Provider, domain: str) -> tuple[tuple[str, ...], ...]:
    """Return what a provider holds for a domain: MX, TXT and DKIM."""
    names = ((domain, "MX"), (domain, "TXT"), (f"service._domainkey.{domain}", "TXT"))
    return tuple(provider.lookup(*name) for name in names)


def written(name: str) -> str:
    """Return a provider's zone in capitals and with letters that DNS does not have."""
    return f"B\u00fccher-{name}.EXAMPLE"


class World:
    """All providers, each with a zone that other clients use, too."""

    def __init__(self, service: RunningService, folder: Path, stack: ExitStack) -> None:
        self.providers: dict[str, Provider] = {}
        self._service, self._folder = service, folder
        self._settings = {"ANSIBLE_STRATEGY": "ansible.builtin.free", "ANSIBLE_FORKS": "6"}
        for name, run in PROVIDERS.items():
            folder.joinpath(name).mkdir()
            zone = parse_domain(written(name)).key
            provider = stack.enter_context(run(zone, folder / name))
            self.providers[name] = provider
            self._settings |= provider.settings
            register(service, zone, f"barred.{zone}", f"full.{zone}")
            exchange_key(service, zone)
            provider.put(zone, "MX", THEIR_MX)
            provider.put(zone, "TXT", THEIR_SPF, THEIR_TEXT)

    def variables(self, name: str, **more: Any) -> dict[str, Any]:
        """Return the role's variables for a provider."""
        provider = self.providers[name]
        ours = {"dns_provider": name, "dns_domains": [written(name)], "dns_wait_timeout": 20}
        # Where the provider answers no questions, nobody does.
        ours["dns_resolvers"] = ["127.0.0.1:1"]
        return {**ours, "dns_verify": provider.answers, **provider.variables, **more}

    def run(self, *options: str, writes: bool = True, **more: Any) -> Run:
        """Run the role at all providers, and assert that it wrote where it may."""
        for provider in self.providers.values():
            if provider.take_writes:
                provider.take_writes()
        hosts = {name: self.variables(name, **more) for name in self.providers}
        run = run_role(self._folder, self._service, hosts, *options, settings=self._settings)
        for provider in self.providers.values():
            assert not provider.take_writes or bool(provider.take_writes()) is writes
        return run

    def run_barred(self) -> Run:
        """Run it for domains within the zones, where only the owner can decide what to do.

        And, as the host ``full``, at Cloudflare where it takes no more text.
        """
        hosts = {}
        for name, provider in self.providers.items():
            domain = f"barred.{provider.zone}"
            provider.put(domain, "MX", "0 .")
            provider.put(domain, "TXT", THEIR_SPF, '"v=spf1 -all"')
            provider.put(f"service._domainkey.{domain}", "CNAME", "keys.example.net.")
            zone = f"{written(name)}."
            hosts[name] = self.variables(name, dns_domains=[domain.upper()], dns_zone=zone)
        full = f"full.{self.providers['cloudflare'].zone}"
        self.providers["cloudflare"].put(full, "TXT", THEIR_SPF)
        hosts["full"] = {**hosts["cloudflare"], "dns_domains": [full]}
        return run_role(self._folder, self._service, hosts, settings=self._settings, fails=True)


def assert_published(service: RunningService, run: Run, name: str, provider: Provider) -> None:
    """Assert that the service's records are beside other clients', with a whole key."""
    mx, texts, keys = held(provider, provider.zone)
    assert run.recap(name).changed > 0
    assert set(mx) == {"10 mail.postroom.test.", THEIR_MX}
    assert texts == tuple(sorted((MERGED, THEIR_TEXT)))
    assert [joined(key) for key in keys] == [dkim_text(service, provider.zone)]
    (result,) = run.results[name].values()
    assert result["stage"] == ("created" if provider.answers else None)
    if provider.answers:
        # The role waits for the records, not for the removal of other mail servers.
        statuses = [record["status"] for record in result["records"]]
        assert statuses == ["conflict", "match", "match"]


def test_each_provider(service: RunningService, tmp_path: Path) -> None:
    """Publishing and withdrawing work at all providers, side by side, and keep other records."""
    with ExitStack() as stack:
        world = World(service, tmp_path, stack)
        would = world.run("--check", "--diff", "-vvv", writes=False)
        for name, provider in world.providers.items():
            (result,) = would.results[name].values()
            actions = [change["action"] for change in result["changes"]]
            assert actions == ["update", "update", "create"], name
            assert would.recap(name).changed > 0
            assert held(provider, provider.zone) == THEIRS
        done = world.run("-vvv")
        for name, provider in world.providers.items():
            assert_published(service, done, name, provider)
            assert provider.secret not in would.output + done.output
        before = {name: held(each, each.zone) for name, each in world.providers.items()}
        again = world.run(writes=False)
        assert {name: held(each, each.zone) for name, each in world.providers.items()} == before
        for name in world.providers:
            (result,) = again.results[name].values()
            assert (again.recap(name).changed, result["changes"]) == (0, [])
        withdrawn = world.run(dns_state="absent")
        for name, provider in world.providers.items():
            assert withdrawn.recap(name).changed > 0
            assert held(provider, provider.zone) == THEIRS
        barred = world.run_barred()
        for name, provider in world.providers.items():
            message = barred.failure(name)
            for words in ("(CNAME) of keys.example.net", "null MX", "There are 2 SPF records"):
                assert words in message
            expected = (("0 .",), ('"v=spf1 -all"', THEIR_SPF), ())
            assert held(provider, f"barred.{provider.zone}") == expected
        # The old SPF record is deleted only after the merged one was created.
        assert "Record quota exceeded" in barred.failure("full")
        cloudflare = world.providers["cloudflare"]
        assert cloudflare.lookup(f"full.{cloudflare.zone}", "TXT") == (THEIR_SPF,)


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
    """The role prints what to paste, merged with what name servers gave, and what they did not."""
    register(service, DOMAIN)
    key = dkim_text(service, DOMAIN)
    with powerdns.running(tmp_path, {DOMAIN: ZONE_TEXT}) as server, misbehaving(SILENT) as silent:
        # Texts, as variables come from the command line.
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
        assert all(json.dumps(line) in run.output for line in lines)
    assert paste["looked"] == [
        f"{DOMAIN}: do this at the DNS provider that holds the zone.",
        "",
        "Do      Type  Name                                TTL  Value",
        f"add     MX    {DOMAIN}                       3600  10 mail.postroom.test.",
        f"remove  TXT   {DOMAIN}                       3600  v=spf1 mx -all",
        f"add     TXT   {DOMAIN}                       3600  {joined(MERGED)}",
        f"add     TXT   service._domainkey.{DOMAIN}    3600  {key}",
        "",
        "Or, where the provider takes lines of a zone file, put these in place of all records",
        "of the same name and type:",
        "",
        f"{DOMAIN}.                    3600 IN MX  20 backup.example.net.",
        f"{DOMAIN}.                    3600 IN MX  10 mail.postroom.test.",
        f'{DOMAIN}.                    3600 IN TXT "other"',
        f"{DOMAIN}.                    3600 IN TXT {MERGED}",
        f'service._domainkey.{DOMAIN}. 3600 IN TXT "{key[:255]}" "{key[255:]}"',
    ]
    stages = {host: run.results[host][DOMAIN]["stage"] for host in paste}
    assert stages == {"looked": "created", "silent": "created", "blind": None, "back": None}
    # Name servers did not give the texts, so the zone-file line is to be added.
    silent_lines = paste["silent"]
    replaced = silent_lines.index(
        f"{DOMAIN}.                    3600 IN MX  30 backup.example.net."
    )
    assert replaced < silent_lines.index(f'{DOMAIN}. 3600 IN TXT "{SPF}"')
    assert "What is there now could not be looked up:" in silent_lines
    assert f"  {DOMAIN} TXT" in silent_lines
    assert f"add     TXT   {DOMAIN}                       3600  {SPF}" in paste["blind"]
    for host in ("silent", "blind"):
        assert paste[host][-1] == "both invalid."
        assert "Or, where the provider takes lines of a zone file, add these:" in paste[host]
    assert f"remove  TXT   {DOMAIN}                       3600  {SPF}" in paste["back"]
    assert f"remove  TXT   service._domainkey.{DOMAIN}    3600  {key}" in paste["back"]
    assert not any("zone file" in line for line in paste["back"])
    assert run.results["gone"]["gone.example"]["changes"] == []
    assert "gone.example is not registered with the service" in run.words


def test_errors(service: RunningService, tmp_path: Path) -> None:
    """Each names the variable and the remedy, and none shows a key, valid or not."""
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
        misbehaving(other) as second,
        misbehaving(ten) as dear,
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
            (tsig, "dns_tsig_secret is not set"),
            (
                {**tsig, "dns_tsig_secret": "c2VjcmV0", "dns_nameservers": ["no name"]},
                "nameservers: 'no name'",
            ),
            ({"dns_provider": "bind"}, "value of dns_provider must be one of: rfc2136, route53, "),
            ({"dns_provider": "route53"}, "ansible-galaxy collection install none.such"),
            ({**wrong, "dns_powerdns_url": path}, "without /api/v1"),
            ({**wrong, "dns_powerdns_url": nowhere}, f"PowerDNS at {nowhere} does not show"),
            ({**right, "dns_powerdns_server_id": "other"}, "Check dns_powerdns_server_id"),
            (wrong, "Check dns_powerdns_api_key"),
            ({**right, "dns_zone": "none.example"}, "lie in the zone none.example"),
            ({**right, "dns_domains": [UNSERVED]}, f" has no zone {UNSERVED}"),
            (
                {"dns_nameservers": both, "dns_resolvers": [str(server)]},
                "torn.example MX: the name servers do not agree",
            ),
            (
                {
                    "dns_domains": ["dear.example"],
                    "dns_nameservers": [str(dear)],
                    "dns_resolvers": [str(dear)],
                },
                "more than 10 DNS look-ups (include:i0.test 1, ",
            ),
        ]
        hosts = {
            f"host{number}": {"dns_provider": "none", "dns_domains": ["torn.example"], **variables}
            for number, (variables, _words) in enumerate(cases)
        }
        # A requirement that this machine does not meet.
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
    """The README lists every key of the result."""
    text = (ROLE / "README.md").read_text("utf-8")
    table = text.partition("## Result")[2].partition("## Providers")[0]
    *_tasks, last = yaml.safe_load((ROLE / "tasks/domain.yml").read_text("utf-8"))
    keys = set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE))
    assert keys == set(last["vars"]["__dns_told"])
