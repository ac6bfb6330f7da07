# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Asking one name server one question, and telling what its answer is worth.

Nothing that a server does raises here. Only a whole answer to this very question, from an
authority for it or from a resolver, is ``answered``; everything else has another kind, and never
looks like records that are not there.
"""

from __future__ import annotations

import contextlib
import errno
import socket
import time
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple, cast

from ..errors import redact
from .messages import delegation, dname, no_authority, owners, plain
from .observation import Answer, Kind, Redirection, Server
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
    from dns.message import Message
    from dns.name import Name
    from dns.rdata import Rdata
    from dns.rdtypes.ANY.MX import MX
    from dns.rdtypes.ANY.TXT import TXT
    from dns.rrset import RRset

#: What fits into a datagram everywhere (DNS Flag Day 2020).
_PAYLOAD = 1232
#: When a question is sent by UDP, as parts of the time that there is.
_SENDINGS = (0.0, 0.25, 0.5)
#: The answers of servers that do not know EDNS, or not this version of it.
_NO_EDNS = ("FORMERR", "NOTIMP", "BADVERS")
#: One, and that of the root, which ends every name.
_LABELS_OF_A_REGISTRY = 2
_NOT_IN_CHARGE = ("REFUSED", "NOTAUTH")
_NOWHERE = "this machine has no route to that address"
#: The last one is for an address of the local network that does not say which.
_NO_ROUTE = (
    errno.ENETUNREACH,
    errno.EHOSTUNREACH,
    errno.EADDRNOTAVAIL,
    errno.EAFNOSUPPORT,
    errno.EINVAL,
)


class NoReply(Exception):
    """Nothing came that answers the question.

    :param detail: a clause for people
    :param sent: whether the server may have seen the question
    """

    def __init__(self, kind: Kind, detail: str, *, sent: bool = True) -> None:
        super().__init__(detail)
        self.kind = kind
        self.detail = detail
        self.sent = sent


class Found(NamedTuple):
    """What one server said, with records of any type as dnspython has them.

    :param rcode: such as ``NXDOMAIN``; empty where no answer came
    :param ttl: seconds; None where there are no records
    :param alias: where CNAME records lead to in this answer, or None
    :param redirection: see `Answer`
    """

    kind: Kind
    detail: str = ""
    rcode: str = ""
    records: tuple[Rdata, ...] = ()
    ttl: int | None = None
    alias: str | None = None
    redirection: Redirection | None = None


def ask(server: Server, name: str, kind: str, *, timeout: float, zone: str = "") -> Answer:
    """Ask an authority for the MX or TXT records of a name.

    :param timeout: seconds for all of it: repetitions, TCP, and once more without EDNS
    :param zone: see `find`
    """
    return answer_of(server, find(server, name, kind, timeout=timeout, zone=zone))


def answer_of(server: Server, found: Found) -> Answer:
    """Return what a server said, as plain values of MX and TXT records."""
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

    :param timeout: seconds for all of it
    :param zone: the one that an authority is to answer for, or one below it, where that is known.
        Who answers for one above does not know what is in this one
    :param recursive: the server is a resolver; else it has to be an authority for the name
    :param checking_disabled: a resolver is to answer even where DNSSEC signatures do not hold
    """
    try:
        query = dns.message.make_query(name, kind, use_edns=0, payload=_PAYLOAD)
    except (dns.exception.DNSException, UnicodeError):
        # A name that does not fit into DNS, as an SPF record may mention: nothing can be there.
        return Found("answered", rcode="NXDOMAIN")
    query.flags = dns.flags.Flag(
        (dns.flags.RD if recursive else 0) | (dns.flags.CD if checking_disabled else 0)
    )
    try:
        return _judged(query, _exchange(server, query, timeout), zone, recursive=recursive)
    except NoReply as failure:
        return Found(failure.kind, failure.detail)


def values_of(records: Iterable[Rdata]) -> tuple[Value, ...]:
    """Return MX or TXT records as plain values, in an order that does not change."""
    return tuple(sorted(map(value_of, records)))


def value_of(record: Rdata) -> Value:
    """Return an MX or TXT record as plain values."""
    if record.rdtype == dns.rdatatype.MX:
        mx = cast("MX", record)
        return Mx(mx.preference, plain(mx.exchange))
    return Txt(cast("TXT", record).strings)


