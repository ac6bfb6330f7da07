# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What a name server may do when it is asked: rightly, wrongly, slowly or not at all.

A habit gets the question and returns what is sent, piece by piece.
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


class Asked(NamedTuple):
    """A question as it came: ``query`` holds what else there is to know, and ``wire`` its bytes."""

    query: dns.message.Message
    wire: bytes
    over_tcp: bool

    @property
    def name(self) -> str:
        """The name asked for, in lower case, without a dot at the end."""
        return self.query.question[0].name.to_text(omit_final_dot=True).lower()

    @property
    def kind(self) -> str:
        """The type asked for."""
        return dns.rdatatype.to_text(self.query.question[0].rdtype)


class Piece(NamedTuple):
    """Something to send.

    :param after: seconds to wait before
    :param elsewhere: from another port (by UDP)
    :param framed: with its length before it (by TCP)
    """

    data: bytes
    after: float = 0.0
    elsewhere: bool = False
    framed: bool = True


Habit = Callable[[Asked], list[Piece]]


def answer(*values: str, ttl: int = 3600, aa: bool = True, ra: bool = False) -> Habit:
    """Answer with these records, each as zone-file text, of the type that is asked for."""

    def habit(asked: Asked) -> list[Piece]:
        response = _response(asked, aa=aa)
        response.flags |= dns.flags.RA if ra else 0
        response.answer.append(_rrset(asked.name, asked.kind, *values, ttl=ttl))
        return [Piece(response.to_wire(max_size=LARGEST))]

    return habit


def nothing_there(rcode: str = "NOERROR", *, soa: str | None = None, aa: bool = True) -> Habit:
    """Answer that there are no such records, with the SOA record of a zone, or without any.

    :param soa: the zone's name; empty for the root
    """

    def habit(asked: Asked) -> list[Piece]:
        response = _response(asked, rcode, aa=aa)
        if soa is not None:
            text = "ns1.example. hostmaster.example. 1 3600 600 86400 60"
            response.authority.append(_rrset(soa, "SOA", text))
        return [Piece(response.to_wire())]

    return habit


def failing(rcode: str, *, error: int | None = None, text: str = "") -> Habit:
    """Answer with an error, and with an extended one (RFC 8914) where its code is given."""

    def habit(asked: Asked) -> list[Piece]:
        response = _response(asked, rcode, aa=False)
        if error is not None:
            response.use_edns(options=[dns.edns.EDEOption(dns.edns.EDECode(error), text)])
        return [Piece(response.to_wire())]

    return habit


refused: Habit = failing("REFUSED")


def referral(zone: str, *hosts: str) -> Habit:
    """Answer that others know."""

    def habit(asked: Asked) -> list[Piece]:
        response = _response(asked, aa=False)
        response.authority.append(_rrset(zone, "NS", *(f"{host}." for host in hosts)))
        return [Piece(response.to_wire())]

    return habit


def alias(target: str, *values: str, of: str | None = None) -> Habit:
    """Answer with a CNAME record, and the records there; or ``of`` another owner than asked."""

    def habit(asked: Asked) -> list[Piece]:
        response = _response(asked)
        response.answer.append(_rrset(of or asked.name, "CNAME", f"{target}."))
        if values:
            response.answer.append(_rrset(target, asked.kind, *values))
        return [Piece(response.to_wire())]

    return habit


def another_name(name: str, *values: str) -> Habit:
    """Answer the question with the records of another name."""

    def habit(asked: Asked) -> list[Piece]:
        response = _response(asked)
        response.answer.append(_rrset(name, asked.kind, *values))
        return [Piece(response.to_wire())]

    return habit


def silent(_asked: Asked) -> list[Piece]:
    """Say nothing."""
    return []


def garbage(_asked: Asked) -> list[Piece]:
    """Send bytes that are no message."""
    return [Piece(b"HTTP/1.1 400 Bad Request\r\n\r\n")]


def wrong_id(habit: Habit) -> Habit:
    """Do as ``habit``, under the number of another question."""
    return _edited(habit, lambda wire: bytes([wire[0] ^ 0xFF]) + wire[1:])


