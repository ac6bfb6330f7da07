# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause


"""Query recursive resolvers and use them to find name servers.

A misbehaving resolver never causes an exception other than NameServersNotFound.
"""

from __future__ import annotations

import contextlib
import ipaddress
import itertools
import re
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from ..concurrency import map_concurrently
from ..errors import InvalidInput, NameServersNotFound
from .query import MAX_NAME, Answer, Server, query, upwards

with contextlib.suppress(ImportError):
    import dns.resolver

#: The maximum number of authoritative servers to query. Each of them may take seconds to time out.
_MAX_AUTHORITIES = 3
_SERVER = re.compile(r"(?:\[([0-9a-f:.]+)\]|([^:\[\]]+))(?::(\d{1,5}))?", re.ASCII)
_LABEL = r"(?!-)[a-z0-9_-]{1,63}(?<!-)"
# A name whose last label is a number is a mistyped address.
_HOST = re.compile(rf"(?:{_LABEL}\.)*(?!\d+$){_LABEL}", re.ASCII)
_EXAMPLES = "192.0.2.1, 192.0.2.1:5353 or [2001:db8::1]:5353"


class Resolvers:
    """A list of recursive resolvers. Threads may share an instance.

    :param servers: the resolvers in order of preference, possibly none
    :param timeout: the timeout of one query to one server, in seconds
    :param authorities: servers that are asked before the zone's own name servers to confirm
        the absence of TXT records
    """

    def __init__(
        self, servers: Sequence[Server], timeout: float, authorities: Sequence[Server] = ()
    ) -> None:
        self.servers = tuple(servers)
        self._authorities = [(server, "") for server in authorities if server.address]
        self._timeout = timeout
        self._query = partial(query, timeout=timeout, recursive=True)
        self._failed: set[Server] = set()

    def confirmed_texts(self, name: str, kind: str) -> tuple[str, ...] | None:
        """Return the texts of a name's records, possibly none, or None if they are unknown.

        Resolvers may filter out TXT records, so an authoritative server must confirm their absence.
        """
        found = self.first_answer(name, kind, checking_disabled=False)
        if found.kind != "answered" or found.texts or kind != "TXT":
            return found.texts if found.kind == "answered" else None
        authorities = self._authorities
        with contextlib.suppress(NameServersNotFound):
            zone, servers = servers_of(name, self)
            authorities = [*authorities, *((server, zone) for server in servers[:_MAX_AUTHORITIES])]
        for server, zone in authorities:
            answer = query(server, name, kind, timeout=self._timeout, zone=zone)
            # An alias may lead to a zone for which this server is not authoritative.
            if answer.kind == "answered" and answer.alias is None:
                return answer.texts
        return None

    def first_answer(self, name: str, kind: str, *, checking_disabled: bool = True) -> Answer:
        """Return the first successful answer. A resolver that fails is queried last from then on.

        :param checking_disabled: skip DNSSEC validation, to also find zones with invalid signatures
        """
        found = Answer(Server("", ""), "silent", "no resolver is known")
        for server in sorted(self.servers, key=self._failed.__contains__):
            found = self._query(server, name, kind, checking_disabled=checking_disabled)
            if found.kind == "answered":
                return found
            self._failed.add(server)
            found = found._replace(detail=f"{server}: {found.detail}")
        return found

    def all_answers(self, name: str, kind: str) -> tuple[Answer, ...]:
        """Query all resolvers and return their answers in order."""
        with ThreadPoolExecutor(len(self.servers) or 1) as pool:
            return tuple(pool.map(lambda server: self._resolve(server, name, kind), self.servers))

    def _resolve(self, server: Server, name: str, kind: str) -> Answer:
        """Query a resolver. If it fails, check whether invalid DNSSEC signatures are the cause."""
        found = self._query(server, name, kind)
        if found.rcode != "SERVFAIL":
            return found
        unchecked = self._query(server, name, kind, checking_disabled=True)
        if unchecked.kind != "answered":
            return found
        # The first failure may have been temporary, and may have been over before the second query.
        again = self._query(server, name, kind)
        return again if again.rcode != "SERVFAIL" else unchecked._replace(kind="bogus")


