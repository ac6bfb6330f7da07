# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Verification of domains: a domain is verified once its DKIM record is found in DNS.

Only the owner of a domain can publish the key that the service generated for it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator
from typing import Any, NamedTuple

import dns.asyncresolver
import dns.exception
import dns.nameserver
import dns.resolver
from sqlalchemy import Connection, Select, bindparam, select, update

from postroom_common.database import Database

from . import dkim
from .store import tables

#: Seconds between database queries for unverified domains.
INTERVAL = 1.0
#: Timeout of a DNS query in seconds.
QUERY_TIMEOUT = 10.0
#: Minimum and maximum seconds between checks of a domain.
MIN_DELAY, MAX_DELAY = 1.0, 3600.0
MAX_CONCURRENT = 8

log = logging.getLogger("postroom_service")

_key, _principal = tables.dkim_key.c, tables.principal.c
_DOMAINS = select(
    _principal.id, _principal.name, _principal.created_at, _key.public_base64, _key.verified_at
).join_from(tables.dkim_key, tables.principal)
_VERIFY = (
    update(tables.dkim_key)
    .where(_key.principal_id == bindparam("id"), _key.verified_at.is_(None))
    .values(verified_at=bindparam("now"))
)


class VerificationError(Exception):
    """DNS can't be queried. The exception's message is intended for the operator."""


class Domain(NamedTuple):
    """A domain and its public DKIM key."""

    id: int
    name: str
    created_at: int
    public_base64: str
    verified_at: int | None


class Verifier:
    """A verifier that looks for domains' DKIM records in DNS.

    :param resolvers: the address and port of each resolver; None for the system's resolvers
    :raises VerificationError: if the system has no configured resolvers
    """

    def __init__(self, database: Database, resolvers: list[tuple[str, int]] | None) -> None:
        self._database = database
        try:
            self._resolver = dns.asyncresolver.Resolver(configure=resolvers is None)
        except dns.resolver.NoResolverConfiguration:
            raise VerificationError(
                "no DNS resolver is configured on this host: set --resolvers"
            ) from None
        if resolvers is not None:
            self._resolver.nameservers = [
                dns.nameserver.Do53Nameserver(host, port) for host, port in resolvers
            ]
        self._due: dict[int, float] = {}

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Check unverified domains in the background."""
        task = asyncio.create_task(self._run())
        try:
            yield
        finally:
            task.cancel()

    async def _run(self) -> None:
        while True:
            try:
                await self._check_due()
            except Exception:  # the next check may succeed
                log.exception("domains could not be checked")
            await asyncio.sleep(INTERVAL)

    async def _check_due(self) -> None:
        """Check all domains that are due. The older a domain is, the less often it is checked."""
        pending = await asyncio.to_thread(
            self._database.read,
            lambda connection: _domains(connection, _DOMAINS.where(_key.verified_at.is_(None))),
        )
        now = time.time()
        self._due = {domain.id: self._due.get(domain.id, 0) for domain in pending}
        due = [domain for domain in pending if self._due[domain.id] <= now]
        for domain in due:
            age = now - domain.created_at
            self._due[domain.id] = now + min(max(age / 4, MIN_DELAY), MAX_DELAY)
        queries = asyncio.Semaphore(MAX_CONCURRENT)

        async def check(domain: Domain) -> bool:
            async with queries:
                try:
                    await self.verify(domain)
                except VerificationError:
                    return False
            return True

        answered = await asyncio.gather(*map(check, due))
        if not all(answered):
            log.warning("%d DNS queries for domains failed", answered.count(False))

    async def verify(self, domain: Domain) -> bool:
        """Return whether a domain's DKIM record is in DNS, and if so, mark the domain as verified.

        :raises VerificationError: if the DNS query fails
        """
        record = f"{dkim.SELECTOR}._domainkey.{domain.name}"
        try:
            answer = await self._resolver.resolve(record, "TXT", lifetime=QUERY_TIMEOUT)
        except (dns.resolver.NXDOMAIN, dns.resolver.NoAnswer):
            return False
        except dns.exception.DNSException as error:
            raise VerificationError(f"the DNS query for {record} failed ({error})") from None
        found = ["".join(part.decode("ascii", "replace") for part in row.strings) for row in answer]
        if not any(dkim.has_key(value, domain.public_base64) for value in found):
            return False
        given = {"id": domain.id, "now": int(time.time())}
        await asyncio.to_thread(
            self._database.write, lambda connection: connection.execute(_VERIFY, given)
        )
        log.info("a domain is verified")
        return True


def find(connection: Connection, name: str | None) -> Domain | None:
    """Return a domain of any tenant, or None if it isn't registered."""
    return next(iter(_domains(connection, _DOMAINS.where(_principal.name == name))), None)


def _domains(connection: Connection, query: Select[Any]) -> list[Domain]:
    return [Domain._make(row) for row in connection.execute(query)]
