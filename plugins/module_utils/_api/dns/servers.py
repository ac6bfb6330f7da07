# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Finding servers: those that options name, the system's resolvers, and a zone's authorities."""

from __future__ import annotations

import contextlib
import ipaddress
import itertools
import re
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, NamedTuple, cast

from ..errors import InvalidInput, NameServersNotFound
from .messages import plain
from .observation import Server
from .query import has_route, upwards
from .resolver import Resolvers, text_of
from .spf_lookups import Ask, Lookup

with contextlib.suppress(ImportError):
    import dns.resolver

if TYPE_CHECKING:
    from dns.rdtypes.ANY.SOA import SOA

_PORT = 53
_MOST_AT_ONCE = 16
#: Each may keep silent for seconds.
_MOST_AUTHORITIES = 3
_LONGEST_NAME = 253
_WITH_PORT = re.compile(r"\[([^\[\]]*)\](?::(\d{1,5}))?|([^:]*):(\d{1,5})", re.ASCII)
_LABEL = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)", re.ASCII)
_EXAMPLES = "192.0.2.1, 192.0.2.1:5353 or [2001:db8::1]:5353"


class Given(NamedTuple):
    """A name server as an option names it.

    :param host: a host name in lower case, without a dot at the end, or an address
    """

    host: str
    port: int = _PORT

    @property
    def is_address(self) -> bool:
        """Whether the host is an address."""
        return _is_address(self.host)


class Zone(NamedTuple):
    """Who is in charge of a name.

    :param name: of the zone, as lower-case A-labels, without a dot at the end
    :param servers: all addresses of all name servers
    """

    name: str
    servers: tuple[Server, ...]


def parse_server(text: str, option: str) -> Given:
    """Read a host name or an address, with or without a port.

    :raises InvalidInput: it is neither; the sentence names the option
    """
    given = _split(text.strip())
    if given is None or not (given.is_address or _is_host(given.host)):
        raise InvalidInput(
            f"{option}: {text!r} is not a name server. Give a host name or an address, and the "
            f"port where it is not {_PORT}, such as ns1.example.net, {_EXAMPLES}."
        )
    return given


def parse_address(text: str, option: str) -> Server:
    """Read an address, with or without a port: names can't be looked up to ask resolvers.

    :raises InvalidInput: it is none; the sentence names the option
    """
    given = _split(text.strip())
    if given is None or not given.is_address:
        raise InvalidInput(
            f"{option}: {text!r} is not the address of a resolver. Give an address, and the port "
            f"where it is not {_PORT}, such as {_EXAMPLES}."
        )
    return Server("", given.host, given.port)


def system_resolvers(path: str = "/etc/resolv.conf") -> tuple[Server, ...]:
    """Return the resolvers that this machine uses; none where it says of none."""
    try:
        resolver = dns.resolver.Resolver(path)
    except (dns.resolver.NoResolverConfiguration, ValueError):
        return ()
    return tuple(Server("", str(address)) for address in resolver.nameservers)


def servers_of(name: str, resolvers: Resolvers) -> Zone:
    """Find the zone of a name and all of its authoritative servers.

    :raises NameServersNotFound: the resolvers do not tell
    """
    zone, _soa = _zone_of(name, resolvers)
    found = resolvers.find(zone, "NS")
    if not found.records:
        raise NameServersNotFound(
            f"The name servers of {zone} could not be found "
            f"({found.detail or 'there are no NS records'}).",
            "Give some in the option nameservers.",
        )
    hosts = sorted(text_of(record) for record in found.records)
    return Zone(zone, addresses([Given(host) for host in hosts], resolvers))


