# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What `records_for` returns, given to the modules that it is for: keys arrive, others' stays."""

from __future__ import annotations

import importlib
import itertools
import json
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import dns.rdata
import pytest
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator

from ansible_collections.postroom.email.plugins.filter.record_sets import record_sets
from ansible_collections.postroom.email.plugins.filter.records_for import records_for
from ansible_collections.postroom.email.plugins.module_utils._api.records.shapes import PROVIDERS
from ansible_collections.postroom.email.tests.support import bind
from ansible_collections.postroom.email.tests.support.modules import run_module
from ansible_collections.postroom.email.tests.support.playbooks import environment
from ansible_collections.postroom.email.tests.support.recordsets import (
    DOMAIN,
    SELECTOR,
    key,
    neutral,
)

MODULES = {
    "nsupdate": ("community.general.nsupdate", {"server": "192.0.2.1"}),
    "route53": ("amazon.aws.route53", {}),
    "cloudflare": ("community.general.cloudflare_dns", {"api_token": "cf-4Tz8vQm1"}),
    "hetzner": ("hetzner.hcloud.zone_rrset", {"api_token": "hc-3Rw7yNp2"}),
    "community_dns": ("community.dns.hetzner_dns_record_set", {"hetzner_token": "hz-9Lw2xKr5"}),
    "hosttech": ("community.dns.hosttech_dns_record_set", {"hosttech_token": "ht-5Bv8cXd1"}),
}
#: Shapes that several modules take, by the names above.
SHAPES = {"hosttech": "community_dns"}
NAMES = [(DOMAIN, "MX"), (DOMAIN, "TXT"), (SELECTOR, "TXT")]
THEIR_MX = "20 backup.example.org."
THEIR_SPF = '"v=spf1 mx " "-all"'
MERGED_SPF = '"v=spf1 mx include:spf.example.net -all"'
SPF_BEFORE = '"v=spf1 mx -all"'

Options = dict[str, Any]


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


