# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""The answers of name servers as plain values."""

from __future__ import annotations

from typing import Literal, NamedTuple

from . import messages
from .rrset import Value


class Server(NamedTuple):
    """One address of a name server.

    :param name: empty if only the address is known
    """

    name: str
    address: str
    port: int = 53

    def __str__(self) -> str:
        at = f"[{self.address}]" if ":" in self.address and self.port != 53 else self.address
        place = at if self.port == 53 else f"{at}:{self.port}"
        return f"{self.name} ({place})" if self.name else place


#: ``answered``: the name has these records, or certainly none. All other kinds prove nothing:
#: ``silent`` (no answer in time), ``lame`` (not authoritative for the name), ``failed`` (an error),
#: ``garbled`` (not an answer to the question), ``unfound`` (not asked, because the address of the
#: server is unknown). ``bogus`` comes from a validating resolver: the records exist, but their
#: signatures are invalid.
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
        """Return the target of the DNAME record itself, given a name below it."""
        return self.target.removeprefix(name.removesuffix(self.owner))

    @property
    def place(self) -> str:
        """Where records have to be published instead."""
        return f"the name servers {self.target}" if self.type == "NS" else self.target

    def is_below(self, domain: str) -> bool:
        """Return whether only a part of the domain is kept elsewhere."""
        return self.owner.endswith(f".{domain}")

    def problem(self, name: str) -> str:
        """Return why records of a name can't be published in the zone above, as a clause."""
        return messages.text(self._code, name=name, owner=self.owner, target=self.target)

    def remedy(self, *, is_key: bool) -> str:
        """Return what to do, in one sentence.

        :param is_key: a DKIM key is to be published, which may be kept elsewhere
        """
        code = f"{self._code}{'_key' * is_key}_remedy"
        return messages.text(code, owner=self.owner, target=self.target)

    @property
    def _code(self) -> str:
        return "delegated" if self.type == "NS" else "dname"


class Answer(NamedTuple):
    """The answer of one server about one name and type.

    :param detail: the failure, such as ``REFUSED``, or why it is not known what is behind the alias
    :param values: the records, maybe none
    :param ttl: seconds; None if there are no records
    :param alias: the target of a CNAME record, or None. ``values`` are then the records of that
        name in the same answer
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
    """All answers about one name and type.

    :param answers: of each authoritative server
    :param wildcard: the answer of one of these servers for a random name beside it, which only a
        wildcard can answer, or None
    :param resolved: of each recursive resolver
    """

    name: str
    type: str
    answers: tuple[Answer, ...] = ()
    wildcard: Answer | None = None
    resolved: tuple[Answer, ...] = ()
