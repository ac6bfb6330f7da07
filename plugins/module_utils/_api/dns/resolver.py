# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause


"""Ask recursive resolvers, and find name servers through them.

No behaviour of a resolver raises an exception, except that the servers of a name were not found.
"""

from __future__ import annotations

import contextlib
import ipaddress
import itertools
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from ..errors import InvalidInput, NameServersNotFound
from .query import MAX_NAME, Answer, Server, query, upwards

with contextlib.suppress(ImportError):
    import dns.resolver

Item = TypeVar("Item")
T = TypeVar("T")

_MAX_CONCURRENCY = 32
#: Each may take seconds to time out.
_MAX_AUTHORITIES = 3
_SERVER = re.compile(r"(?:\[([0-9a-f:.]+)\]|([^:\[\]]+))(?::(\d{1,5}))?", re.ASCII)
_LABEL = r"(?!-)[a-z0-9_-]{1,63}(?<!-)"
# A name that ends with a number is a mistyped address.
_HOST = re.compile(rf"(?:{_LABEL}\.)*(?!\d+$){_LABEL}", re.ASCII)
_EXAMPLES = "192.0.2.1, 192.0.2.1:5353 or [2001:db8::1]:5353"


class Resolvers:
    """Some recursive resolvers. Threads may share them.

    :param servers: in order of preference, maybe none
    :param timeout: seconds for one question to one server
    :param authorities: may be authoritative for some of the names
    """

    def __init__(
        self, servers: Sequence[Server], timeout: float, authorities: Sequence[Server] = ()
    ) -> None:
        self.servers = tuple(servers)
        self._authorities = [(server, "") for server in authorities if server.address]
        self._timeout = timeout
        self._failed: set[Server] = set()

    def lookup(self, name: str, kind: str) -> tuple[str, ...] | None:
        """Return the texts of records, none if there are none, or None if that is not known.

        A resolver that reports no TXT records may filter them, so an authority must confirm it.
        """
        found = self.find(name, kind, checking_disabled=False)
        if found.kind != "answered" or found.texts or kind != "TXT":
            return found.texts if found.kind == "answered" else None
        authorities = self._authorities
        with contextlib.suppress(NameServersNotFound):
            zone, servers = servers_of(name, self)
            authorities = [*authorities, *((server, zone) for server in servers[:_MAX_AUTHORITIES])]
        for server, zone in authorities:
            answer = query(server, name, kind, timeout=self._timeout, zone=zone)
            # An alias may lead to another zone, which this server does not know.
            if answer.kind == "answered" and answer.alias is None:
                return answer.texts
        return None

    def find(self, name: str, kind: str, *, checking_disabled: bool = True) -> Answer:
        """Return the first answer. A resolver that fails is asked after the others from then on.

        :param checking_disabled: don't check DNSSEC, to find a zone with invalid signatures, too
        """
        found = Answer(Server("", ""), "silent", "no resolver is known")
        for server in sorted(self.servers, key=self._failed.__contains__):
            found = self._query(server, name, kind, checking_disabled=checking_disabled)
            if found.kind == "answered":
                return found
            self._failed.add(server)
            found = found._replace(detail=f"{server}: {found.detail}")
        return found

    def resolve(self, name: str, kind: str) -> tuple[Answer, ...]:
        """Ask all of them, and return their answers in order."""
        with ThreadPoolExecutor(len(self.servers) or 1) as pool:
            return tuple(pool.map(lambda server: self._resolve(server, name, kind), self.servers))

    def _resolve(self, server: Server, name: str, kind: str) -> Answer:
        """Ask one of them, and if it fails, find out whether DNSSEC signatures are the reason."""
        found = self._query(server, name, kind)
        if found.rcode != "SERVFAIL":
            return found
        unchecked = self._query(server, name, kind, checking_disabled=True)
        if unchecked.kind != "answered":
            return found
        # It may have been a temporary failure that ended before the question without checks.
        again = self._query(server, name, kind)
        return again if again.rcode != "SERVFAIL" else unchecked._replace(kind="bogus")

    def _query(
        self, server: Server, name: str, kind: str, *, checking_disabled: bool = False
    ) -> Answer:
        return query(
            server,
            name,
            kind,
            timeout=self._timeout,
            recursive=True,
            checking_disabled=checking_disabled,
        )


