# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""The objects of a tenant: domains, mailboxes, forwarders and the DNS records of domains.

In the API, domains, mailboxes and forwarders are principals. An ``individual`` with members is a
forwarder, and one without members is a mailbox.
"""

from __future__ import annotations

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
        """An empty set, because a domain itself receives no mail."""
        return frozenset()

    def as_dict(self) -> dict[str, Any]:
        """Return the domain in the format of a module's result."""
        return {"name": str(self.name)}


@dataclass(frozen=True, slots=True)
class Individual:
    """A mailbox or forwarder. Its aliases don't include the primary address."""

    name: Name
    aliases: frozenset[Name] = frozenset()
    kind: ClassVar[str]

    @property
    def addresses(self) -> frozenset[Name]:
        """The primary address and all aliases."""
        return self.aliases | {self.name}

    def as_dict(self) -> dict[str, Any]:
        """Return the object in the format of a module's result."""
        return {"name": str(self.name), "aliases": spelled(self.aliases)}


@dataclass(frozen=True, slots=True)
class Mailbox(Individual):
    """A mailbox."""

    kind: ClassVar[str] = "mailbox"


@dataclass(frozen=True, slots=True)
class Forwarder(Individual):
    """A forwarder, which sends mail for any of its addresses to all its members."""

    members: frozenset[Name] = frozenset()
    kind: ClassVar[str] = "forwarder"

    def as_dict(self) -> dict[str, Any]:
        """Return the forwarder in the format of a module's result."""
        lists = {"members": spelled(self.members), "aliases": spelled(self.aliases)}
        return {"name": str(self.name), **lists}


@dataclass(frozen=True, slots=True)
class UnmanagedPrincipal:
    """A principal of a kind that the collection does not manage. Its addresses can't be reused."""

    name: Name
    kind: str
    addresses: frozenset[Name] = frozenset()

    def as_dict(self) -> dict[str, Any]:
        """Return the principal in the format of a module's result."""
        return {"name": str(self.name), "kind": self.kind}


#: The key of the list for each kind, in definitions and in results.
SECTIONS = {Domain.kind: "domains", Mailbox.kind: "mailboxes", Forwarder.kind: "forwarders"}
#: The kind of an alias, in problems and options.
ALIAS = "alias"

# Union is used because pylint mistakes | between classes for arithmetic.
Principal = Union[Domain, Individual, UnmanagedPrincipal]  # noqa: UP007
Action = Literal["create", "update", "delete"]
AnIndividual = TypeVar("AnIndividual", bound=Individual)


@dataclass(frozen=True, slots=True)
class Edit:
    """Names to add to and remove from a principal's lists.

    The API replaces whole lists, so an edit is applied to the current list just before the write.
    """

    add_aliases: frozenset[Name] = frozenset()
    remove_aliases: frozenset[Name] = frozenset()
    add_members: frozenset[Name] = frozenset()
    remove_members: frozenset[Name] = frozenset()

    def applied_to(self, current: AnIndividual) -> AnIndividual:
        """Return ``current`` after the edit. The result equals ``current`` if nothing changes."""
        if self == NO_EDIT:
            return current
        aliases = (current.aliases - self.remove_aliases) | self.add_aliases
        if isinstance(current, Forwarder):
            members = (current.members - self.remove_members) | self.add_members
            return replace(current, aliases=aliases, members=members)
        return replace(current, aliases=aliases)


NO_EDIT = Edit()


class DnsRecord(NamedTuple):
    """A DNS record in the service's format; ``host`` is ``@`` or relative to the domain."""

    type: str
    host: str
    value: str
    priority: int | None = None


class RequiredRecords(NamedTuple):
    """The records that the service requires for a domain, in the service's order."""

    domain: Name
    records: tuple[DnsRecord, ...]


def password_flaw(password: str) -> str | None:
    """Return the reason why mail programs can't use a password, and the remedy, or None.

    The text is a predicate without a subject and does not contain the password.
    """
    if not password:
        return "is empty. Set it, or omit it."
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
    """Return names in their original spelling and a stable order."""
    return [str(name) for name in sorted(names)]
