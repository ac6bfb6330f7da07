# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A BIND name server behind a gate that counts, delays and loses updates."""

from __future__ import annotations

import base64
import hashlib
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
from ansible_collections.postroom.email.tests.fakes.nameserver.habits import Asked, Piece, relay
from ansible_collections.postroom.email.tests.fakes.nameserver.server import BadServer, misbehaving
from ansible_collections.postroom.email.tests.support.bind import BindServer, Zone, new_key, running

HOME = "example.com"
KEY = new_key("mail")
SELECTOR = "service._domainkey"
TTL = 600
INCLUDE = "include:spf.example.net"
MX = ("10 mail.example.net.",)


#: As long as a key of 2048 bits, so that it takes two strings.
_KEY = base64.b64encode(b"".join(hashlib.sha256(bytes([n])).digest() for n in range(10))[:294])
DKIM = f"v=DKIM1; k=rsa; p={_KEY.decode()}"
#: As the name server holds it.
DKIM_HELD = (f'"{DKIM[:255]}" "{DKIM[255:]}"',)


def spf(*terms: str) -> tuple[str, ...]:
    """Return an SPF record as the name server holds it."""
    return (f'"v=spf1 {" ".join(terms)}"',)


def everything() -> dict[str, tuple[str, ...]]:
    """Return what the name server holds when only the service's records are published."""
    return {"MX": MX, "TXT": spf(INCLUDE, "~all"), "DKIM": DKIM_HELD}


def records_of(domain: str, include: str = INCLUDE) -> DnsRecordSet:
    """Return the records that the service wants for a domain."""
    rows = (
        DnsRecord("MX", "@", "mail.example.net", 10),
        DnsRecord("TXT", "@", f"v=spf1 {include} ~all"),
        DnsRecord("TXT", SELECTOR, DKIM),
    )
    return DnsRecordSet(parse_domain(domain, "domain"), rows)


def no_answer(_name: str, _kind: str) -> Lookup:
    """Fail every look-up outside the name server."""
    return Lookup("failed")


@dataclass
class Gate:
    """Relays messages to a name server.

    :param before_update: called before an update is relayed
    :param lost_answers: how many of the next updates are applied without an answer
    :param lost_updates: how many of the next updates never arrive
    :param is_silent: whether nothing is answered
    """

    server: BindServer
    updates: int = 0
    lost_answers: int = 0
    lost_updates: int = 0
    is_silent: bool = False
    delay: float = 0.0
    before_update: Callable[[], None] = field(default=lambda: None)

    def __call__(self, asked: Asked) -> list[Piece]:
        """Relay a message and return the answer."""
        pass_on = relay(self.server.address, self.server.port)
        if asked.query.opcode() != dns.opcode.UPDATE:
            pieces = [] if self.is_silent else pass_on(asked)
            return [piece._replace(after=self.delay) for piece in pieces]
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

    def server(self, *, seconds: float = 3.0, until: float = math.inf) -> UpdateServer:
        """Return a client that updates through the gate."""
        at = Server("", self.front.address, self.front.port)
        return UpdateServer([at], Key(*KEY), seconds, until)

    def publish(
        self,
        records: DnsRecordSet,
        *,
        absent: bool = False,
        dry_run: bool = False,
        server: UpdateServer | None = None,
        seconds: float = 20.0,
        ask: Ask = no_answer,
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
        return {
            "MX": self.bind.lookup(domain, "MX"),
            "TXT": self.bind.lookup(domain, "TXT"),
            "DKIM": self.bind.lookup(f"{SELECTOR}.{domain}", "TXT"),
        }


@contextmanager
def stage_with(place: Path, zones: dict[str, Zone | str]) -> Iterator[Stage]:
    """Run a name server with these zones, and a gate before it."""
    with running(place, zones, keys=[KEY]) as bind:
        gate = Gate(bind)
        with misbehaving({("*", "*"): gate}) as front:
            yield Stage(bind, gate, front)
