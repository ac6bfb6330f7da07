# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Ask one server one question.

The behaviour of servers raises nothing here. Only a whole answer to this question, from a resolver
or an authority for it, is ``answered``. Every other result has its own kind, and never looks like
missing records.
"""

from __future__ import annotations

import contextlib
import errno
import secrets
import socket
import time
from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple, cast

from ..errors import redact
from .answers import Answer, Kind, Redirection, Server
from .rrset import Mx, Txt, Value

with contextlib.suppress(ImportError):
    import dns.edns
    import dns.exception
    import dns.flags
    import dns.message
    import dns.name
    import dns.query
    import dns.rcode
    import dns.rdatatype

if TYPE_CHECKING:
    from dns.message import Message, QueryMessage
    from dns.name import Name
    from dns.rdata import Rdata
    from dns.rdtypes.ANY.MX import MX
    from dns.rdtypes.ANY.TXT import TXT
    from dns.rrset import RRset

#: What fits into a datagram everywhere (DNS Flag Day 2020).
_PAYLOAD = 1232
#: When to send a question by UDP again, and when to give up, as parts of the timeout.
_UDP_ENDS = (0.25, 0.5, 1.0)
#: The answers of servers that do not know EDNS, or not this version of it.
_NO_EDNS = ("FORMERR", "NOTIMP", "BADVERS")
#: A registry's own label, and that of the root, which ends every name.
_MAX_NAME = 253
_LABELS_OF_A_REGISTRY = 2
_NO_ROUTE = "this machine has no route to that address"
_OS_ERRORS = {
    errno.ECONNREFUSED: "nothing listens there",
    errno.ENETUNREACH: _NO_ROUTE,
    errno.EHOSTUNREACH: _NO_ROUTE,
    errno.EADDRNOTAVAIL: _NO_ROUTE,
    errno.EAFNOSUPPORT: _NO_ROUTE,
    # For an address of the local network without an interface.
    errno.EINVAL: _NO_ROUTE,
}


class NoReply(Exception):
    """No answer to the question came.

    :param detail: why, as a clause
    :param sent: whether the server may have received the question
    """

    def __init__(self, kind: Kind, detail: str, *, sent: bool = True) -> None:
        super().__init__(detail)
        self.kind = kind
        self.detail = detail
        self.sent = sent


class Found(NamedTuple):
    """The answer of one server, with records of any type as dnspython has them.

    :param rcode: such as ``NXDOMAIN``; empty without an answer
    :param ttl: seconds; None if there are no records
    :param alias: the target of CNAME records in this answer, or None
    :param redirection: see `Answer`
    """

    kind: Kind
    detail: str = ""
    rcode: str = ""
    records: tuple[Rdata, ...] = ()
    ttl: int | None = None
    alias: str | None = None
    redirection: Redirection | None = None


def require_dnspython() -> None:
    """Raise ImportError if dnspython is not installed.

    :raises ImportError: its ``name`` is the library's
    """
    try:
        import_module("dns.message")
    except ImportError as error:
        raise ImportError("dnspython is not installed", name="dnspython") from error


def ask(server: Server, name: str, kind: str, *, timeout: float, zone: str = "") -> Answer:
    """Ask an authority for the MX or TXT records of a name. See `find`."""
    return answer_of(server, find(server, name, kind, timeout=timeout, zone=zone))


def answer_of(server: Server, found: Found) -> Answer:
    """Return an answer with MX or TXT records as plain values."""
    values = values_of(found.records)
    return Answer(
        server, found.kind, found.detail, values, found.ttl, found.alias, found.redirection
    )


def find(
    server: Server,
    name: str,
    kind: str,
    *,
    timeout: float,
    zone: str = "",
    recursive: bool = False,
    checking_disabled: bool = False,
) -> Found:
    """Ask for the records of a name, of any type.

    :param timeout: seconds for all of it: repetitions, TCP, and again without EDNS
    :param zone: the zone of the name, if known: an authority for a zone above it does not know what
        is in this one
    :param recursive: the server is a resolver; else it has to be an authority for the name
    :param checking_disabled: ask a resolver to answer even if DNSSEC signatures are invalid
    """
    try:
        query = dns.message.make_query(name, kind, use_edns=0, payload=_PAYLOAD)
    except (dns.exception.DNSException, UnicodeError):
        # A name that DNS can't hold, as an SPF record may mention, has no records.
        return Found("answered", rcode="NXDOMAIN")
    query.flags = dns.flags.Flag(
        (dns.flags.RD if recursive else 0) | (dns.flags.CD if checking_disabled else 0)
    )
    end = time.monotonic() + timeout
    try:
        response = _exchange(server, query, end)
        if dns.rcode.to_text(response.rcode()) in _NO_EDNS:
            query.use_edns(edns=None)
            response = _exchange(server, query, end)
    except NoReply as failure:
        return Found(failure.kind, failure.detail)
    return _read(response, query.question[0].name, zone, recursive=recursive)


def values_of(records: Iterable[Rdata]) -> tuple[Value, ...]:
    """Return MX or TXT records as plain values, in a stable order."""
    return tuple(sorted(map(value_of, records)))


def value_of(record: Rdata) -> Value:
    """Return an MX or TXT record as a plain value."""
    if record.rdtype == dns.rdatatype.MX:
        mx = cast("MX", record)
        return Mx(mx.preference, plain(mx.exchange))
    return Txt(cast("TXT", record).strings)


def has_route(server: Server) -> bool:
    """Return whether this machine has a route to an address. Nothing is sent."""
    try:
        connect(server, socket.SOCK_DGRAM, time.monotonic() + 1).close()
    except NoReply as failure:
        return failure.detail != _NO_ROUTE
    return True


def upwards(name: str) -> Iterator[str]:
    """Yield a name and all names above it, except the root."""
    while name:
        yield name
        name = name.partition(".")[2]


def random_names(name: str) -> tuple[str, str]:
    """Return a random name below a name, and one beside it: only a wildcard can answer for both.

    Either could answer like the name itself by chance: the name beside it if somebody copied the
    wildcard's records to the name, the name below it if there is another wildcard there.
    If the name below it would be too long for DNS, both are beside it.
    """
    label = secrets.token_hex(8)
    parent = name.partition(".")[2]
    beside = f"{label[: _MAX_NAME - len(parent) - 1]}.{parent}"
    below = f"{label}.{name}"
    return (below if len(below) <= _MAX_NAME else beside), beside


def plain(name: Name) -> str:
    """Return a name in lower case, without a dot at the end; the root is empty."""
    return name.to_text().lower().removesuffix(".")


def owners(section: Iterable[RRset], kind: str) -> list[Name]:
    """Return the names in one section of an answer that have records of a type."""
    wanted = dns.rdatatype.from_text(kind)
    return [rrset.name for rrset in section if rrset.rdtype == wanted]


def no_authority(response: Message) -> str:
    """Return why a response is not an authority's, as a clause."""
    zones = owners(response.authority, "NS")
    if zones and not response.answer:
        return f"it refers to the servers of {plain(zones[0]) or 'the root'}"
    if response.flags & dns.flags.RA:
        # Some networks redirect all questions at port 53 to a resolver.
        return "a resolver answered, and not an authority"
    return "its answer is not an authority's"