def system_resolvers(path: str = "/etc/resolv.conf") -> tuple[Server, ...]:
    """Return the resolvers that this machine uses, maybe none."""
    try:
        resolver = dns.resolver.Resolver(path)
    except (dns.resolver.NoResolverConfiguration, ValueError):
        return ()
    return tuple(Server("", str(address)) for address in resolver.nameservers)


def parse_server(text: str, option: str, *, is_resolver: bool = False) -> Server:
    """Parse an address or a host name, with or without a port.

    :param is_resolver: it must be an address
    :raises InvalidInput: it is neither
    """
    given = text.strip().lower()
    match = _SERVER.fullmatch(given)
    if _is_address(given):
        return Server("", given)
    if match and 0 < int(match[3] or 53) < 2**16:
        address, port = match[1] or match[2], int(match[3] or 53)
        host = address.removesuffix(".")
        # Brackets are for IPv6 addresses.
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
    """Return all addresses of name servers, each once, in the order of the servers.

    A host without a known address is returned as it is, so that asking it reports that.
    """
    servers = map_concurrently(list(given), lambda server: _addresses(server, resolvers))
    unique: dict[tuple[str, int], Server] = {}
    for server in itertools.chain.from_iterable(servers.values()):
        unique.setdefault((server.address or server.name, server.port), server)
    return tuple(unique.values())


def _addresses(server: Server, resolvers: Resolvers) -> list[Server]:
    if server.address:
        return [server]
    found = [text for kind in ("A", "AAAA") for text in resolvers.find(server.name, kind).texts]
    return [Server(server.name, text, server.port) for text in found] or [server]


def servers_of(name: str, resolvers: Resolvers) -> tuple[str, tuple[Server, ...]]:
    """Return the zone of a name and all addresses of its authoritative servers.

    :raises NameServersNotFound: the resolvers do not know
    """
    zone, _primary = _zone_of(name, resolvers)
    found = resolvers.find(zone, "NS")
    if not found.texts:
        raise NameServersNotFound(
            f"The name servers of {zone} could not be found "
            f"({found.detail or 'it has no NS records'}).",
            "Set the option nameservers.",
        )
    return zone, addresses([Server(host, "") for host in sorted(found.texts)], resolvers)


def primary_of(name: str, resolvers: Resolvers) -> Server:
    """Return the server that takes updates of the zone of a name.

    :raises NameServersNotFound: the resolvers do not know
    """
    return Server(_zone_of(name, resolvers)[1], "")


def _zone_of(name: str, resolvers: Resolvers) -> tuple[str, str]:
    """Return the name of the zone that holds a name, and its primary server."""
    exists = True
    for candidate in upwards(name):
        found = resolvers.find(candidate, "SOA")
        if found.kind != "answered":
            raise NameServersNotFound(
                f"The name servers of {name} could not be found ({found.detail}).",
                "Set the option nameservers, or set other servers in the option resolvers.",
            )
        if found.texts and found.alias is None:
            # A registry's zone is not that of an unregistered domain.
            if "." not in candidate and not exists:
                break
            return candidate, found.texts[0]
        exists = found.rcode != "NXDOMAIN"
    raise NameServersNotFound(
        f"The resolvers know no zone with {name}.",
        "Register the domain and delegate it, or set the option nameservers.",
    )


def map_concurrently(
    items: Collection[Item], action: Callable[[Item], T], *, most: int = _MAX_CONCURRENCY
) -> dict[Item, T]:
    """Call a function with all items concurrently, and return the results.

    An interrupt does not wait for running calls, which end on their own.
    """
    pool = ThreadPoolExecutor(most)
    try:
        running = {item: pool.submit(action, item) for item in items}
        return {item: future.result() for item, future in running.items()}
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
