# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A BIND server behind a relay that counts, delays and loses updates, and a fake clock."""

from __future__ import annotations

import base64
import hashlib
import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import dns.opcode

from ansible_collections.postroom.email.plugins.module_utils._api.dns.notations import as_rdata
from ansible_collections.postroom.email.plugins.module_utils._api.dns.observe import Servers
from ansible_collections.postroom.email.plugins.module_utils._api.dns.publish import (
    Published,
    publish,
)
from ansible_collections.postroom.email.plugins.module_utils._api.dns.query import Server
from ansible_collections.postroom.email.plugins.module_utils._api.dns.record_types import (
    txt,
    wanted_sets,
)
from ansible_collections.postroom.email.plugins.module_utils._api.dns.spf_lookups import Ask
from ansible_collections.postroom.email.plugins.module_utils._api.dns.update import (
    TsigKey,
    UpdateServer,
)
from ansible_collections.postroom.email.plugins.module_utils._api.dns.verify import (
    Verification,
    Waiting,
    verify,
)
from ansible_collections.postroom.email.plugins.module_utils._api.models import (
    DnsRecord,
    RequiredRecords,
)
from ansible_collections.postroom.email.plugins.module_utils._api.names import parse_domain
from ansible_collections.postroom.email.tests.fakes.nameserver.behaviors import (
    Piece,
    ReceivedQuery,
    relay,
)
from ansible_collections.postroom.email.tests.fakes.nameserver.server import (
    FakeNameserver,
    fake_nameserver,
)
from ansible_collections.postroom.email.tests.support.bind import BindServer, Zone, new_key, running

HOME = "example.com"
KEY = new_key("mail")
SELECTOR = "service._domainkey"
TTL = 600
SECONDS = 5.0
INCLUDE = "include:spf.example.net"
SPF = f"v=spf1 {INCLUDE} ~all"
MX = ("10 mail.example.net.",)


#: A text as long as a 2,048-bit key, which needs two strings.
_KEY = base64.b64encode(b"".join(hashlib.sha256(bytes([n])).digest() for n in range(10))[:294])
DKIM = f"v=DKIM1; k=rsa; p={_KEY.decode()}"
#: The text of the DKIM record as the name server stores it.
DKIM_HELD = (f'"{DKIM[:255]}" "{DKIM[255:]}"',)


def spf(*terms: str) -> tuple[str, ...]:
    """Return an SPF record in the form that the name server stores."""
    return (f'"v=spf1 {" ".join(terms)}"',)


def everything() -> dict[str, tuple[str, ...]]:
    """Return what the name server stores if only the service's records are published."""
    return {"MX": MX, "TXT": spf(INCLUDE, "~all"), "DKIM": DKIM_HELD}


def records_of(domain: str, include: str = INCLUDE) -> RequiredRecords:
    """Return the records that the service requires for a domain."""
    rows = (
        DnsRecord("MX", "@", "mail.example.net", 10),
        DnsRecord("TXT", "@", f"v=spf1 {include} ~all"),
        DnsRecord("TXT", SELECTOR, DKIM),
    )
    return RequiredRecords(parse_domain(domain, "domain"), rows)


def no_answer(_name: str, _kind: str) -> tuple[str, ...] | None:
    """Fail every lookup that is not sent to the name server."""
    return None


