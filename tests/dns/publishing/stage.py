# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Where publishing is tested: a real name server, a gate before it, and what is to be published."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import dns.opcode

from ansible_collections.postroom.email.plugins.module_utils._api.applying.publishing import (
    Attempts,
    Published,
    publish,
)
from ansible_collections.postroom.email.plugins.module_utils._api.models import (
    DnsRecord,
    DnsRecordSet,
)
from ansible_collections.postroom.email.plugins.module_utils._api.names import parse_domain
from ansible_collections.postroom.email.plugins.module_utils._api.nameservers.keys import Key
from ansible_collections.postroom.email.plugins.module_utils._api.nameservers.updating import (
    UpdateServer,
)
from ansible_collections.postroom.email.plugins.module_utils._api.records.lookups import (
    Ask,
    Lookup,
)
from ansible_collections.postroom.email.plugins.module_utils._api.records.observed import Server
from ansible_collections.postroom.email.plugins.module_utils._api.records.sets import wanted_sets
from ansible_collections.postroom.email.tests.fakes.nameserver.habits import (
    Asked,
    Piece,
    late,
    relay,
)
from ansible_collections.postroom.email.tests.fakes.nameserver.server import BadServer, misbehaving
from ansible_collections.postroom.email.tests.support.bind import (
    BindServer,
    TsigKey,
    Zone,
    new_key,
    running,
)
from postroom_service.dkim import new_key as new_dkim_key

HOME = "example.com"
KEY = new_key("mail")
SELECTOR = "service._domainkey"
TTL = 600
SECONDS = 3.0
INCLUDE = "include:mail.example.net"


@functools.cache
def public_key() -> str:
    """Return a public key in base64, always the same one."""
    return new_dkim_key().public_base64


def records_of(domain: str, include: str = INCLUDE) -> DnsRecordSet:
    """Return what the service wants published for a domain."""
    return DnsRecordSet(
        parse_domain(domain, "domain"),
        (
            DnsRecord("MX", "@", "mail.example.net", 10),
            DnsRecord("TXT", "@", f"v=spf1 {include} ~all"),
            DnsRecord("TXT", SELECTOR, f"v=DKIM1; k=rsa; p={public_key()}"),
        ),
    )


def untold(_name: str, _kind: str) -> Lookup:
    """Tell nothing of the rest of the world."""
    return Lookup("failed")


@dataclass
class Gate:
    """Passes messages on to a name server, counts updates, and loses some of them, or answers.

    :param before_update: is called before an update is passed on
    :param lost_answers: how many of the next updates are carried out and not answered
    :param lost_updates: how many of the next updates do not even arrive
    :param is_silent: whether nothing at all is answered
    :param delay: seconds before an answer to a question
    """

    server: BindServer
    updates: int = 0
    lost_answers: int = 0
    lost_updates: int = 0
    is_silent: bool = False
    delay: float = 0.0
    before_update: Callable[[], None] = field(default=lambda: None)

    def __call__(self, asked: Asked) -> list[Piece]:
        """Take a message and return what is answered."""
        pass_on = relay(self.server.address, self.server.port)
        if asked.query.opcode() != dns.opcode.UPDATE:
            return [] if self.is_silent else late(self.delay, pass_on)(asked)
        self.updates += 1
        self.before_update()
        if self.is_silent:
            return []
        if self.lost_updates:
            self.lost_updates -= 1
            return []
        answer = pass_on(asked)
        if self.lost_answers:
            self.lost_answers -= 1
            return []
        return answer


@dataclass
class Stage:
    """A name server and the gate before it."""

    bind: BindServer
    gate: Gate
    front: BadServer

    def server(
        self, key: TsigKey = KEY, *, seconds: float = SECONDS, until: float = math.inf
    ) -> UpdateServer:
        """Return the name server as it is reached through the gate."""
        at = Server("", self.front.address, self.front.port)
        return UpdateServer([at], Key(*key), seconds, until)

    def publish(
        self,
        records: DnsRecordSet,
        *,
        absent: bool = False,
        dry_run: bool = False,
        server: UpdateServer | None = None,
        seconds: float = 20.0,
        ask: Ask = untold,
    ) -> Published:
        """Publish or withdraw a domain's records."""
        return publish(
            wanted_sets(records, TTL),
            server or self.server(),
            absent=absent,
            dry_run=dry_run,
            attempts=Attempts(seconds),
            ask=ask,
        )

    def held(self, domain: str = HOME) -> dict[str, tuple[str, ...]]:
        """Return what the name server holds at the names of a domain's records."""
        asked = {
            "MX": (domain, "MX"),
            "TXT": (domain, "TXT"),
            "DKIM": (f"{SELECTOR}.{domain}", "TXT"),
        }
        return {label: self.bind.lookup(*where) for label, where in asked.items()}


@contextmanager
def stage_with(place: Path, zones: dict[str, Zone | str]) -> Iterator[Stage]:
    """Run a name server with these zones, and a gate before it."""
    with running(place, zones, keys=[KEY]) as bind:
        gate = Gate(bind)
        with misbehaving({("*", "*"): gate}) as front:
            yield Stage(bind, gate, front)


def keys_apart(domain: str) -> tuple[str, str]:
    """Return zone text that delegates a domain's keys, and that of the zone they are in.

    BIND takes no host below a name with an underscore for a name server.
    """
    host = f"ns1.{domain}."
    soa = f"@ IN SOA {host} hostmaster.{domain}. 1 3600 600 86400 60"
    return f"_domainkey NS {host}", f"{soa}\n@ NS {host}"


def mx() -> tuple[str, ...]:
    """Return the MX record as the name server holds it."""
    return ("10 mail.example.net.",)


def spf(*terms: str) -> tuple[str, ...]:
    """Return an SPF record as the name server holds it."""
    return (f'"v=spf1 {" ".join(terms)}"',)


def dkim() -> tuple[str, ...]:
    """Return the DKIM record as the name server holds it, in two strings."""
    text = f"v=DKIM1; k=rsa; p={public_key()}"
    return (f'"{text[:255]}" "{text[255:]}"',)


def all_of_it() -> dict[str, tuple[str, ...]]:
    """Return what the name server holds when all is published and nothing else is there."""
    return {"MX": mx(), "TXT": spf(INCLUDE, "~all"), "DKIM": dkim()}
