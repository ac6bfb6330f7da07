# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Asking resolvers: how the world sees a name, DNSSEC included. What they do raises nothing."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, cast

from .messages import plain
from .observation import Answer, Server
from .query import Found, answer_of, find, value_of
from .rrset import Mx
from .spf_lookups import Lookup

with contextlib.suppress(ImportError):
    import dns.rdatatype

if TYPE_CHECKING:
    from dns.rdata import Rdata
    from dns.rdtypes.ANY.NS import NS


class Resolvers:
    """Some recursive resolvers. Threads may share them.

    :param servers: in the order of preference; there may be none, and then nothing is known
    :param timeout: seconds for one question to one resolver
    """

    def __init__(self, servers: Sequence[Server], timeout: float) -> None:
        self.servers = tuple(servers)
        self._timeout = timeout
        self._failed: set[Server] = set()

    def resolve(self, name: str, kind: str) -> tuple[Answer, ...]:
        """Ask each of them for MX or TXT records. The answers are in the order of the servers."""
        if not self.servers:
            return ()
        with ThreadPoolExecutor(len(self.servers)) as pool:
            return tuple(pool.map(lambda server: self._resolved(server, name, kind), self.servers))

    def lookup(self, name: str, kind: str) -> Lookup:
        """Ask them, one after the other, as those do who receive mail. Aliases are followed.

        :param kind: any type that is a text, a name or an address: TXT, MX, A, AAAA, PTR
        """
        found = self._first(name, kind, checking_disabled=False)
        if found.kind != "answered":
            return Lookup("failed")
        values = tuple(text_of(record) for record in found.records)
        return Lookup("found" if values else "void", values)

    def find(self, name: str, kind: str) -> Found:
        """Ask them, one after the other, for records of any type.

        DNSSEC is left aside, so that a zone whose signatures do not hold can be found, too.
        """
        return self._first(name, kind, checking_disabled=True)

    def ask_authority(self, server: Server, name: str, kind: str, zone: str) -> Found:
        """Ask a name server that may be an authority for a name, in the same time."""
        return find(server, name, kind, timeout=self._timeout, zone=zone)

    def _first(self, name: str, kind: str, *, checking_disabled: bool) -> Found:
        """Return the first answer. Who did not give one is asked after the others from then on."""
        found = Found("silent", "there is no resolver to ask")
        for server in sorted(self.servers, key=self._failed.__contains__):
            found = self._ask(server, name, kind, checking_disabled=checking_disabled)
            if found.kind == "answered":
                return found
            self._failed.add(server)
            found = found._replace(detail=f"{server}: {found.detail}")
        return found

    def _resolved(self, server: Server, name: str, kind: str) -> Answer:
        """Ask one of them, and where it says that it failed, whether it is for the signatures."""
        found = self._ask(server, name, kind)
        if found.rcode != "SERVFAIL":
            return answer_of(server, found)
        unchecked = self._ask(server, name, kind, checking_disabled=True)
        if unchecked.kind != "answered":
            return answer_of(server, found)
        # It may have been a passing trouble that was over before the question without checks.
        again = self._ask(server, name, kind)
        if again.rcode != "SERVFAIL":
            return answer_of(server, again)
        return answer_of(server, unchecked)._replace(kind="bogus", detail=again.detail)

    def _ask(
        self, server: Server, name: str, kind: str, *, checking_disabled: bool = False
    ) -> Found:
        return find(
            server,
            name,
            kind,
            timeout=self._timeout,
            recursive=True,
            checking_disabled=checking_disabled,
        )


def text_of(record: Rdata) -> str:
    """Return a record as a text: a TXT record's strings in one, a host name, or an address."""
    if record.rdtype in (dns.rdatatype.MX, dns.rdatatype.TXT):
        value = value_of(record)
        return value.exchange if isinstance(value, Mx) else value.text
    if record.rdtype in (dns.rdatatype.NS, dns.rdatatype.PTR):
        return plain(cast("NS", record).target)
    return record.to_text()