def delegation(response: Message) -> Redirection | None:
    """Return the delegation that a response refers to, or None if it is not a referral."""
    if response.answer or response.flags & dns.flags.AA:
        return None
    for rrset in response.authority:
        if rrset.rdtype == dns.rdatatype.NS:
            hosts = sorted(plain(record.target) for record in rrset)
            return Redirection("NS", plain(rrset.name), ", ".join(hosts))
    return None


def dname(response: Message, name: Name, alias: Name) -> Redirection | None:
    """Return the DNAME record above a name that makes it an alias of another, or None."""
    for owner in owners(response.answer, "DNAME"):
        if name != owner and name.is_subdomain(owner):
            return Redirection("DNAME", plain(owner), plain(alias))
    return None


def over_tcp(server: Server, query: Message, end: float) -> Message:
    """Send a message, signed or not, over TCP and return the response.

    :param end: when to time out, by the monotonic clock
    :raises NoReply: no whole message came
    :raises dns.exception.DNSException: it cannot be read, or its signature is invalid
    """
    with _connected(server, socket.SOCK_STREAM, end) as link:
        return dns.query.tcp(query, server.address, end - time.monotonic(), sock=link)


def _read(response: Message, asked: Name, zone: str, *, recursive: bool) -> Found:
    """Return what a response proves."""
    rcode = dns.rcode.to_text(response.rcode())
    if rcode not in ("NOERROR", "NXDOMAIN"):
        kind: Kind = "lame" if rcode in ("REFUSED", "NOTAUTH") else "failed"
        return Found(kind, _with_reason(response, rcode), rcode)
    if not recursive and not response.flags & dns.flags.AA:
        return Found("lame", no_authority(response), rcode, redirection=delegation(response))
    try:
        chain = cast("QueryMessage", response).resolve_chaining()
    except dns.exception.DNSException:
        return Found("garbled", "its answer contradicts itself", rcode)
    name, rrset = chain.canonical_name, chain.answer
    alias, above = (plain(name), dname(response, asked, name)) if name != asked else (None, None)
    if rrset:
        return Found("answered", "", rcode, tuple(rrset), rrset.ttl, alias, above)
    if alias is not None:
        return Found("answered", "", rcode, alias=alias, redirection=above)
    if response.answer:
        return Found("garbled", "it answered with other records than those asked for", rcode)
    problem = _not_empty(response, asked, zone, recursive=recursive)
    return problem._replace(rcode=rcode) if problem else Found("answered", rcode=rcode)


