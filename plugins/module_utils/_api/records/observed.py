# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""What name servers said, as plain values: who was asked what, and what came back."""

from __future__ import annotations

from typing import Literal, NamedTuple

from .sets import Value


class Server(NamedTuple):
    """One address of a name server.

    :param name: empty where only the address is known
    """

    name: str
    address: str
    port: int = 53

    def __str__(self) -> str:
        at = f"[{self.address}]" if ":" in self.address and self.port != 53 else self.address
        place = at if self.port == 53 else f"{at}:{self.port}"
        return f"{self.name} ({place})" if self.name else place


#: ``answered``: the name and its records, or that there are none, for certain. Everything else
#: says nothing of the records: ``silent`` in time, ``lame`` (not an authority for the name),
#: ``failed`` (it says so), ``garbled`` (not an answer to the question), ``unfound`` (nobody was
#: asked, for the server's address is not known). ``bogus`` is a validating resolver's word: the
#: records are there, and their signatures do not hold.
Kind = Literal["answered", "silent", "lame", "failed", "garbled", "unfound", "bogus"]


class Answer(NamedTuple):
    """What one server said of one name and type.

    :param detail: for people, where it is not ``answered``, such as ``REFUSED``, or where it is not
        known what is behind the alias
    :param values: the records; empty where there are none
    :param ttl: seconds; None where there are no records
    :param alias: the name that a CNAME record leads to, or None. ``values`` are then those that
        the same answer gave for that name
    """

    server: Server
    kind: Kind
    detail: str = ""
    values: tuple[Value, ...] = ()
    ttl: int | None = None
    alias: str | None = None


class Observation(NamedTuple):
    """What is known of one name and type.

    :param answers: of each authoritative server
    :param wildcard: the same question for a name beside it that nobody can have published, of one
        of the servers that answered, where that was asked: what comes is a wildcard's
    :param resolved: of each recursive resolver
    """

    name: str
    type: str
    answers: tuple[Answer, ...] = ()
    wildcard: Answer | None = None
    resolved: tuple[Answer, ...] = ()
