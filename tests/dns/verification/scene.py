# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What a service asks for, and zones that hold it, or something else."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field

from ansible_collections.postroom.email.plugins.module_utils._api.applying.observing import Asked
from ansible_collections.postroom.email.plugins.module_utils._api.applying.verifying import (
    Verification,
    Waiting,
    verify,
    wait,
)
from ansible_collections.postroom.email.plugins.module_utils._api.models import (
    DnsRecord,
    DnsRecordSet,
)
from ansible_collections.postroom.email.plugins.module_utils._api.names import parse_domain
from ansible_collections.postroom.email.plugins.module_utils._api.records.notation import (
    quoted,
    txt_strings,
)
from ansible_collections.postroom.email.plugins.module_utils._api.records.sets import (
    as_lines,
    wanted_sets,
)

#: As long as a key of 2048 bits is, so that it takes two strings.
KEY = base64.b64encode(b"".join(hashlib.sha256(bytes([n])).digest() for n in range(10))[:294])
DKIM = f"v=DKIM1; k=rsa; p={KEY.decode()}"
SPF = "v=spf1 include:spf.example.net ~all"
MX = "10 mail.example.net."
SECONDS = 5.0


def records(domain: str) -> DnsRecordSet:
    """Return what the service asks to publish for a domain."""
    rows = (
        DnsRecord("MX", "@", "mail.example.net", 10),
        DnsRecord("TXT", "@", SPF),
        DnsRecord("TXT", "service._domainkey", DKIM),
    )
    return DnsRecordSet(parse_domain(domain), rows)


def published(domain: str, ttl: int = 300) -> str:
    """Return all of it as lines of a zone file."""
    return as_lines(wanted_sets(records(domain), ttl))


def zone(domain: str, *, mx: str = MX, spf: str = SPF, dkim: str = "", beside: str = "") -> str:
    """Return a zone in which something is as given, and the rest as the service wants it.

    :param mx: its values, separated by semicolons
    :param dkim: the data of the key's record; empty for the wanted one
    :param beside: more lines
    """
    lines = [f"{domain}. 300 IN MX {value}" for value in mx.split(";") if value]
    lines += [f"{domain}. 300 IN TXT {quoted(txt_strings(spf))}"] if spf else []
    key = dkim or quoted(txt_strings(DKIM))
    lines += [f"service._domainkey.{domain}. 300 IN TXT {key}", beside]
    return "\n".join(lines)


def seen(
    domain: str, *nameservers: object, resolvers: tuple[object, ...] = (), seconds: float = SECONDS
) -> Verification:
    """Verify a domain at servers, without caring how long they may take."""
    return verify(records(domain), asked_of(*nameservers, resolvers=resolvers, seconds=seconds))


def asked_of(
    *nameservers: object, resolvers: tuple[object, ...] = (), seconds: float = SECONDS
) -> Asked:
    """Return whom to ask."""
    return Asked.parse(map(str, nameservers), map(str, resolvers), seconds)


def statuses(verification: Verification) -> list[str]:
    """Return the statuses of MX, SPF and DKIM."""
    return [verdict.status for verdict in verification.verdicts]


@dataclass
class Play:
    """A clock that moves when somebody sleeps, and what happens then.

    :param acts: one for each sleep; nothing happens after the last
    """

    acts: list[Callable[[], object]] = field(default_factory=list)
    now: float = 1000.0
    pauses: list[float] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    rng: float = 1.0

    def sleep(self, seconds: float) -> None:
        """Let the time pass, and the next act happen."""
        self.now += seconds
        self.pauses.append(seconds)
        if self.acts:
            self.acts.pop(0)()

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
        """Wait for a domain's records at a server."""
        waiting = Waiting(
            seconds, self.lines.append, lambda: self.now, self.sleep, lambda: self.rng, beside
        )
        return wait(records(home), asked_of(server, resolvers=resolvers, seconds=each), waiting)


def shortfall(verification: Verification) -> str:
    """Return what is told of the records that are lacking, in a line each; "" for none."""
    return "\n".join(verdict.line for verdict in verification.lacking)
