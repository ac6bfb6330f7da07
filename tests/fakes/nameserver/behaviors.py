# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Ways in which a name server responds to a query: correctly, wrongly, slowly or not at all.

A behavior is a function that takes a query and returns the pieces to send.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable
from io import BufferedIOBase
from typing import NamedTuple

import dns.edns
import dns.flags
import dns.message
import dns.rcode
import dns.rdatatype
import dns.rrset

RELAY_SECONDS = 5.0
LARGEST = 65535


class ReceivedQuery(NamedTuple):
    """A received query. ``query`` is the parsed message, and ``wire`` contains its bytes."""

    query: dns.message.Message
    wire: bytes
    over_tcp: bool

    @property
    def name(self) -> str:
        """The queried name in lower case, without a final dot."""
        return self.query.question[0].name.to_text(omit_final_dot=True).lower()

    @property
    def kind(self) -> str:
        """The queried type."""
        return dns.rdatatype.to_text(self.query.question[0].rdtype)


class Piece(NamedTuple):
    """Data to send.

    :param after: the seconds to wait before sending
    :param elsewhere: whether to send from another port (with UDP)
    :param framed: whether to send the length first (with TCP)
    """

    data: bytes
    after: float = 0.0
    elsewhere: bool = False
    framed: bool = True


Behavior = Callable[[ReceivedQuery], list[Piece]]


def answer(*values: str, ttl: int = 3600, aa: bool = True, ra: bool = False) -> Behavior:
    """Answer with these records of the queried type, each in zone-file format."""

    def behavior(asked: ReceivedQuery) -> list[Piece]:
        response = _response(asked, aa=aa)
        response.flags |= dns.flags.RA if ra else 0
        response.answer.append(_rrset(asked.name, asked.kind, *values, ttl=ttl))
        return [Piece(response.to_wire(max_size=LARGEST))]

    return behavior


def nothing_there(rcode: str = "NOERROR", *, soa: str | None = None, aa: bool = True) -> Behavior:
    """Answer that the records don't exist, with or without the SOA record of a zone.

    :param soa: the zone's name, or an empty string for the root
    """

    def behavior(asked: ReceivedQuery) -> list[Piece]:
        response = _response(asked, rcode, aa=aa)
        if soa is not None:
            text = "ns1.example. hostmaster.example. 1 3600 600 86400 60"
            response.authority.append(_rrset(soa, "SOA", text))
        return [Piece(response.to_wire())]

    return behavior


def failing(rcode: str, *, error: int | None = None, text: str = "") -> Behavior:
    """Answer with an error and, if a code is given, with an extended error (RFC 8914)."""

    def behavior(asked: ReceivedQuery) -> list[Piece]:
        response = _response(asked, rcode, aa=False)
        if error is not None:
            response.use_edns(options=[dns.edns.EDEOption(dns.edns.EDECode(error), text)])
        return [Piece(response.to_wire())]

    return behavior


refused: Behavior = failing("REFUSED")


def referral(zone: str, *hosts: str) -> Behavior:
    """Answer with a referral to other servers."""

    def behavior(asked: ReceivedQuery) -> list[Piece]:
        response = _response(asked, aa=False)
        response.authority.append(_rrset(zone, "NS", *(f"{host}." for host in hosts)))
        return [Piece(response.to_wire())]

    return behavior


def alias(target: str, *values: str, of: str | None = None) -> Behavior:
    """Answer with a CNAME record and its target's records, possibly for another owner name."""

    def behavior(asked: ReceivedQuery) -> list[Piece]:
        response = _response(asked)
        response.answer.append(_rrset(of or asked.name, "CNAME", f"{target}."))
        if values:
            response.answer.append(_rrset(target, asked.kind, *values))
        return [Piece(response.to_wire())]

    return behavior


def another_name(name: str, *values: str) -> Behavior:
    """Answer with the records of another name."""

    def behavior(asked: ReceivedQuery) -> list[Piece]:
        response = _response(asked)
        response.answer.append(_rrset(name, asked.kind, *values))
        return [Piece(response.to_wire())]

    return behavior


def silent(_asked: ReceivedQuery) -> list[Piece]:
    """Send nothing."""
    return []


def garbage(_asked: ReceivedQuery) -> list[Piece]:
    """Send bytes that are not a DNS message."""
    return [Piece(b"HTTP/1.1 400 Bad Request\r\n\r\n")]


def wrong_id(behavior: Behavior) -> Behavior:
    """Respond like ``behavior``, but with the ID of another query."""
    return _edited(behavior, lambda wire: bytes([wire[0] ^ 0xFF]) + wire[1:])


def no_response(behavior: Behavior) -> Behavior:
    """Respond like ``behavior``, but with the flags of a query."""
    return _edited(behavior, lambda wire: wire[:2] + bytes([wire[2] & 0x7F]) + wire[3:])