def no_response(habit: Habit) -> Habit:
    """Do as ``habit``, marked as a question."""
    return _edited(habit, lambda wire: wire[:2] + bytes([wire[2] & 0x7F]) + wire[3:])


def wrong_question(habit: Habit) -> Habit:
    """Do as ``habit`` would, had another name been asked for."""

    def other(asked: Asked) -> list[Piece]:
        query = dns.message.make_query(f"other.{asked.name}", asked.kind)
        query.id = asked.query.id
        return habit(asked._replace(query=query))

    return other


def truncated(habit: Habit) -> Habit:
    """Send an empty answer marked as cut over UDP, and do as ``habit`` over TCP."""

    def other(asked: Asked) -> list[Piece]:
        if asked.over_tcp:
            return habit(asked)
        response = _response(asked)
        response.flags |= dns.flags.TC
        return [Piece(response.to_wire())]

    return other


def elsewhere(habit: Habit) -> Habit:
    """Do as ``habit``, from another port."""
    return lambda asked: [piece._replace(elsewhere=True) for piece in habit(asked)]


def late(seconds: float, habit: Habit) -> Habit:
    """Do as ``habit``, after a while."""
    return lambda asked: [piece._replace(after=seconds) for piece in habit(asked)]


def both(first: Habit, second: Habit) -> Habit:
    """Do the one, and then the other, for each question."""
    return lambda asked: [*first(asked), *second(asked)]


def by_turns(*habits: Habit) -> Habit:
    """Do one for each question; the last one for ever."""
    left = list(habits)

    def other(asked: Asked) -> list[Piece]:
        habit = left.pop(0) if len(left) > 1 else left[0]
        return habit(asked)

    return other


def half(habit: Habit) -> Habit:
    """Do as ``habit``, and end the connection in the middle of it."""

    def other(asked: Asked) -> list[Piece]:
        whole = frame(habit(asked)[0].data)
        return [Piece(whole[: len(whole) // 2], framed=False)]

    return other


def dripping(seconds: float, habit: Habit) -> Habit:
    """Do as ``habit``, a byte at a time."""

    def other(asked: Asked) -> list[Piece]:
        whole = frame(habit(asked)[0].data)
        return [Piece(bytes([byte]), after=seconds, framed=False) for byte in whole]

    return other


def without_edns(rcode: str, habit: Habit) -> Habit:
    """Answer with an error to EDNS, and do as ``habit`` without."""
    return lambda asked: (failing(rcode) if asked.query.edns >= 0 else habit)(asked)


def checking(habit: Habit) -> Habit:
    """Do as ``habit`` where checks are disabled, and else fail: a validating resolver's way."""
    bogus = failing("SERVFAIL", error=6, text="no valid signature")
    return lambda asked: (habit if asked.query.flags & dns.flags.CD else bogus)(asked)


def relay(address: str, port: int) -> Habit:
    """Say what another server says, byte by byte. So it is at a port where it cannot listen."""

    def habit(asked: Asked) -> list[Piece]:
        if asked.over_tcp:
            with socket.create_connection((address, port), RELAY_SECONDS) as connection:
                connection.sendall(frame(asked.wire))
                with connection.makefile("rb") as stream:
                    return [Piece(read(stream))]
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams:
            datagrams.settimeout(RELAY_SECONDS)
            datagrams.sendto(asked.wire, (address, port))
            return [Piece(datagrams.recv(LARGEST))]

    return habit


def _response(asked: Asked, rcode: str = "NOERROR", *, aa: bool = True) -> dns.message.Message:
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


def _edited(habit: Habit, edit: Callable[[bytes], bytes]) -> Habit:
    return lambda asked: [piece._replace(data=edit(piece.data)) for piece in habit(asked)]


def frame(message: bytes) -> bytes:
    """Return a message with its length before it, as TCP carries it."""
    return struct.pack("!H", len(message)) + message


def read(stream: BufferedIOBase) -> bytes:
    """Read a message with its length before it."""
    (length,) = struct.unpack("!H", stream.read(2))
    return stream.read(length)
