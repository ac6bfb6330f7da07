# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Domains that are published, published again, given another key and withdrawn, at all providers.

Each provider is a host of one playbook, so that they are worked on side by side. The domains are
written in capitals and with letters that DNS does not have.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from ansible_collections.postroom.email.plugins.module_utils._api.names import parse_domain
from ansible_collections.postroom.email.tests.dns.role.providers import PROVIDERS, Provider
from ansible_collections.postroom.email.tests.dns.role.rig import (
    Rig,
    Run,
    dkim_text,
    exchange_key,
    register,
)
from ansible_collections.postroom.email.tests.support.service import RunningService

#: It gets the mail before the service, and stays.
THEIR_MX = "5 first.example.net."
HOSTS = ("barred", "full")
THEIR_SPF = '"v=spf1 mx -all"'
THEIR_TEXT = '"site-verification=Zm9v; a b"'


class Held(NamedTuple):
    """What a provider holds: the values at the domain, and those of its DKIM record."""

    mx: tuple[str, ...]
    texts: tuple[str, ...]
    dkim: tuple[str, ...]


class Step(NamedTuple):
    """One run of the role at all providers.

    :param held: what each provider holds after it
    :param keys: the DKIM text that the service asks for, by provider
    :param writes: the requests that could change something, by provider, where they are seen
    """

    run: Run
    held: dict[str, Held]
    keys: dict[str, str]
    writes: dict[str, list[str]]


class World:
    """The providers that are there, each with a zone of its own that others use, too."""

    def __init__(
        self, service: RunningService, providers: Mapping[str, Provider], rig: Rig
    ) -> None:
        self.providers = providers
        self._service = service
        self._rig = rig
        for provider in providers.values():
            names = (provider.zone, *(f"{host}.{provider.zone}" for host in HOSTS))
            register(service, *names)
            provider.put(provider.zone, "MX", THEIR_MX)
            provider.put(provider.zone, "TXT", THEIR_SPF, THEIR_TEXT)

    def step(self, *options: str, **variables: Any) -> Step:
        """Run the role, and look."""
        self._writes()
        run = self._rig.run(
            {name: _variables(name, p) | variables for name, p in self.providers.items()}, *options
        )
        domains = {name: provider.zone for name, provider in self.providers.items()}
        return self._seen(run, domains)

    def barred(self) -> Step:
        """Try it for domains within the zones, where everything is in the way.

        And, as the host ``full``, at Cloudflare where it does not take the text.
        """
        domains = {name: f"barred.{provider.zone}" for name, provider in self.providers.items()}
        hosts = {}
        for name, provider in self.providers.items():
            provider.put(domains[name], "MX", "0 .")
            provider.put(domains[name], "TXT", THEIR_SPF, '"v=spf1 -all"')
            provider.put(f"service._domainkey.{domains[name]}", "CNAME", "keys.example.net.")
            hosts[name] = _within(name, provider, domains[name].upper())
        cloudflare = self.providers["cloudflare"]
        full = f"full.{cloudflare.zone}"
        cloudflare.put(full, "TXT", THEIR_SPF)
        hosts["full"] = _within("cloudflare", cloudflare, full)
        step = self._seen(self._rig.run(hosts, fails=True), domains)
        return step._replace(held=step.held | {"full": _held(cloudflare, full)})

    def exchange_keys(self) -> None:
        """Give every domain a key of 4096 bits."""
        public = rsa.generate_private_key(public_exponent=65537, key_size=4096).public_key()
        encoded = public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
        for provider in self.providers.values():
            exchange_key(self._service, provider.zone, base64.b64encode(encoded).decode())

    def _seen(self, run: Run, domains: Mapping[str, str]) -> Step:
        """Return a run with what each provider holds of a domain after it."""
        held = {name: _held(self.providers[name], domain) for name, domain in domains.items()}
        keys = {name: dkim_text(self._service, domain) for name, domain in domains.items()}
        return Step(run, held, keys, self._writes())

    def _writes(self) -> dict[str, list[str]]:
        return {n: p.take_writes() for n, p in self.providers.items() if p.take_writes}


@contextmanager
def running_world(service: RunningService, folder: Path) -> Iterator[World]:
    """Run all providers that this machine has the programs for."""
    with ExitStack() as stack:
        providers: dict[str, Provider] = {}
        for name, run in PROVIDERS.items():
            place = folder / name
            place.mkdir()
            try:
                zone = parse_domain(_written(name)).key
                providers[name] = stack.enter_context(run(zone, place))
            except pytest.skip.Exception:
                continue
        # Nobody waits for the slowest.
        settings = {"ANSIBLE_STRATEGY": "ansible.builtin.free", "ANSIBLE_FORKS": "6"}
        settings |= {k: v for provider in providers.values() for k, v in provider.settings.items()}
        yield World(service, providers, Rig(folder, service, settings))


def _written(name: str) -> str:
    """Return the zone at a provider as somebody may write it."""
    return f"B\u00fccher-{name}.EXAMPLE"


def _within(name: str, provider: Provider, domain: str) -> dict[str, Any]:
    within = {"dns_domains": [domain], "dns_zone": f"{_written(name)}."}
    return _variables(name, provider) | within


def _variables(name: str, provider: Provider) -> dict[str, Any]:
    ours = {"dns_provider": name, "dns_domains": [_written(name)]}
    asking = {"dns_verify": provider.answers, "dns_wait_timeout": 20}
    return {**ours, **asking, **provider.variables}


def _held(provider: Provider, domain: str) -> Held:
    return Held(
        provider.lookup(domain, "MX"),
        provider.lookup(domain, "TXT"),
        provider.lookup(f"service._domainkey.{domain}", "TXT"),
    )