def has_route(server: Server) -> bool:
    """Tell whether this machine knows a way to an address. Nothing is sent."""
    try:
        _connect(server, socket.SOCK_DGRAM, time.monotonic() + 1).close()
    except NoReply as failure:
        return failure.detail != _NOWHERE
    return True


def upwards(name: str) -> Iterator[str]:
    """Yield a name and all names above it, but the root."""
    while name:
        yield name
        name = name.partition(".")[2]


# What an answer is worth


def _judged(query: Message, response: Message, zone: str, *, recursive: bool) -> Found:
    rcode = dns.rcode.to_text(response.rcode())
    if rcode not in ("NOERROR", "NXDOMAIN"):
        kind: Kind = "lame" if rcode in _NOT_IN_CHARGE else "failed"
        return Found(kind, _with_reason(response, rcode), rcode)
    if not recursive and not response.flags & dns.flags.AA:
        return Found("lame", no_authority(response), rcode, redirection=delegation(response))
    name, rrset = _followed(query, response)
    asked = query.question[0].name
    alias, above = None, None
    if name != asked:
        alias, above = plain(name), dname(response, asked, name)
    if rrset:
        return Found("answered", "", rcode, tuple(rrset), rrset.ttl, alias, above)
    if alias is not None:
        return Found("answered", "", rcode, alias=alias, redirection=above)
    return _nothing(query, response, zone, recursive=recursive)._replace(rcode=rcode)


def _followed(query: Message, response: Message) -> tuple[Name, RRset | None]:
    """Return the records asked for, and the name that CNAME records in the answer lead to."""
    question = query.question[0]
    name = question.name
    seen = {name}
    while True:
        rrset = response.get_rrset(response.answer, name, question.rdclass, question.rdtype)
        alias = response.get_rrset(response.answer, name, question.rdclass, dns.rdatatype.CNAME)
        if rrset or not alias or alias[0].target in seen:
            return name, rrset
        name = alias[0].target
        seen.add(name)


def _nothing(query: Message, response: Message, zone: str, *, recursive: bool) -> Found:
    if response.answer:
        return Found("garbled", "it answered with other records than those asked for")
    name = query.question[0].name
    zones = owners(response.authority, "SOA")
    answered_for = next(filter(name.is_subdomain, zones), None)
    if recursive:
        return _nothing_resolved(response, answered_for)
    return _nothing_held(answered_for, zone)


def _nothing_held(answered_for: Name | None, zone: str) -> Found:
    """Tell an authority's word that there are no such records from what only looks so (RFC 2308).

    :param answered_for: the zone that it says it is from
    """
    if answered_for is None:
        return Found("garbled", "its answer is empty and does not name the zone")
    is_within = answered_for.is_subdomain(dns.name.from_text(zone))
    # Where it is not known which zone it should be, it is at least no registry's.
    if is_within and (zone or len(answered_for) > _LABELS_OF_A_REGISTRY):
        return Found("answered")
    above = plain(answered_for) or "the root"
    return Found("lame", f"it answers for {above}, and not for the zone of the name")


def _nothing_resolved(response: Message, answered_for: Name | None) -> Found:
    """Tell a resolver's word that there are no such records from what only looks so."""
    can_resolve = response.flags & (dns.flags.RA | dns.flags.AA)
    # Not every forwarder hands the zone's SOA record on.
    if answered_for or (can_resolve and not owners(response.authority, "NS")):
        return Found("answered")
    return Found("lame", "it does not look names up for others")


def _with_reason(response: Message, rcode: str) -> str:
    """Return an error with what the server says of it (RFC 8914)."""
    reasons = []
    for option in response.options:
        if isinstance(option, dns.edns.EDEOption):
            words = [option.code.name.replace("_", " "), option.text or ""]
            reasons.append(": ".join(filter(None, words)))
    text = f"{rcode} ({', '.join(reasons)})" if reasons else rcode
    return redact("".join(filter(str.isprintable, text)), ())


# How it comes


