# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Ask recursive resolvers, and find name servers through them.

The servers to ask come from options, the system's configuration, or the records of a zone. The
behaviour of resolvers raises nothing, except that the servers of a name were not found.
"""

from __future__ import annotations

import contextlib
import ipaddress
import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, NamedTuple, cast

from ..errors import InvalidInput, NameServersNotFound
from .answers import Answer, Server
from .query import Found, answer_of, find, has_route, plain, upwards, value_of
from .rrset import Mx
from .spf_lookups import Ask, Lookup

with contextlib.suppress(ImportError):
    import dns.rdatatype
    import dns.resolver

if TYPE_CHECKING:
    from dns.rdata import Rdata
    from dns.rdtypes.ANY.NS import NS
    from dns.rdtypes.ANY.SOA import SOA

_PORT = 53
_MAX_CONCURRENCY = 16
#: Each may take seconds to time out.
_MAX_AUTHORITIES = 3
_MAX_NAME = 253
_WITH_PORT = re.compile(r"\[([^\[\]]*)\](?::(\d{1,5}))?|([^:]*):(\d{1,5})", re.ASCII)
_LABEL = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)", re.ASCII)
_EXAMPLES = "192.0.2.1, 192.0.2.1:5353 or [2001:db8::1]:5353"


class NameServer(NamedTuple):
    """A name server as an option gives it.

    :param host: a host name in lower case, without a dot at the end, or an address
    """

    host: str
    port: int = _PORT

    @property
    def is_address(self) -> bool:
        """Whether the host is an address."""
        return _is_address(self.host)


class Zone(NamedTuple):
    """The zone of a name.

    :param name: of the zone, as lower-case A-labels, without a dot at the end
    :param servers: all addresses of all name servers
    """

    name: str
    servers: tuple[Server, ...]


class Resolvers:
    """Some recursive resolvers. Threads may share them.

    :param servers: in order of preference, maybe none
    :param timeout: seconds for one question to one resolver
    """

    def __init__(self, servers: Sequence[Server], timeout: float) -> None:
        self.servers = tuple(servers)
        self._timeout = timeout
        self._failed: set[Server] = set()

    def resolve(self, name: str, kind: str) -> tuple[Answer, ...]:
        """Ask all of them for MX or TXT records, and return their answers in order."""
        if not self.servers:
            return ()
        with ThreadPoolExecutor(len(self.servers)) as pool:
            return tuple(pool.map(lambda server: self._resolved(server, name, kind), self.servers))

    def lookup(self, name: str, kind: str) -> Lookup:
        """Ask them, one after the other, as mail servers do. Aliases are followed.

        :param kind: TXT, MX, NS, A or AAAA
        """
        found = self.find(name, kind, checking_disabled=False)
        if found.kind != "answered":
            return Lookup("failed")
        values = tuple(text_of(record) for record in found.records)
        return Lookup("found" if values else "void", values)

    def find(self, name: str, kind: str, *, checking_disabled: bool = True) -> Found:
        """Return the first answer. A resolver that fails is asked after the others from then on.

        :param checking_disabled: don't check DNSSEC, to find a zone with invalid signatures, too
        """
        found = Found("silent", "there is no resolver to ask")
        for server in sorted(self.servers, key=self._failed.__contains__):
            found = self._ask(server, name, kind, checking_disabled=checking_disabled)
            if found.kind == "answered":
                return found
            self._failed.add(server)
            found = found._replace(detail=f"{server}: {found.detail}")
        return found

    def ask_authority(self, server: Server, name: str, kind: str, zone: str) -> Found:
        """Ask a name server that may be an authority for a name, with the same timeout."""
        return find(server, name, kind, timeout=self._timeout, zone=zone)

    def _resolved(self, server: Server, name: str, kind: str) -> Answer:
        """Ask one of them, and if it fails, find out whether DNSSEC signatures are the reason."""
        found = self._ask(server, name, kind)
        if found.rcode != "SERVFAIL":
            return answer_of(server, found)
        unchecked = self._ask(server, name, kind, checking_disabled=True)
        if unchecked.kind != "answered":
            return answer_of(server, found)
        # It may have been a temporary failure that ended before the question without checks.
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
    """Return a record as text: the joined strings of a TXT record, a host name or an address."""
    if record.rdtype in (dns.rdatatype.MX, dns.rdatatype.TXT):
        value = value_of(record)
        return value.exchange if isinstance(value, Mx) else value.text
    if record.rdtype == dns.rdatatype.NS:
        return plain(cast("NS", record).target)
    return record.to_text()


def parse_server(text: str, option: str) -> NameServer:
    """Parse a host name or an address, with or without a port.

    :raises InvalidInput: it is neither
    """
    given = _split(text.strip())
    if given is None or not (given.is_address or _is_host(given.host)):
        raise InvalidInput(
            f"{option}: {text!r} is not a name server. Give a host name or an address, and the "
            f"port if it is not {_PORT}, such as ns1.example.net, {_EXAMPLES}."
        )
    return given


def parse_address(text: str, option: str) -> Server:
    """Parse an address, with or without a port.

    :raises InvalidInput: it is not an address
    """
    given = _split(text.strip())
    if given is None or not given.is_address:
        raise InvalidInput(
            f"{option}: {text!r} is not the address of a resolver. Give an address, and the port "
            f"if it is not {_PORT}, such as {_EXAMPLES}."
        )
    return Server("", given.host, given.port)


def system_resolvers(path: str = "/etc/resolv.conf") -> tuple[Server, ...]:
    """Return the resolvers that this machine uses, maybe none."""
    try:
        resolver = dns.resolver.Resolver(path)
    except (dns.resolver.NoResolverConfiguration, ValueError):
        return ()
    return tuple(Server("", str(address)) for address in resolver.nameservers)


def servers_of(name: str, resolvers: Resolvers) -> Zone:
    """Find the zone of a name and all of its authoritative servers.

    :raises NameServersNotFound: the resolvers do not know
    """
    zone, _soa = _zone_of(name, resolvers)
    found = resolvers.find(zone, "NS")
    if not found.records:
        raise NameServersNotFound(
            f"The name servers of {zone} could not be found "
            f"({found.detail or 'there are no NS records'}).",
            "Set the option nameservers.",
        )
    hosts = sorted(text_of(record) for record in found.records)
    return Zone(zone, addresses([NameServer(host) for host in hosts], resolvers))


def confirmed(resolvers: Resolvers, servers: Iterable[Server] = ()) -> Ask:
    """Return a function that looks names up and confirms a missing text at an authority.

    :param servers: may be authorities for some of the names, and are asked first
    """

    def ask_all(name: str, kind: str) -> Lookup:
        found = resolvers.lookup(name, kind)
        if found.kind != "void" or kind != "TXT":
            return found
        for server, zone in _authorities(name, resolvers, servers):
            answer = resolvers.ask_authority(server, name, kind, zone)
            # An alias may lead to another zone, which this server does not know.
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
    """Yield servers that may be authorities for a name, each with the zone if it is known."""
    for server in servers:
        yield server, ""
    with contextlib.suppress(NameServersNotFound):
        zone = servers_of(name, resolvers)
        for server in zone.servers[:_MAX_AUTHORITIES]:
            yield server, zone.name


def primary_of(name: str, resolvers: Resolvers) -> NameServer:
    """Find the server that takes updates of the zone of a name.

    :raises NameServersNotFound: the resolvers do not know
    """
    _zone, soa = _zone_of(name, resolvers)
    return NameServer(plain(soa.mname))


def addresses(given: Iterable[NameServer], resolvers: Resolvers) -> tuple[Server, ...]:
    """Return all addresses of name servers, each once, in the order of the servers.

    A host without a known address is returned with its name as the address, so that asking it
    reports that. An address without a route from this machine is left out if the host has another.
    """
    with ThreadPoolExecutor(_MAX_CONCURRENCY) as pool:
        found = list(pool.map(lambda one: _addresses(one, resolvers), given))
    unique: dict[tuple[str, int], Server] = {}
    for server in itertools.chain.from_iterable(found):
        unique.setdefault((server.address, server.port), server)
    return tuple(unique.values())


def _addresses(given: NameServer, resolvers: Resolvers) -> list[Server]:
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
                "Set the option nameservers, or set other servers in the option resolvers.",
            )
        if found.records and found.alias is None:
            if "." not in candidate and not exists:
                break
            return candidate, cast("SOA", found.records[0])
        exists = found.rcode != "NXDOMAIN"
    raise NameServersNotFound(
        f"The resolvers know no zone with {name}.",
        "Register the domain and delegate it, or set the option nameservers.",
    )


def _split(text: str) -> NameServer | None:
    """Return a host in lower case and a port, or None for another text."""
    if _is_address(text):
        return NameServer(text.lower())
    match = _WITH_PORT.fullmatch(text)
    if not match:
        return NameServer(text.lower().removesuffix("."))
    host = (match[1] or match[3] or "").lower().removesuffix(".")
    port = int(match[2] or match[4] or _PORT)
    # Brackets are for IPv6 addresses.
    is_wrong = match[1] is not None and not (":" in host and _is_address(host))
    return None if is_wrong or not 0 < port < 2**16 else NameServer(host, port)


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _is_host(text: str) -> bool:
    labels = text.split(".")
    # A text that ends with a number is a mistyped address.
    return (
        all(map(_LABEL.fullmatch, labels)) and len(text) <= _MAX_NAME and not labels[-1].isdigit()
    )
