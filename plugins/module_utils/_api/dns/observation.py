# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""What name servers said, as plain values: who was asked what, and what came back."""

from __future__ import annotations

from typing import Literal, NamedTuple

from .rrset import Value


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


class Redirection(NamedTuple):
    """Records above a name because of which the name is not kept in the zone above.

    :param type: ``DNAME``, or ``NS`` for a delegation
    :param owner: the name that has these records
    :param target: the alias that the DNAME record makes of the name, or the delegated name servers
    """

    type: Literal["DNAME", "NS"]
    owner: str
    target: str

    def dname_target(self, name: str) -> str:
        """Return what the DNAME record itself names, of which a name below it gets an alias."""
        return self.target.removeprefix(name.removesuffix(self.owner))

    @property
    def place(self) -> str:
        """Where records are to be published instead."""
        return f"the name servers {self.target}" if self.type == "NS" else self.target

    def is_below(self, domain: str) -> bool:
        """Whether only a part of the domain is kept elsewhere."""
        return self.owner.endswith(f".{domain}")

    def problem(self, name: str) -> str:
        """Return why records of a name can't be published in the zone above, as a clause."""
        if self.type == "NS":
            return f"{self.owner} is delegated (NS) to other name servers, {self.target}"
        return f"the DNAME record at {self.owner} makes {name} an alias of {self.target}"

    def remedy(self, *, is_key: bool) -> str:
        """Return what to do about it, in one sentence.

        :param is_key: a DKIM key is to be published, which may be kept elsewhere
        """
        records = "NS records" if self.type == "NS" else "DNAME record"
        if not is_key:
            return f"Delete the {records} at {self.owner}."
        return f"Publish the DKIM key at {self.place}, or delete the {records} at {self.owner}."


class Answer(NamedTuple):
    """What one server said of one name and type.

    :param detail: for people, where it is not ``answered``, such as ``REFUSED``, or where it is not
        known what is behind the alias
    :param values: the records; empty where there are none
    :param ttl: seconds; None where there are no records
    :param alias: the name that a CNAME record leads to, or None. ``values`` are then those that
        the same answer gave for that name
    :param redirection: the DNAME record that makes the alias, or the delegation of the name
    """

    server: Server
    kind: Kind
    detail: str = ""
    values: tuple[Value, ...] = ()
    ttl: int | None = None
    alias: str | None = None
    redirection: Redirection | None = None


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