def system_resolvers(path: str = "/etc/resolv.conf") -> tuple[Server, ...]:
    """Return the resolvers in the system's configuration, possibly none."""
    try:
        resolver = dns.resolver.Resolver(path)
    except (dns.resolver.NoResolverConfiguration, ValueError):
        return ()
    return tuple(Server("", str(address)) for address in resolver.nameservers)


def parse_server(text: str, option: str, *, is_resolver: bool = False) -> Server:
    """Parse an IP address or a host name, with or without a port.

    :param is_resolver: whether to accept only an address
    :raises InvalidInput: if the text is not a valid server
    """
    given = text.strip().lower()
    match = _SERVER.fullmatch(given)
    if _is_address(given):
        return Server("", given)
    if match and 0 < int(match[3] or 53) < 2**16:
        address, port = match[1] or match[2], int(match[3] or 53)
        host = address.removesuffix(".")
        # An IPv6 address with a port must be in brackets.
        if _is_address(address) and bool(match[1]) is (":" in address):
            return Server("", address, port)
        is_host = match[2] and _HOST.fullmatch(host) and len(host) <= MAX_NAME
        if is_host and not is_resolver:
            return Server(host, "", port)
    what = "the address of a resolver" if is_resolver else "a name server"
    example = "" if is_resolver else "ns1.example.net, "
    raise InvalidInput(
        f"{option}: {text!r} is not {what}. Set an address{'' if is_resolver else ' or a name'}, "
        f"with the port if it is not 53, such as {example}{_EXAMPLES}."
    )


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def addresses(given: Iterable[Server], resolvers: Resolvers) -> tuple[Server, ...]:
    """Return all addresses of name servers, without duplicates, in the order of the servers.

    A host without a known address is returned unchanged; a later query to this host reports the
    problem.
    """
    servers = map_concurrently(list(given), lambda server: _addresses(server, resolvers))
    unique: dict[tuple[str, int], Server] = {}
    for server in itertools.chain.from_iterable(servers.values()):
        unique.setdefault((server.address or server.name, server.port), server)
    return tuple(unique.values())


def _addresses(server: Server, resolvers: Resolvers) -> list[Server]:
    if server.address:
        return [server]
    found = [
        text for kind in ("A", "AAAA") for text in resolvers.first_answer(server.name, kind).texts
    ]
    return [Server(server.name, text, server.port) for text in found] or [server]


def servers_of(name: str, resolvers: Resolvers) -> tuple[str, tuple[Server, ...]]:
    """Return the zone of a name and all addresses of its authoritative servers.

    :raises NameServersNotFound: if the resolvers did not find the zone or its name servers
    """
    zone, _primary = _zone_of(name, resolvers)
    found = resolvers.first_answer(zone, "NS")
    if not found.texts:
        raise NameServersNotFound(
            f"The name servers of {zone} could not be found "
            f"({found.detail or 'it has no NS records'}).",
            "Set nameservers.",
        )
    return zone, addresses([Server(host, "") for host in sorted(found.texts)], resolvers)


def primary_of(name: str, resolvers: Resolvers) -> Server:
    """Return the server that accepts updates of a name: the primary server of its zone.

    :raises NameServersNotFound: if the resolvers did not find the zone
    """
    return Server(_zone_of(name, resolvers)[1], "")


def _zone_of(name: str, resolvers: Resolvers) -> tuple[str, str]:
    """Return a name's zone and the zone's primary server."""
    exists = True
    for candidate in upwards(name):
        found = resolvers.first_answer(candidate, "SOA")
        if found.kind != "answered":
            raise NameServersNotFound(
                f"The name servers of {name} could not be found ({found.detail}).",
                "Set nameservers, or list other servers in resolvers.",
            )
        if found.texts and found.alias is None:
            # An unregistered domain has no zone of its own, so this is the registry's zone.
            if "." not in candidate and not exists:
                break
            return candidate, found.texts[0]
        exists = found.rcode != "NXDOMAIN"
    raise NameServersNotFound(
        f"The resolvers found no zone that contains {name}.",
        "Register the domain and delegate it, or set nameservers.",
    )
