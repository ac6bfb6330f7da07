# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""The objects of a tenant: domains, mailboxes, forwarders, and the DNS records of a domain.

The API calls the first three principals. An ``individual`` with members is a forwarder, one
without members is a mailbox.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, NamedTuple, TypeVar, Union

from .names import Name


@dataclass(frozen=True, slots=True)
class Domain:
    """A mail domain."""

    name: Name
    kind: ClassVar[str] = "domain"

    @property
    def addresses(self) -> frozenset[Name]:
        """Empty: only mailboxes and forwarders have addresses."""
        return frozenset()

    def as_dict(self) -> dict[str, Any]:
        """Return it as modules return it."""
        return {"name": str(self.name)}


@dataclass(frozen=True, slots=True)
class Mailbox:
    """A mailbox and its aliases, without its primary address."""

    name: Name
    aliases: frozenset[Name] = frozenset()
    kind: ClassVar[str] = "mailbox"

    @property
    def addresses(self) -> frozenset[Name]:
        """Every address that delivers here."""
        return self.aliases | {self.name}

    def as_dict(self) -> dict[str, Any]:
        """Return it as modules return it."""
        return {"name": str(self.name), "aliases": spelled(self.aliases)}


@dataclass(frozen=True, slots=True)
class Forwarder:
    """A forwarder: sends mail to any of its addresses to all members."""

    name: Name
    aliases: frozenset[Name] = frozenset()
    members: frozenset[Name] = frozenset()
    kind: ClassVar[str] = "forwarder"

    @property
    def addresses(self) -> frozenset[Name]:
        """Every address that delivers here."""
        return self.aliases | {self.name}

    def as_dict(self) -> dict[str, Any]:
        """Return it as modules return it."""
        return {
            "name": str(self.name),
            "members": spelled(self.members),
            "aliases": spelled(self.aliases),
        }


@dataclass(frozen=True, slots=True)
class UnmanagedPrincipal:
    """A principal of a kind that the collection does not manage. It owns its addresses."""

    name: Name
    kind: str
    addresses: frozenset[Name] = frozenset()

    def as_dict(self) -> dict[str, Any]:
        """Return it as modules return it."""
        return {"name": str(self.name), "kind": self.kind}


#: What the list of each kind is called, in definitions and in results.
SECTIONS = {Domain.kind: "domains", Mailbox.kind: "mailboxes", Forwarder.kind: "forwarders"}
#: How problems and options name an alias.
ALIAS = "alias"

# Union, because pylint reads the bar between classes as arithmetic.
Individual = Union[Mailbox, Forwarder]  # noqa: UP007
Principal = Union[Domain, Mailbox, Forwarder, UnmanagedPrincipal]  # noqa: UP007
Action = Literal["create", "update", "delete"]
AnIndividual = TypeVar("AnIndividual", bound=Individual)


@dataclass(frozen=True, slots=True)
class Edit:
    """Names to add to a principal's lists and to remove from them.

    The API replaces whole lists. An edit is applied to the list as it is when it is written.
    """

    add_aliases: frozenset[Name] = frozenset()
    remove_aliases: frozenset[Name] = frozenset()
    add_members: frozenset[Name] = frozenset()
    remove_members: frozenset[Name] = frozenset()

    def applied_to(self, current: AnIndividual) -> AnIndividual:
        """Return ``current`` with the edit applied; equal to ``current`` if nothing changes."""
        if self == NO_EDIT:
            return current
        aliases = (current.aliases - self.remove_aliases) | self.add_aliases
        if isinstance(current, Forwarder):
            members = (current.members - self.remove_members) | self.add_members
            return replace(current, aliases=aliases, members=members)
        return replace(current, aliases=aliases)


NO_EDIT = Edit()


class DnsRecord(NamedTuple):
    """A record as the service returns it; ``host`` is ``@`` or relative to the domain."""

    type: str
    host: str
    value: str
    priority: int | None = None


class DnsRecordSet(NamedTuple):
    """The records to publish for a domain, in the service's order."""

    domain: Name
    records: tuple[DnsRecord, ...]


def password_flaw(password: str) -> str | None:
    """Return why no mail program could use a password, and what to do, or None if it could.

    The sentence does not contain the password.
    """
    if not password:
        return "is empty. Give it in full, or leave it out."
    if password[-1] in "\r\n":
        return (
            "ends with a line break, which no mail program can send. A YAML block with | adds "
            "one: write the password in quotes on one line."
        )
    if any(character < " " or "\x7f" <= character <= "\x9f" for character in password):
        return (
            "contains a control character, which no mail program can send. Write the password "
            "in quotes on one line, without escapes such as \\t or \\0."
        )
    if password.isspace():
        return "contains only spaces. Choose another password."
    return None


def spelled(names: frozenset[Name]) -> list[str]:
    """Return names as strings, in a stable order."""
    return [str(name) for name in sorted(names)]


def respelled(principal: Principal, names: Iterable[Name]) -> Principal:
    """Return the principal with its names spelled as in ``names``, if they are among them."""
    spelling = {name: name for name in names}

    def own(name: Name) -> Name:
        return spelling.get(name, name)

    if isinstance(principal, Forwarder):
        principal = replace(principal, members=frozenset(map(own, principal.members)))
    if isinstance(principal, (Mailbox, Forwarder)):
        principal = replace(principal, aliases=frozenset(map(own, principal.aliases)))
    return replace(principal, name=own(principal.name))


def shown(action: Action, kind: str, name: object, reason: str) -> dict[str, str]:
    """Return a change as modules return it.

    :param reason: a clause
    """
    return {"action": action, "kind": kind, "name": str(name), "reason": reason}
