# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The `dns` role with each DNS provider, using the collection with the provider's modules."""

from __future__ import annotations

import base64
import importlib.metadata
import json
import re
import sqlite3
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from ansible_collections.postroom.email.plugins.module_utils._api.names import parse_domain
from ansible_collections.postroom.email.tests.dns.providers import PROVIDERS, Provider
from ansible_collections.postroom.email.tests.dns.role import (
    MERGED,
    Run,
    dkim_text,
    joined,
    register,
    run_role,
)
from ansible_collections.postroom.email.tests.support import repository
from ansible_collections.postroom.email.tests.support.service import RunningService

#: An MX record of another client, with a higher priority than the service's.
THEIR_MX = "5 first.example.net."
THEIR_SPF = '"v=spf1 mx -all"'
THEIR_TEXT = '"site-verification=Zm9v; a b"'
THEIRS = ((THEIR_MX,), tuple(sorted((THEIR_SPF, THEIR_TEXT))), ())


def exchange_key(service: RunningService, domain: str) -> None:
    """Replace a domain's DKIM key with a 4,096-bit key."""
    public = rsa.generate_private_key(public_exponent=65537, key_size=4096).public_key()
    text = base64.b64encode(public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo))
    statement = (
        "UPDATE dkim_key SET public_base64 = ? "
        "WHERE principal_id = (SELECT id FROM principal WHERE name = ?)"
    )
    with closing(sqlite3.connect(service.database)) as database, database:
        assert database.execute(statement, (text.decode(), domain)).rowcount == 1


def held(provider: Provider, domain: str) -> tuple[tuple[str, ...], ...]:
    """Return a domain's MX, TXT and DKIM records at a provider."""
    names = ((domain, "MX"), (domain, "TXT"), (f"service._domainkey.{domain}", "TXT"))
    return tuple(provider.lookup(*name) for name in names)


def written(name: str) -> str:
    """Return a provider's zone name, with capital letters and a non-ASCII letter."""
    return f"B\u00fccher-{name}.EXAMPLE"


class ProviderSetup:
    """All providers, each with a zone that other clients use as well."""

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
            # Cloudflare returns texts without quotes if they were entered long ago.
            spf = THEIR_SPF.strip('"') if name == "cloudflare" else THEIR_SPF
            provider.put(zone, "TXT", spf, THEIR_TEXT)

    def variables(self, name: str, **more: Any) -> dict[str, Any]:
        """Return the role's variables for a provider."""
        provider = self.providers[name]
        ours = {"dns_provider": name, "dns_domains": [written(name)], "dns_wait_timeout": 20}
        # No resolver answers at this address, so only the provider's own servers can answer.
        ours["dns_resolvers"] = ["127.0.0.1:1"]
        return {**ours, "dns_verify": provider.answers, **provider.variables, **more}

    def run(self, *options: str, writes: bool = True, **more: Any) -> Run:
        """Run the role for all providers, and assert that it writes only if writes are allowed."""
        for provider in self.providers.values():
            if provider.take_writes:
                provider.take_writes()
        hosts = {name: self.variables(name, **more) for name in self.providers}
        run = run_role(self._folder, self._service, hosts, *options, settings=self._settings)
        for provider in self.providers.values():
            assert not provider.take_writes or bool(provider.take_writes()) is writes
        return run

    def run_barred(self) -> Run:
        """Run the role for domains whose records require the owner's decision.

        At Cloudflare, the additional host ``full`` has a domain that has no room for more text.
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
    """Assert that the service's records and those of other clients are published."""
    mx, texts, keys = held(provider, provider.zone)
    assert run.recap(name).changed > 0
    assert set(mx) == {"10 mail.postroom.test.", THEIR_MX}
    assert texts == tuple(sorted((MERGED, THEIR_TEXT)))
    assert [joined(key) for key in keys] == [dkim_text(service, provider.zone)]
    (result,) = run.results[name].values()
    assert result["stage"] == ("created" if provider.answers else None)
    if provider.answers:
        # The role waits for the service's records, but not for the removal of other mail servers.
        statuses = [record["status"] for record in result["records"]]
        assert statuses == ["conflict", "match", "match"]


def test_each_provider(service: RunningService, tmp_path: Path) -> None:
    """Publishing and withdrawing work with all providers and keep other clients' records."""
    with ExitStack() as stack:
        setup = ProviderSetup(service, tmp_path, stack)
        would = setup.run("--check", "--diff", "-vvv", writes=False)
        for name, provider in setup.providers.items():
            (result,) = would.results[name].values()
            actions = [change["action"] for change in result["changes"]]
            assert actions == ["update", "update", "create"], name
            assert would.recap(name).changed > 0
            assert held(provider, provider.zone) == THEIRS
        done = setup.run("-vvv")
        for name, provider in setup.providers.items():
            assert_published(service, done, name, provider)
            assert provider.secret not in would.output + done.output
        before = {name: held(each, each.zone) for name, each in setup.providers.items()}
        again = setup.run(writes=False)
        assert {name: held(each, each.zone) for name, each in setup.providers.items()} == before
        for name in setup.providers:
            (result,) = again.results[name].values()
            assert (again.recap(name).changed, result["changes"]) == (0, [])
        longer = setup.run(dns_ttl=7200)
        for name, provider in setup.providers.items():
            (result,) = longer.results[name].values()
            assert [change["action"] for change in result["changes"]] == ["update"]
            assert held(provider, provider.zone) == before[name]
        withdrawn = setup.run(dns_state="absent")
        for name, provider in setup.providers.items():
            assert withdrawn.recap(name).changed > 0
            assert held(provider, provider.zone) == THEIRS
        barred = setup.run_barred()
        for name, provider in setup.providers.items():
            message = barred.failure(name)
            for words in ("leads to keys.example.net", "null MX", "There are 2 SPF records"):
                assert words in message
            expected = (("0 .",), ('"v=spf1 -all"', THEIR_SPF), ())
            assert held(provider, f"barred.{provider.zone}") == expected
        # The old SPF record is deleted only after the merged one exists.
        assert "Record quota exceeded" in barred.failure("full")
        cloudflare = setup.providers["cloudflare"]
        assert cloudflare.lookup(f"full.{cloudflare.zone}", "TXT") == (THEIR_SPF,)


def test_collections() -> None:
    """The README and the execution environment list the collection versions that the tests use.

    The `dns` session uses the oldest supported collections, and `dns-current` the current ones.
    """
    row = re.compile(r"^\| `\w+` \| `([\w.]+)` \| ([\d.]+) to (\d+)\.x \|", re.MULTILINE)
    supported = row.findall(repository.read("roles/dns/README.md"))
    listed = repository.read_yaml("extensions/ee/requirements.yml")["collections"]
    image = {row["name"]: row["version"] for row in listed}
    ansible = importlib.metadata.distribution("ansible")
    for name, oldest, newest in supported:
        assert image[name] == f">={oldest},<{int(newest) + 1}"
        file = f"ansible_collections/{name.replace('.', '/')}/MANIFEST.json"
        manifest = json.loads(Path(str(ansible.locate_file(file))).read_text("utf-8"))
        version = manifest["collection_info"]["version"]
        assert version == oldest or version.startswith(f"{newest}."), name
    assert {name for name, _oldest, _newest in supported} == image.keys() - {"awx.awx"}
