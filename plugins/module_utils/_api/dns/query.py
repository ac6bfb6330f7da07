# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Query one authoritative server or resolver.

A misbehaving server never causes an exception. Only a complete answer to the query, from a
resolver or a server that is authoritative for the name, has the kind ``answered``. Every other
result has a different kind, so it can't be mistaken for missing records.
"""

from __future__ import annotations

import contextlib
import secrets
import socket
import time
from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast

from .record_types import Mx, Redirection, Txt, Value

with contextlib.suppress(ImportError):
    import dns.exception
    import dns.flags
    import dns.inet
    import dns.message
    import dns.name
    import dns.query
    import dns.rcode
    import dns.rdatatype

if TYPE_CHECKING:
    from dns.message import Message, QueryMessage
    from dns.name import Name
    from dns.rrset import RRset

#: ``answered``: the name has exactly these records, possibly none. The other kinds prove nothing:
#: ``silent`` (no answer in time), ``lame`` (not authoritative for the name), ``failed`` (an error),
#: ``garbled`` (not an answer to the query), ``unfound`` (not queried, because the server's address
#: is unknown). ``bogus`` comes from a validating resolver: the records exist, but their signatures
#: are invalid.
Kind = Literal["answered", "silent", "lame", "failed", "garbled", "unfound", "bogus"]

#: The largest payload that fits into a UDP packet on every network (DNS Flag Day 2020).
_PAYLOAD = 1232
#: The share of the timeout for each attempt over UDP.
_ATTEMPTS = (0.25, 0.25, 0.5)
#: The response codes of servers that don't support EDNS or its version.
_NO_EDNS = ("FORMERR", "NOTIMP", "BADVERS")
MAX_NAME = 253
#: The number of labels in a registry's zone such as ``com.``, including the root's empty label.
_REGISTRY_LABELS = 2


class Server(NamedTuple):
    """One address of a name server.

    :param name: the host name, or an empty string if only the address is known
    :param address: the IP address, or an empty string if it is unknown
    """

    name: str
    address: str
    port: int = 53

    def __str__(self) -> str:
        host = self.address or self.name
        at = f"[{host}]" if ":" in host and self.port != 53 else host
        place = at if self.port == 53 else f"{at}:{self.port}"
        return f"{self.name} ({place})" if self.name and self.address else place


class Answer(NamedTuple):
    """One server's answer for one name and type.

    :param detail: the failure, such as ``REFUSED``
    :param values: the MX or TXT records, possibly none
    :param texts: the text of TXT records, the host of MX and NS records, the primary server of SOA
        records, or the addresses in A and AAAA records
    :param ttl: the TTL in seconds, or None without records
    :param redirection: the name's redirection, or None; if set, ``values`` are those of its target
    :param rcode: the response code, such as ``NXDOMAIN``, or an empty string if there was no
        response
    :param only_wildcard: whether the name only has records from a wildcard
    """

    server: Server
    kind: Kind
    detail: str = ""
    values: tuple[Value, ...] = ()
    ttl: int | None = None
    redirection: Redirection | None = None
    texts: tuple[str, ...] = ()
    rcode: str = ""
    only_wildcard: bool = False

    @property
    def alias(self) -> str | None:
        """The target of a CNAME or DNAME record, or None."""
        redirection = self.redirection
        return redirection.target if redirection and redirection.type != "NS" else None

    def is_like(self, other: Answer) -> bool:
        """Return whether another answer has the same records, in any order."""
        mine, others = (*self.values, *self.texts), (*other.values, *other.texts)
        is_answer = self.kind == other.kind == "answered"
        return is_answer and self.alias == other.alias and set(mine) == set(others)


def require_dnspython() -> None:
    """Check that dnspython is installed.

    :raises ImportError: if dnspython is not installed; the error's ``name`` is ``dnspython``
    """
    try:
        import_module("dns.message")
    except ImportError as error:
        raise ImportError("dnspython is not installed", name="dnspython") from error


def query(
    server: Server,
    name: str,
    kind: str,
    *,
    timeout: float,
    zone: str = "",
    recursive: bool = False,
    checking_disabled: bool = False,
) -> Answer:
    """Query a server for the records of a name.

    :param timeout: the timeout in seconds, which applies to UDP and, if the answer is truncated,
        again to TCP
    :param zone: the zone of the name, or an empty string if unknown. A server that is authoritative
        for a parent zone does not know the records in this zone.
    :param recursive: whether the server is a resolver; otherwise it must be authoritative
    :param checking_disabled: ask a resolver to answer even if DNSSEC signatures are invalid
    """
    try:
        message = dns.message.make_query(name, kind, use_edns=0, payload=_PAYLOAD)
    except (dns.exception.DNSException, UnicodeError):
        # An SPF record may contain a name that is invalid in DNS and so can't have records.
        return Answer(server, "answered", rcode="NXDOMAIN")
    message.flags = dns.flags.Flag(
        (dns.flags.RD if recursive else 0) | (dns.flags.CD if checking_disabled else 0)
    )
    try:
        response = _exchange(server, message, timeout)
        if dns.rcode.to_text(response.rcode()) in _NO_EDNS:
            message.use_edns(edns=None)
            response = _exchange(server, message, timeout)
    except (dns.exception.Timeout, TimeoutError):
        return Answer(server, "silent", "it timed out")
    except (dns.exception.DNSException, EOFError):
        return Answer(server, "garbled", "its answer can't be read")
    except ValueError:
        return Answer(server, "unfound", "its address is not known")
    except OSError as error:
        return Answer(server, "silent", error.strerror or type(error).__name__)
    return answer_of(server, response, zone, recursive=recursive)


def _exchange(server: Server, message: Message, timeout: float) -> Message:
    """Send a query over UDP, with retries, and over TCP if the answer is truncated.

    :raises OSError: if the server can't be reached
    :raises ValueError: if the server's address is unknown
    :raises dns.exception.DNSException: if the answer is missing or invalid
    """
    for part in _ATTEMPTS:
        expiration = time.time() + timeout * part
        with socket.socket(dns.inet.af_for_address(server.address), socket.SOCK_DGRAM) as link:
            # A connected socket only receives from this server and reports a closed port.
            link.connect(dns.inet.low_level_address_tuple((server.address, server.port)))
            link.settimeout(0)
            dns.query.send_udp(link, message.to_wire(), None, expiration)
            try:
                received: Any = dns.query.receive_udp(
                    link,
                    expiration=expiration,
                    raise_on_truncation=True,
                    ignore_errors=True,
                    query=message,
                )
                return cast("Message", received[0])
            except dns.message.Truncated:
                return dns.query.tcp(message, server.address, timeout, server.port)
            except dns.exception.Timeout:
                continue
    raise dns.exception.Timeout


def answer_of(
    server: Server, response: Message, zone: str = "", *, recursive: bool = False
) -> Answer:
    """Return the answer in a response. See ``query`` for the parameters."""
    rcode = dns.rcode.to_text(response.rcode())

    def failure(kind: Kind, detail: str, redirection: Redirection | None = None) -> Answer:
        return Answer(server, kind, detail, redirection=redirection, rcode=rcode)

    if rcode not in ("NOERROR", "NXDOMAIN"):
        return failure("lame" if rcode in ("REFUSED", "NOTAUTH") else "failed", rcode)
    if not recursive and not response.flags & dns.flags.AA:
        # Some networks send all queries on port 53 to a resolver.
        is_resolver = response.flags & dns.flags.RA
        detail = "a resolver answered" if is_resolver else "its answer is not authoritative"
        redirection = None if response.answer else _delegation(response)
        return failure(
            "lame", f"it refers to {redirection.target}" if redirection else detail, redirection
        )
    name = response.question[0].name
    try:
        chain = cast("QueryMessage", response).resolve_chaining()
    except dns.exception.DNSException:
        return failure("garbled", "its answer contradicts itself")
    redirection = _alias(response, name, chain.canonical_name)
    if chain.answer:
        records = list(chain.answer)
        values = tuple(sorted(value for value in map(_value_of, records) if value))
        texts, ttl = tuple(map(_text_of, records)), chain.answer.ttl
        return Answer(server, "answered", "", values, ttl, redirection, texts, rcode)
    if redirection is not None:
        return Answer(server, "answered", redirection=redirection, rcode=rcode)
    if response.answer:
        return failure("garbled", "it answered with other records")
    return _read_empty(server, response, name, zone, recursive=recursive)._replace(rcode=rcode)


def _read_empty(
    server: Server, response: Message, name: Name, zone: str, *, recursive: bool
) -> Answer:
    """Return the answer in a response without records.

    Its kind is ``answered`` only if the response proves that no records exist (RFC 2308).
    """
    zones = _owners(response.authority, "SOA")
    answered_for = next(filter(name.is_subdomain, zones), None)
    if recursive:
        can_resolve = response.flags & (dns.flags.RA | dns.flags.AA)
        # Some forwarders omit the zone's SOA record.
        if answered_for or (can_resolve and not _owners(response.authority, "NS")):
            return Answer(server, "answered")
        return Answer(server, "lame", "it does not resolve names")
    if answered_for is None:
        return Answer(server, "garbled", "its answer is empty and does not name the zone")
    # If the zone is unknown, accept any zone except a registry's.
    is_within = answered_for.is_subdomain(dns.name.from_text(zone))
    if is_within and (zone or len(answered_for) > _REGISTRY_LABELS):
        return Answer(server, "answered")
    return Answer(server, "lame", f"it answers for {plain(answered_for) or 'the root'}")


def plain(name: Name) -> str:
    """Return a name in lower case without the trailing dot. The root is an empty string."""
    return name.to_text().lower().removesuffix(".")


def _owners(section: Iterable[RRset], kind: str) -> list[Name]:
    wanted = dns.rdatatype.from_text(kind)
    return [rrset.name for rrset in section if rrset.rdtype == wanted]


def _delegation(response: Message) -> Redirection | None:
    for rrset in response.authority:
        if rrset.rdtype == dns.rdatatype.NS:
            hosts = sorted(plain(cast("Any", record).target) for record in rrset)
            return Redirection("NS", plain(rrset.name), ", ".join(hosts))
    return None


def _alias(response: Message, name: Name, target: Name) -> Redirection | None:
    """Return the CNAME or DNAME record that makes a name an alias, or None."""
    if name == target:
        return None
    for owner in _owners(response.answer, "DNAME"):
        if name != owner and name.is_subdomain(owner):
            return Redirection("DNAME", plain(owner), plain(target))
    return Redirection("CNAME", plain(name), plain(target))


def _value_of(record: Any) -> Value | None:
    if record.rdtype == dns.rdatatype.MX:
        return Mx(record.preference, plain(record.exchange))
    return Txt(record.strings) if record.rdtype == dns.rdatatype.TXT else None


def _text_of(record: Any) -> str:
    value = _value_of(record)
    if value is not None:
        return value.exchange if isinstance(value, Mx) else value.text
    host = getattr(record, "target", None) or getattr(record, "mname", None)
    return plain(host) if host is not None else str(record.to_text())


def upwards(name: str) -> Iterator[str]:
    """Yield a name and all its parents except the root."""
    while name:
        yield name
        name = name.partition(".")[2]


def random_names(name: str) -> tuple[str, str]:
    """Return a random child and a random sibling of a name, to recognize a wildcard's records.

    The name's records come from a wildcard only if both random names have the same records. The
    sibling alone also has them if the wildcard's records were copied to the name itself. The child
    alone also has them if there is another wildcard below the name.
    If the child would be too long for DNS, the sibling is returned twice.
    """
    label = secrets.token_hex(8)
    parent = name.partition(".")[2]
    beside = f"{label[: MAX_NAME - len(parent) - 1]}.{parent}"
    below = f"{label}.{name}"
    return (below if len(below) <= MAX_NAME else beside), beside
