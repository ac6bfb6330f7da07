# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Zones of domains, how to verify them at given servers, and a clock for waiting."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ansible_collections.postroom.email.plugins.module_utils._api.applying.observing import Asked
from ansible_collections.postroom.email.plugins.module_utils._api.applying.verifying import (
    Verification,
    Waiting,
    verify,
    wait,
)
from ansible_collections.postroom.email.plugins.module_utils._api.records.notation import (
    quoted,
    txt_strings,
)
from ansible_collections.postroom.email.tests.dns.stage import DKIM, INCLUDE, records_of

SPF = f"v=spf1 {INCLUDE} ~all"
MX = "10 mail.example.net."
SECONDS = 5.0


def zone(
    domain: str, *more: str, mx: str = MX, spf: str = SPF, dkim: str = quoted(txt_strings(DKIM))
) -> str:
    """Return a zone's lines: the wanted records, or others in their place, and more.

    :param mx: its values, separated by semicolons
    :param dkim: the data of the key's record; empty for none
    """
    lines = [f"{domain}. 300 IN MX {value}" for value in mx.split(";")]
    lines += [f"{domain}. 300 IN TXT {quoted(txt_strings(spf))}"]
    lines += [f"service._domainkey.{domain}. 300 IN TXT {dkim}"] if dkim else []
    return "\n".join([*lines, *more])


def asked_of(
    *nameservers: object, resolvers: tuple[object, ...] = (), seconds: float = SECONDS
) -> Asked:
    """Return the servers to ask."""
    return Asked.parse(map(str, nameservers), map(str, resolvers), seconds)


def seen(
    domain: str, *nameservers: object, resolvers: tuple[object, ...] = (), seconds: float = SECONDS
) -> Verification:
    """Verify a domain at servers."""
    return verify(records_of(domain), asked_of(*nameservers, resolvers=resolvers, seconds=seconds))


def statuses(verification: Verification) -> list[str]:
    """Return the statuses of MX, SPF and DKIM."""
    return [verdict.status for verdict in verification.verdicts]


def shortfall(verification: Verification) -> str:
    """Return the lines about records that are lacking."""
    return "\n".join(verdict.line for verdict in verification.lacking)


@dataclass
class Play:
    """A clock that advances when the wait sleeps.

    :param acts: what happens in each pause; nothing after the last
    """

    acts: list[Callable[[], object]] = field(default_factory=list)
    now: float = 1000.0
    pauses: list[float] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    rng: float = 1.0

    def sleep(self, seconds: float) -> None:
        """Advance the clock and run the next act."""
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
        return wait(records_of(home), asked_of(server, resolvers=resolvers, seconds=each), waiting)