def confirmed(resolvers: Resolvers, servers: Iterable[Server] = ()) -> Ask:
    """Return a lookup through resolvers that confirms a missing text at an authority.

    :param servers: may be authorities for some of the names, and are asked first
    """

    def ask_all(name: str, kind: str) -> Lookup:
        found = resolvers.lookup(name, kind)
        if found.kind != "void" or kind != "TXT":
            return found
        for server, zone in _authorities(name, resolvers, servers):
            answer = resolvers.ask_authority(server, name, kind, zone)
            # An alias may lead to another zone, of which this server knows nothing.
            if answer.kind == "answered" and answer.alias is None:
                texts = tuple(text_of(record) for record in answer.records)
                return Lookup("found" if texts else "void", texts)
        who = ", ".join(map(str, resolvers.servers))
        detail = f"{who} found no TXT record there, and no authoritative name server answered"
        return Lookup("failed", detail=detail)

    return ask_all


def _authorities(
    name: str, resolvers: Resolvers, servers: Iterable[Server]
) -> Iterator[tuple[Server, str]]:
    """Yield servers that may be authorities for a name, each with the zone, if it is known."""
    for server in servers:
        yield server, ""
    with contextlib.suppress(NameServersNotFound):
        zone = servers_of(name, resolvers)
        for server in zone.servers[:_MOST_AUTHORITIES]:
            yield server, zone.name


def primary_of(name: str, resolvers: Resolvers) -> Given:
    """Find the server that the zone of a name has updates sent to.

    :raises NameServersNotFound: the resolvers do not tell
    """
    _zone, soa = _zone_of(name, resolvers)
    return Given(plain(soa.mname))


def addresses(given: Iterable[Given], resolvers: Resolvers) -> tuple[Server, ...]:
    """Return all addresses of name servers, each once, in the order of the servers.

    A host whose address cannot be found stands in the place of its address, so that asking it
    tells that. An address that this machine has no route to is left out where the host has
    another one: that is not the server's fault.
    """
    with ThreadPoolExecutor(_MOST_AT_ONCE) as pool:
        found = list(pool.map(lambda one: _addresses(one, resolvers), given))
    unique: dict[tuple[str, int], Server] = {}
    for server in itertools.chain.from_iterable(found):
        unique.setdefault((server.address, server.port), server)
    return tuple(unique.values())


def _addresses(given: Given, resolvers: Resolvers) -> list[Server]:
    if given.is_address:
        return [Server("", given.host, given.port)]
    servers = [
        Server(given.host, text_of(record), given.port)
        for kind in ("A", "AAAA")
        for record in resolvers.find(given.host, kind).records
    ]
    return [server for server in servers if has_route(server)] or servers or [Server("", *given)]


def _zone_of(name: str, resolvers: Resolvers) -> tuple[str, SOA]:
    """Return the name of the zone that holds a name, and its SOA record."""
    exists = True
    for candidate in upwards(name):
        found = resolvers.find(candidate, "SOA")
        if found.kind != "answered":
            raise NameServersNotFound(
                f"The name servers of {name} could not be found ({found.detail}).",
                "Give some in the option nameservers, or other resolvers in the option resolvers.",
            )
        if found.records and found.alias is None:
            if "." not in candidate and not exists:
                break
            return candidate, cast("SOA", found.records[0])
        exists = found.rcode != "NXDOMAIN"
    raise NameServersNotFound(
        f"{name} is in no zone that the resolvers know.",
        "Register the domain and have it delegated, or give its servers in the option nameservers.",
    )


def _split(text: str) -> Given | None:
    """Return a host in lower case and a port, if that is what it is."""
    if _is_address(text):
        return Given(text.lower())
    match = _WITH_PORT.fullmatch(text)
    if not match:
        return Given(text.lower().removesuffix("."))
    host = (match[1] or match[3] or "").lower().removesuffix(".")
    port = int(match[2] or match[4] or _PORT)
    # In brackets, there are addresses of IPv6.
    is_wrong = match[1] is not None and not (":" in host and _is_address(host))
    return None if is_wrong or not 0 < port < 2**16 else Given(host, port)


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _is_host(text: str) -> bool:
    labels = text.split(".")
    # What ends with a number is an address that was mistyped.
    return (
        all(map(_LABEL.fullmatch, labels))
        and len(text) <= _LONGEST_NAME
        and not labels[-1].isdigit()
    )