def _not_empty(response: Message, name: Name, zone: str, *, recursive: bool) -> Found | None:
    """Return why an empty response does not prove that there are no records (RFC 2308), or None."""
    answered_for = next(filter(name.is_subdomain, owners(response.authority, "SOA")), None)
    if recursive:
        can_resolve = response.flags & (dns.flags.RA | dns.flags.AA)
        # Some forwarders drop the zone's SOA record.
        if answered_for or (can_resolve and not owners(response.authority, "NS")):
            return None
        return Found("lame", "it does not look names up for others")
    if answered_for is None:
        return Found("garbled", "its answer is empty and does not name the zone")
    # If the zone is not known, a registry's at least is not it.
    is_within = answered_for.is_subdomain(dns.name.from_text(zone))
    if is_within and (zone or len(answered_for) > _LABELS_OF_A_REGISTRY):
        return None
    above = plain(answered_for) or "the root"
    return Found("lame", f"it answers for {above}, and not for the zone of the name")


def _with_reason(response: Message, rcode: str) -> str:
    """Return an error with the server's explanation (RFC 8914)."""
    reasons = []
    for option in response.options:
        if isinstance(option, dns.edns.EDEOption):
            words = [option.code.name.replace("_", " "), option.text or ""]
            reasons.append(": ".join(filter(None, words)))
    text = f"{rcode} ({', '.join(reasons)})" if reasons else rcode
    return redact("".join(filter(str.isprintable, text)), ())


def _exchange(server: Server, query: Message, end: float) -> Message:
    """Ask over UDP, repeatedly, and over TCP if the answer is cut. A late answer counts, too."""
    start = time.monotonic()
    with _connected(server, socket.SOCK_DGRAM, end) as link:
        for part in _UDP_ENDS:
            # dnspython takes this time by the wall clock.
            expiration = time.time() + start + (end - start) * part - time.monotonic()
            dns.query.send_udp(link, query.to_wire(), None, expiration)
            try:
                received = dns.query.receive_udp(
                    link,
                    expiration=expiration,
                    raise_on_truncation=True,
                    ignore_errors=True,
                    query=query,
                )
                return cast("Message", received[0])
            except dns.message.Truncated:
                break
            except dns.exception.Timeout:
                continue
        else:
            raise dns.exception.Timeout
    try:
        return over_tcp(server, query, end)
    except NoReply as failure:
        detail = f"its answer was cut over UDP, and over TCP {failure.detail}"
        raise NoReply(failure.kind, detail) from None
    except dns.exception.DNSException:
        detail = "its answer was cut over UDP, and over TCP the answer cannot be read"
        raise NoReply("garbled", detail) from None


@contextlib.contextmanager
def _connected(server: Server, kind: socket.SocketKind, end: float) -> Iterator[socket.socket]:
    """Yield a connected socket, which for UDP receives from this server only."""
    with connect(server, kind, end) as link:
        link.settimeout(0)  # dnspython waits by itself
        try:
            yield link
        except (TimeoutError, dns.exception.Timeout):
            raise NoReply("silent", "it timed out") from None
        except EOFError:
            raise NoReply("garbled", "the connection ended within the answer") from None
        except OSError as error:
            raise NoReply("silent", _explained(error)) from None


def connect(server: Server, kind: socket.SocketKind, end: float) -> socket.socket:
    """Return a socket that is connected to a server.

    :raises NoReply: it could not connect; nothing was sent
    """
    link = None
    try:
        family, _kind, _protocol, _name, place = socket.getaddrinfo(
            server.address, server.port, type=kind, flags=socket.AI_NUMERICHOST
        )[0]
        link = socket.socket(family, kind)
        link.settimeout(max(end - time.monotonic(), 0.001))
        link.connect(place)
    except OSError as error:
        if link:
            link.close()
        failure: Kind = "unfound" if isinstance(error, socket.gaierror) else "silent"
        raise NoReply(failure, _explained(error), sent=False) from None
    return link


def _explained(error: OSError) -> str:
    if isinstance(error, TimeoutError):
        return "it timed out"
    if isinstance(error, socket.gaierror):
        return "its address is not known"
    return _OS_ERRORS.get(error.errno or 0) or error.strerror or type(error).__name__