def wrong_question(behavior: Behavior) -> Behavior:
    """Respond like ``behavior``, but with another name in the question."""

    def other(asked: ReceivedQuery) -> list[Piece]:
        query = dns.message.make_query(f"other.{asked.name}", asked.kind)
        query.id = asked.query.id
        return behavior(asked._replace(query=query))

    return other


def truncated(behavior: Behavior) -> Behavior:
    """Send an empty truncated answer over UDP, and respond like ``behavior`` over TCP."""

    def other(asked: ReceivedQuery) -> list[Piece]:
        if asked.over_tcp:
            return behavior(asked)
        response = _response(asked)
        response.flags |= dns.flags.TC
        return [Piece(response.to_wire())]

    return other


def elsewhere(behavior: Behavior) -> Behavior:
    """Respond like ``behavior``, but from another port."""
    return lambda asked: [piece._replace(elsewhere=True) for piece in behavior(asked)]


def late(seconds: float, behavior: Behavior) -> Behavior:
    """Respond like ``behavior``, but after a delay."""
    return lambda asked: [piece._replace(after=seconds) for piece in behavior(asked)]


def both(first: Behavior, second: Behavior) -> Behavior:
    """Do what the first behavior does, and then what the second one does."""
    return lambda asked: [*first(asked), *second(asked)]


def by_turns(*behaviors: Behavior) -> Behavior:
    """Use each behavior for one query, and the last one for all further queries."""
    left = list(behaviors)

    def other(asked: ReceivedQuery) -> list[Piece]:
        behavior = left.pop(0) if len(left) > 1 else left[0]
        return behavior(asked)

    return other


def half(behavior: Behavior) -> Behavior:
    """Respond like ``behavior``, but close the connection in the middle of the answer."""

    def other(asked: ReceivedQuery) -> list[Piece]:
        whole = frame(behavior(asked)[0].data)
        return [Piece(whole[: len(whole) // 2], framed=False)]

    return other


def dripping(seconds: float, behavior: Behavior) -> Behavior:
    """Respond like ``behavior``, but byte by byte."""

    def other(asked: ReceivedQuery) -> list[Piece]:
        whole = frame(behavior(asked)[0].data)
        return [Piece(bytes([byte]), after=seconds, framed=False) for byte in whole]

    return other


def without_edns(rcode: str, behavior: Behavior) -> Behavior:
    """Answer queries that use EDNS with an error, and other queries like ``behavior``."""
    return lambda asked: (failing(rcode) if asked.query.edns >= 0 else behavior)(asked)


def checking(behavior: Behavior) -> Behavior:
    """Apply ``behavior`` if the query disables DNSSEC checks. Otherwise, answer SERVFAIL."""
    bogus = failing("SERVFAIL", error=6, text="no valid signature")
    return lambda asked: (behavior if asked.query.flags & dns.flags.CD else bogus)(asked)


def relay(address: str, port: int) -> Behavior:
    """Forward queries to another server, and return its answers unchanged.

    This makes the other server available on a port that it can't listen on itself.
    """

    def behavior(asked: ReceivedQuery) -> list[Piece]:
        if asked.over_tcp:
            with socket.create_connection((address, port), RELAY_SECONDS) as connection:
                connection.sendall(frame(asked.wire))
                with connection.makefile("rb") as stream:
                    return [Piece(read(stream))]
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams:
            datagrams.settimeout(RELAY_SECONDS)
            datagrams.sendto(asked.wire, (address, port))
            return [Piece(datagrams.recv(LARGEST))]

    return behavior


def _response(
    asked: ReceivedQuery, rcode: str = "NOERROR", *, aa: bool = True
) -> dns.message.Message:
    query = dns.message.make_query(asked.name, asked.kind)
    query.id, query.question = asked.query.id, asked.query.question
    if asked.query.edns >= 0:
        query.use_edns(payload=1232)
    response = dns.message.make_response(query)
    response.flags |= dns.flags.AA if aa else 0
    response.set_rcode(dns.rcode.from_text(rcode))
    return response


def _rrset(name: str, kind: str, *values: str, ttl: int = 3600) -> dns.rrset.RRset:
    return dns.rrset.from_text(f"{name}.", ttl, "IN", kind, *values)


def _edited(behavior: Behavior, edit: Callable[[bytes], bytes]) -> Behavior:
    return lambda asked: [piece._replace(data=edit(piece.data)) for piece in behavior(asked)]


def frame(message: bytes) -> bytes:
    """Return a message preceded by its length, as in DNS over TCP."""
    return struct.pack("!H", len(message)) + message


def read(stream: BufferedIOBase) -> bytes:
    """Read a message preceded by its length."""
    (length,) = struct.unpack("!H", stream.read(2))
    return stream.read(length)
