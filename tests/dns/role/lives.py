# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Domains that are published, published again, given another key and withdrawn, at all providers.

Each provider is a host of one playbook, so that they are worked on side by side.
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

from ansible_collections.postroom.email.tests.dns.role.providers import PROVIDERS, Provider
from ansible_collections.postroom.email.tests.dns.role.rig import (
    Rig,
    Run,
    dkim_text,
    exchange_key,
    register,
)
from ansible_collections.postroom.email.tests.support.service import RunningService

THEIR_MX = "20 backup.example.net."
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
            register(service, provider.zone)
            provider.put(provider.zone, "MX", THEIR_MX)
            provider.put(provider.zone, "TXT", THEIR_SPF, THEIR_TEXT)

    def step(self, *options: str, **variables: Any) -> Step:
        """Run the role, and look."""
        self._writes()
        run = self._rig.run(
            {name: _variables(name, p) | variables for name, p in self.providers.items()}, *options
        )
        keys = {name: dkim_text(self._service, p.zone) for name, p in self.providers.items()}
        return Step(run, self.held(), keys, self._writes())

    def exchange_keys(self) -> None:
        """Give every domain a key of 4096 bits."""
        public = rsa.generate_private_key(public_exponent=65537, key_size=4096).public_key()
        encoded = public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
        for provider in self.providers.values():
            exchange_key(self._service, provider.zone, base64.b64encode(encoded).decode())

    def held(self) -> dict[str, Held]:
        """Return what each provider holds at the names of the records."""
        return {name: _held(provider) for name, provider in self.providers.items()}

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
                providers[name] = stack.enter_context(run(f"{name}.example", place))
            except pytest.skip.Exception:
                continue
        # Nobody waits for the slowest.
        settings = {"ANSIBLE_STRATEGY": "ansible.builtin.free"}
        settings |= {k: v for provider in providers.values() for k, v in provider.settings.items()}
        yield World(service, providers, Rig(folder, service, settings))


def _variables(name: str, provider: Provider) -> dict[str, Any]:
    ours = {"dns_provider": name, "dns_domains": [provider.zone]}
    asking = {"dns_verify": provider.answers, "dns_wait_timeout": 20}
    return {**ours, **asking, **provider.variables}


def _held(provider: Provider) -> Held:
    return Held(
        provider.lookup(provider.zone, "MX"),
        provider.lookup(provider.zone, "TXT"),
        provider.lookup(f"service._domainkey.{provider.zone}", "TXT"),
    )
