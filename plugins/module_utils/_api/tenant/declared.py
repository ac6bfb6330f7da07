# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""The planner's input: the objects that a definition declares, and the passwords to set.

The declared objects are not frozen, because frozen ones take twice as long to create. Treat them as
immutable.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar, NamedTuple

from ..models import Domain, Edit, Forwarder, Individual, Mailbox
from ..names import Name
from .problems import DECLARED_ABSENT, Place, Reason


@dataclass(slots=True)
class Declared:
    """A declared domain, mailbox or forwarder."""

    name: Name
    place: Place | None = field(default=None, compare=False)
    absent: bool = False
    model: ClassVar[type[Domain | Mailbox | Forwarder]]

    @property
    def kind(self) -> str:
        """The kind that the principal with this name must have."""
        return self.model.kind


@dataclass(slots=True)
class DeclaredDomain(Declared):
    """A declared domain.

    :param force: if the domain is declared absent, also delete everything on it
    """

    force: bool = False
    model = Domain


@dataclass(slots=True)
class DeclaredIndividual(Declared):
    """A declared mailbox or forwarder.

    :param reason: the reason why the object is absent, if ``absent`` is set
    :param aliases: the declared aliases, or None to leave all aliases unchanged
    :param absent_aliases: the aliases to remove, each with the reason
    :param purge_aliases: remove every alias that is not in ``aliases``
    """

    reason: Reason = DECLARED_ABSENT
    aliases: frozenset[Name] | None = None
    absent_aliases: Mapping[Name, Reason] = field(default_factory=dict)
    places: Mapping[Name, Place] = field(default_factory=dict, compare=False)
    purge_aliases: bool = False
    model: ClassVar[type[Mailbox | Forwarder]]

    def edit_of(self, current: Individual) -> Edit:
        """Return the edit that makes ``current`` match the declaration, but keeps all aliases.

        Which aliases to remove also depends on other objects and on the options for purging.
        """
        return Edit(add_aliases=(self.aliases or frozenset()) - current.aliases - {self.name})


@dataclass(slots=True)
class DeclaredMailbox(DeclaredIndividual):
    """A declared mailbox.

    :param only_aliases: declare only aliases; the mailbox is neither created nor deleted
    :param move: take the aliases away from other mailboxes and forwarders
    """

    only_aliases: bool = False
    move: bool = False
    model = Mailbox


@dataclass(slots=True)
class DeclaredForwarder(DeclaredIndividual):
    """A declared forwarder.

    :param members: the declared members, or None to leave the members unchanged
    :param purge_members: remove every member that is not in ``members``
    """

    members: frozenset[Name] | None = None
    purge_members: bool = True
    model = Forwarder

    def edit_of(self, current: Individual) -> Edit:
        """Return the edit that makes ``current`` match the declaration, including its members."""
        members = current.members if isinstance(current, Forwarder) else frozenset()
        declared = members if self.members is None else self.members
        return replace(
            DeclaredIndividual.edit_of(self, current),
            add_members=declared - members,
            remove_members=members - declared if self.purge_members else frozenset(),
        )


@dataclass(frozen=True, slots=True)
class Passwords:
    """The passwords of mailboxes, keyed by name.

    :param replace: set the passwords of existing mailboxes, not only of new mailboxes
    """

    by_name: Mapping[Name, tuple[str, ...]] = field(default_factory=dict, repr=False)
    replace: bool = False

    def without(self, names: Collection[Name]) -> Passwords:
        """Return the passwords of all mailboxes except the given ones."""
        kept = {name: values for name, values in self.by_name.items() if name not in names}
        return Passwords(kept, self.replace)


class Definition(NamedTuple):
    """The declared objects, keyed by name. Names and addresses are unique.

    :param is_whole: whether the definition describes the whole tenant or only one object
    """

    domains: Mapping[Name, DeclaredDomain]
    individuals: Mapping[Name, DeclaredIndividual]
    is_whole: bool = True


def definition_of(*declared: Declared, is_whole: bool = False) -> Definition:
    """Return a definition that consists of the given objects."""
    return Definition(
        {each.name: each for each in declared if isinstance(each, DeclaredDomain)},
        {each.name: each for each in declared if isinstance(each, DeclaredIndividual)},
        is_whole,
    )