def _exchange(server: Server, query: Message, timeout: float) -> Message:
    until = time.monotonic() + timeout
    response = _exchange_once(server, query, until)
    if dns.rcode.to_text(response.rcode()) in _NO_EDNS:
        query.use_edns(edns=None)
        response = _exchange_once(server, query, until)
    return response


def _exchange_once(server: Server, query: Message, until: float) -> Message:
    response = _over_udp(server, query, until)
    if not response.flags & dns.flags.TC:
        return response
    try:
        return over_tcp(server, query, until)
    except NoReply as failure:
        detail = f"its answer was cut over UDP, and over TCP {failure.detail}"
        raise NoReply(failure.kind, detail) from None
    except dns.exception.DNSException:
        detail = "its answer was cut over UDP, and over TCP what came cannot be read"
        raise NoReply("garbled", detail) from None


def over_tcp(server: Server, query: Message, until: float) -> Message:
    """Send a message, signed or not, over TCP and return the answer to it.

    :param until: when the time is up, by the monotonic clock
    :raises NoReply: no whole message came
    :raises dns.exception.DNSException: it cannot be read, or its signature does not hold
    """
    with _connected(server, socket.SOCK_STREAM, until) as link:
        link.settimeout(0)  # dnspython waits by itself
        return dns.query.tcp(query, server.address, until - time.monotonic(), sock=link)


def _over_udp(server: Server, query: Message, until: float) -> Message:
    """Send a question, repeatedly, and listen all the time: a late answer is as good."""
    wire = query.to_wire()
    start = time.monotonic()
    strange: list[str] = []
    ends = [start + (until - start) * part for part in (*_SENDINGS[1:], 1.0)]
    with _connected(server, socket.SOCK_DGRAM, until) as link:
        for end in ends:
            link.send(wire)
            response = _listen(link, query, end, strange)
            if response:
                return response
    if strange:
        raise NoReply("garbled", strange[-1])
    raise _out_of_time()


def _listen(link: socket.socket, query: Message, end: float, strange: list[str]) -> Message | None:
    """Wait for an answer to the question. What else comes is noted, and not believed."""
    while (left := end - time.monotonic()) > 0:
        link.settimeout(left)
        try:
            response = _read(link.recv(65535))
        except TimeoutError:
            return None
        except dns.exception.DNSException:
            strange.append("what came cannot be read")
            continue
        if query.is_response(response):
            return response
        strange.append("what came is not an answer to the question")
    return None


def _read(wire: bytes) -> Message:
    try:
        return dns.message.from_wire(wire, raise_on_truncation=True)
    except dns.message.Truncated as cut:
        # It may be cut in the middle of a record, and says so: it is read over TCP anyway.
        return cast("Message", cut.kwargs["message"])


@contextlib.contextmanager
def _connected(server: Server, kind: socket.SocketKind, until: float) -> Iterator[socket.socket]:
    """Give a connection, which for UDP means that nothing from elsewhere is received."""
    link = _connect(server, kind, until)
    with link:
        try:
            yield link
        except (TimeoutError, dns.exception.Timeout):
            raise _out_of_time() from None
        except EOFError:
            raise NoReply("garbled", "the connection ended within the answer") from None
        except OSError as error:
            raise NoReply("silent", _reason(error)) from None


def _connect(server: Server, kind: socket.SocketKind, until: float) -> socket.socket:
    left = until - time.monotonic()
    link = None
    try:
        family, _kind, _protocol, _name, place = socket.getaddrinfo(
            server.address, server.port, type=kind, flags=socket.AI_NUMERICHOST
        )[0]
        link = socket.socket(family, kind)
        link.settimeout(max(left, 0.001))
        link.connect(place)
    except OSError as error:
        if link:
            link.close()
        detail = _out_of_time().detail if isinstance(error, TimeoutError) else _reason(error)
        failure: Kind = "unfound" if isinstance(error, socket.gaierror) else "silent"
        raise NoReply(failure, detail, sent=False) from None
    return link


def _out_of_time() -> NoReply:
    return NoReply("silent", "the time was up")


def _reason(error: OSError) -> str:
    if error.errno == errno.ECONNREFUSED:
        return "nothing listens there"
    if error.errno in _NO_ROUTE:
        return _NOWHERE
    if isinstance(error, socket.gaierror):
        return "its address is not known"
    return error.strerror or type(error).__name__
