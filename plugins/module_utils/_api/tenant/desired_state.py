# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""The desired state of a tenant, which the planner builds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from ..models import NO_EDIT, Edit, Forwarder, Individual, Principal
from ..names import Name
from .declared import DeclaredIndividual
from .problems import Place, Reason


@dataclass(slots=True)
class DesiredObject:
    """The desired state of a mailbox or forwarder that is kept or created.

    :param declared: the declaration, or None if only other declarations change the object
    :param current: the current state, or an object without aliases and members if it is new
    :param declared_edit: the edit that the declaration alone requires, which keeps all aliases
    :param remove: the aliases to remove, each with the reason
    :param undeclared: the current aliases that are not declared
    :param secrets: the passwords to set, if any
    :param set_if_created_meanwhile: whether to set the passwords even if another client creates the
        mailbox first
    """

    declared: DeclaredIndividual | None
    current: Individual
    is_new: bool = False
    declared_edit: Edit = NO_EDIT
    remove: dict[Name, Reason] = field(default_factory=dict)
    undeclared: frozenset[Name] = frozenset()
    secrets: tuple[str, ...] = field(default=(), repr=False)
    set_if_created_meanwhile: bool = False

    @property
    def name(self) -> Name:
        """The object's name, spelled as declared."""
        return self.current.name if self.declared is None else self.declared.name

    @property
    def place(self) -> Place | None:
        """The place where the object is declared, or None."""
        return None if self.declared is None else self.declared.place

    def place_of(self, address: Name) -> Place | None:
        """Return the place where one of the object's addresses is declared, or None."""
        declared = self.declared
        return None if declared is None else declared.places.get(address, declared.place)

    @property
    def edit(self) -> Edit:
        """The edit to apply to the object's lists."""
        return replace(self.declared_edit, remove_aliases=frozenset(self.remove))

    @property
    def after(self) -> Individual:
        """The object after all changes."""
        return self.edit.applied_to(self.current)

    @property
    def claims(self) -> frozenset[Name]:
        """The addresses that the object gains."""
        added = self.declared_edit.add_aliases
        return added | {self.name} if self.is_new else added


@dataclass(slots=True)
class DesiredState:
    """The desired state of a tenant.

    :param register: the domains to register
    :param present: the mailboxes and forwarders that are kept or created
    :param deleted: the names of objects to delete, each with the reason
    :param deleted_implicitly: the names of objects and aliases that are deleted although the
        definition does not name them, keyed by kind
    """

    register: list[Name] = field(default_factory=list)
    present: dict[Name, DesiredObject] = field(default_factory=dict)
    deleted: dict[Name, Reason] = field(default_factory=dict)
    deleted_implicitly: dict[str, set[Name]] = field(default_factory=lambda: defaultdict(set))

    @property
    def is_unchanged(self) -> bool:
        """Whether nothing is created, changed or deleted."""
        is_changed = any(d.is_new or d.secrets or d.edit != NO_EDIT for d in self.present.values())
        return not (self.register or self.deleted or is_changed)

    def after(self, principal: Principal) -> Principal:
        """Return the desired state of a principal."""
        desired = self.present.get(principal.name)
        return principal if desired is None else desired.after

    def entry_of(self, owner: Individual) -> DesiredObject:
        """Return the entry of a kept object. If it has none, add one without changes."""
        return self.present.setdefault(owner.name, DesiredObject(None, owner))

    @property
    def rerouted(self) -> set[Name]:
        """The objects that gain addresses or members.

        Empty if no forwarder is among them, because then no loop can arise.
        """
        changed = [each for each in self.present.values() if each.claims or each.edit.add_members]
        has_forwarder = any(isinstance(each.current, Forwarder) for each in changed)
        return {each.name for each in changed} if has_forwarder else set()

    def delete_implicitly(self, principal: Principal, reason: Reason) -> None:
        """Delete an object that the definition does not name."""
        self.deleted[principal.name] = reason
        self.deleted_implicitly[principal.kind].add(principal.name)

    def forwarders(self, principals: Iterable[Principal]) -> list[Forwarder]:
        """Return all forwarders in their desired state."""
        kept = [self.after(each) for each in principals if each.name not in self.deleted]
        kept += [desired.after for desired in self.present.values() if desired.is_new]
        return [each for each in kept if isinstance(each, Forwarder)]