@dataclass
class Gate:
    """A relay for messages to a name server.

    :param before_update: called before an update is relayed
    :param lost_answers: how many of the next updates are applied but not answered
    :param lost_updates: how many of the next updates never arrive
    :param is_silent: whether all messages go unanswered
    """

    server: BindServer
    updates: int = 0
    lost_answers: int = 0
    lost_updates: int = 0
    is_silent: bool = False
    delay: float = 0.0
    before_update: Callable[[], None] = field(default=lambda: None)

    def __call__(self, asked: ReceivedQuery) -> list[Piece]:
        """Relay a message, and return the answer."""
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
class BindWithFaults:
    """A name server, and the gate in front of it."""

    bind: BindServer
    gate: Gate
    front: FakeNameserver

    def server(self, *, seconds: float = 3.0, until: float = math.inf) -> UpdateServer:
        """Return a client that sends updates through the gate."""
        at = Server("", self.front.address, self.front.port)
        return UpdateServer([at], TsigKey(*KEY), seconds, until)

    def publish(
        self,
        records: RequiredRecords,
        *,
        absent: bool = False,
        dry_run: bool = False,
        server: UpdateServer | None = None,
        seconds: float = 20.0,
        ask: Ask = no_answer,
    ) -> Published:
        """Publish or withdraw the records of a domain."""
        return publish(
            wanted_sets(records, TTL),
            server or self.server(until=time.monotonic() + seconds),
            absent=absent,
            dry_run=dry_run,
            ask=ask,
        )

    def held(self, domain: str = HOME) -> dict[str, tuple[str, ...]]:
        """Return the name server's records at the names of the domain's required records."""
        return {
            "MX": self.bind.lookup(domain, "MX"),
            "TXT": self.bind.lookup(domain, "TXT"),
            "DKIM": self.bind.lookup(f"{SELECTOR}.{domain}", "TXT"),
        }


@contextmanager
def bind_with_faults(place: Path, zones: dict[str, Zone | str]) -> Iterator[BindWithFaults]:
    """Run a name server with these zones, and a gate in front of it."""
    with running(place, zones, keys=[KEY]) as bind:
        gate = Gate(bind)
        with fake_nameserver({("*", "*"): gate}) as front:
            yield BindWithFaults(bind, gate, front)


def zone(
    domain: str, *more: str, mx: str = MX[0], spf: str = SPF, dkim: str = as_rdata(txt(DKIM))
) -> str:
    """Return the lines of a zone that contains the required records or the given ones.

    :param mx: the MX values, separated by semicolons
    :param dkim: the data of the DKIM record, or an empty string for no record
    """
    lines = [f"{domain}. 300 IN MX {value}" for value in mx.split(";")]
    lines += [f"{domain}. 300 IN TXT {as_rdata(txt(spf))}"]
    lines += [f"service._domainkey.{domain}. 300 IN TXT {dkim}"] if dkim else []
    return "\n".join([*lines, *more])


def asked_of(
    *nameservers: object, resolvers: tuple[object, ...] = (), seconds: float = SECONDS
) -> Servers:
    """Return the servers to query."""
    return Servers.parse(map(str, nameservers), map(str, resolvers), seconds)


def seen(
    domain: str, *nameservers: object, resolvers: tuple[object, ...] = (), seconds: float = SECONDS
) -> Verification:
    """Verify a domain's records at the given servers."""
    return verify(records_of(domain), asked_of(*nameservers, resolvers=resolvers, seconds=seconds))


def statuses(verification: Verification) -> list[str]:
    """Return the statuses of the MX, SPF and DKIM records."""
    return [verdict.status for verdict in verification.verdicts]


def shortfall(verification: Verification) -> str:
    """Return the lines about missing records."""
    return "\n".join(verdict.line for verdict in verification.lacking)


@dataclass
class SimulatedWait:
    """A clock that advances only when the wait sleeps.

    :param on_sleep: functions, one of which is called in each pause
    """

    on_sleep: list[Callable[[], object]] = field(default_factory=list)
    now: float = 1000.0
    pauses: list[float] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    rng: float = 1.0

    def sleep(self, seconds: float) -> None:
        """Advance the clock, and call the next function."""
        self.now += seconds
        self.pauses.append(seconds)
        if self.on_sleep:
            self.on_sleep.pop(0)()

    def wait(
        self,
        home: str,
        server: object,
        resolvers: tuple[object, ...] = (),
        seconds: float = 600,
        each: float = SECONDS,
        *,
        beside: bool = False,
    ) -> Verification:
        """Wait for a domain's records at the given servers."""
        waiting = Waiting(
            seconds, self.lines.append, lambda: self.now, self.sleep, lambda: self.rng, beside
        )
        servers = asked_of(server, resolvers=resolvers, seconds=each)
        return verify(records_of(home), servers, waiting)