@pytest.fixture(scope="module")
def documented(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return the options of the modules, as they document them."""
    names = [name for name, _more in MODULES.values()]
    command = [str(Path(sys.executable).with_name("ansible-doc")), "--json", *names]
    where = environment(tmp_path_factory.mktemp("ansible"))
    run = subprocess.run(command, env=where, stdout=subprocess.PIPE, timeout=60, check=True)
    return {name: doc["doc"]["options"] for name, doc in json.loads(run.stdout).items()}


def spec_of(options: dict[str, Any]) -> dict[str, Any]:
    """Return documented options as a specification of arguments."""
    known = ("type", "choices", "required", "elements", "aliases", "default")
    return {
        name: {key: value for key, value in option.items() if key in known}
        for name, option in options.items()
    }


@pytest.mark.parametrize("provider", MODULES)
@pytest.mark.parametrize("state", ["present", "absent"])
def test_options_are_the_modules_own(documented: dict[str, Any], provider: str, state: str) -> None:
    """By name, type and choice, and they are taken as they are given."""
    name, more = MODULES[provider]
    validator = ArgumentSpecValidator(spec_of(documented[name]))
    ours = record_sets(neutral())
    theirs = [{"name": DOMAIN, "type": "TXT", "values": [THEIR_SPF]}]
    current = theirs if state == "present" else [*ours, *theirs]
    shape = SHAPES.get(provider, provider)
    calls = records_for(record_sets(neutral(), current, state), shape, DOMAIN)
    assert len(calls) >= 3
    for call in calls:
        result = validator.validate(call | more)
        assert result.error_messages == []
        assert {option: result.validated_parameters[option] for option in call} == call


@pytest.mark.parametrize("bits", [2048, 4096])
@pytest.mark.parametrize("provider", PROVIDERS)
def test_keys_are_whole_in_every_shape(provider: str, bits: int) -> None:
    """In strings that DNS can carry."""
    (call,) = records_for(record_sets(neutral(bits))[2:], provider, DOMAIN)
    value = call["records"] if "records" in call else call["value"]
    (text,) = [value] if isinstance(value, str) else value
    if isinstance(text, dict):
        text = text.get("content") or text["value"]
    assert joined(text) == key(bits)


@pytest.mark.parametrize("bits", [2048, 4096])
def test_nsupdate_publishes_to_bind(tmp_path: Path, bits: int) -> None:
    """Twice, of which the second changes nothing; and withdraws, so that others' are left."""
    tsig = bind.new_key("mail")
    zone = f"@ MX {THEIR_MX}\n@ TXT {THEIR_SPF}\n@ TXT caf\\195\\169"
    with bind.running(tmp_path, {DOMAIN: zone}, keys=[tsig]) as server:
        before = held(server)
        assert publish(server, bits) == [True, True, True]
        assert joined(server.lookup(SELECTOR, "TXT")[0]) == key(bits)
        assert server.lookup(DOMAIN, "MX") == ("10 mail.example.net.", THEIR_MX)
        assert server.lookup(DOMAIN, "TXT") == ('"caf\\195\\169"', MERGED_SPF)
        assert publish(server, bits) == []
        assert publish(server, bits, "absent") == [True, True, True]
        assert held(server) == [text.replace(THEIR_SPF, SPF_BEFORE) for text in before]


def held(server: bind.BindServer) -> list[str]:
    """Return what the server has at the names."""
    return [text for name, kind in NAMES for text in server.lookup(name, kind)]


def publish(server: bind.BindServer, bits: int, state: str = "present") -> list[bool]:
    """Run the module for each record set to write, twice, and tell which runs changed something."""
    nsupdate = module("community.general.nsupdate")
    current = [
        {"name": name, "type": kind, "ttl": 3600, "values": list(server.lookup(name, kind))}
        for name, kind in NAMES
    ]
    tsig = server.keys["mail"]
    access = {"server": server.address, "port": server.port, "key_name": tsig.name}
    access |= {"key_secret": tsig.secret, "key_algorithm": tsig.algorithm}
    changed = []
    for call in records_for(record_sets(neutral(bits), current, state), "nsupdate", DOMAIN):
        changed.append(run_module(nsupdate.main, call | access)["changed"])
        assert not run_module(nsupdate.main, call | access)["changed"]
    return changed


class Hetzner:
    """The records of one zone behind Hetzner's interface, in place of its module's HTTP helper."""

    def __init__(self, *records: tuple[str, str]) -> None:
        self._numbers = itertools.count(1)
        self.records: dict[str, dict[str, Any]] = {}
        self.written: list[str] = []
        for kind, value in records:
            self._keep({"name": "@", "type": kind, "value": value, "ttl": 3600})

    def fetch_url(
        self, url: str, method: str = "GET", data: bytes | None = None, **_more: Any
    ) -> tuple[bytes, dict[str, Any]]:
        """Answer a request."""
        path = urlsplit(url).path.removeprefix("/api/v1/").split("/")
        answer = self._answer(method, path, json.loads(data or b"{}"))
        info = {"status": 200, "url": url, "content-type": "application/json"}
        return json.dumps(answer).encode(), info

    def _answer(self, method: str, path: list[str], body: dict[str, Any]) -> dict[str, Any]:
        if path == ["zones"]:
            return {"zones": [{"id": "z", "name": DOMAIN}]}
        if method == "GET":
            return {"records": list(self.records.values())}
        if method == "DELETE":
            self.written.append(self.records.pop(path[1])["value"])
            return {}
        if path[-1] == "bulk":
            return {"records": [self._write(record) for record in body["records"]]}
        return {"record": self._write(body, path[1] if method == "PUT" else None)}

    def _write(self, record: dict[str, Any], number: str | None = None) -> dict[str, Any]:
        if number:
            self.written.append(self.records[number]["value"])
        return self._keep(record, number)

    def _keep(self, record: dict[str, Any], number: str | None = None) -> dict[str, Any]:
        number = number or str(next(self._numbers))
        self.records[number] = record | {"id": number, "zone_id": "z"}
        return self.records[number]

    def values(self, name: str, kind: str) -> list[str]:
        """Return the values at a name, as they are kept."""
        found = self.records.values()
        return sorted(r["value"] for r in found if (r["name"], r["type"]) == (name, kind))


@pytest.mark.parametrize("bits", [2048, 4096])
@pytest.mark.parametrize("look_with", [{}, {"txt_transformation": "quoted"}])
def test_hetzner_publishes(
    monkeypatch: pytest.MonkeyPatch, look_with: dict[str, str], bits: int
) -> None:
    """Twice, and withdraws; the records of others are never written."""
    theirs = [("MX", THEIR_MX), ("MX", "30 mail2"), ("TXT", '"caf\u00e9 \\"au lait\\""')]
    account = Hetzner(*theirs, ("TXT", SPF_BEFORE))
    before = account.values("@", "MX"), account.values("@", "TXT")
    hetzner = Modules(account, monkeypatch, **look_with)
    assert hetzner.publish(bits) == [True, True, True]
    (text,) = account.values("service._domainkey", "TXT")
    assert joined(text) == key(bits)
    assert account.values("@", "MX") == ["10 mail.example.net.", THEIR_MX, "30 mail2"]
    assert MERGED_SPF in account.values("@", "TXT")
    assert hetzner.publish(bits) == []
    assert hetzner.publish(bits, "absent") == [True, True, True]
    assert (account.values("@", "MX"), account.values("@", "TXT")) == before
    assert not {value for _kind, value in theirs} & set(account.written)


class Modules:
    """Hetzner's modules, both with an account in place of the network."""

    def __init__(self, account: Hetzner, monkeypatch: pytest.MonkeyPatch, **look_with: str) -> None:
        self._look_with = look_with
        self._write = module("community.dns.hetzner_dns_record_set")
        self._read = module("community.dns.hetzner_dns_record_set_info")
        self._access = {"hetzner_token": "hz-9Lw2xKr5"}
        for one in (self._write, self._read):
            monkeypatch.setattr(one, "ModuleHTTPHelper", lambda _module: account)

    def publish(self, bits: int, state: str = "present") -> list[bool]:
        """Write each record set that is to be, twice, and tell which changed something."""
        changed = []
        rows = record_sets(neutral(bits), [self._look(*name) for name in NAMES], state)
        for call in records_for(rows, "community_dns", DOMAIN):
            changed.append(run_module(self._write.main, call | self._access)["changed"])
            assert not run_module(self._write.main, call | self._access)["changed"]
        return changed

    def _look(self, name: str, kind: str) -> dict[str, Any]:
        which = {"zone": DOMAIN, "record": name, "type": kind, **self._look_with}
        found: dict[str, Any] = run_module(self._read.main, which | self._access)["set"]
        return found
