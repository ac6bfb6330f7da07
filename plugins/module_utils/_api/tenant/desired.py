# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""The desired state of a tenant, which the planner builds, and the passwords to set."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..errors import InvalidInput
from ..models import NO_EDIT, Edit, Forwarder, Individual, Principal, password_flaw
from ..names import Name, parse_address
from .declared import DeclaredIndividual
from .messages import Place, Reason


@dataclass(frozen=True, slots=True)
class Passwords:
    """The passwords of mailboxes, by name.

    :param replace: set the passwords of existing mailboxes, not only of new ones
    """

    by_name: Mapping[Name, tuple[str, ...]] = field(default_factory=dict, repr=False)
    replace: bool = False

    def without(self, names: Collection[Name]) -> Passwords:
        """Return the passwords without those of the given mailboxes."""
        kept = {name: values for name, values in self.by_name.items() if name not in names}
        return Passwords(kept, self.replace)


def read_passwords(raw: Mapping[Any, Any]) -> dict[Name, tuple[str, ...]]:
    """Parse the option ``passwords``, a mapping from addresses to a string or a list of strings.

    :raises InvalidInput: an address or a password is invalid; the message contains no password
    """
    found: dict[Name, tuple[str, ...]] = {}
    for key, value in raw.items():
        if not isinstance(key, str):
            raise InvalidInput("passwords: A key is not a string. Write an email address instead.")
        try:
            name = parse_address(key)
        except InvalidInput:
            # If the address and the password are swapped, the key is a password.
            raise InvalidInput(
                "passwords: A key is not an email address. Write address: password. The key is "
                "not shown, because it may be a password."
            ) from None
        if name in found:
            first = next(each for each in found if each == name)
            raise InvalidInput(f"passwords: {name} is the same as {first}. Keep one of the two.")
        found[name] = tuple(value) if isinstance(value, (list, tuple)) else (value,)
        if not found[name]:
            raise InvalidInput(
                f"passwords: The list of {name} is empty. Add a password, or remove the list."
            )
        for text in found[name]:
            if not isinstance(text, str):
                raise InvalidInput(
                    f"passwords: The password of {name} is not a string. Write a string in "
                    "quotes, or a list of strings."
                )
            flaw = password_flaw(text)
            if flaw:
                raise InvalidInput(f"passwords: The password of {name} {flaw}")
    return found


@dataclass(slots=True)
class Desired:
    """The desired state of a mailbox or forwarder that is kept or created.

    :param declared: the declaration, or None if only other declarations change the object
    :param current: the current state, or an object without aliases and members if it is new
    :param remove: the aliases to remove, each with the reason
    :param undeclared: the current aliases that are not declared
    """

    declared: DeclaredIndividual | None
    current: Individual
    is_new: bool = False
    add: frozenset[Name] = frozenset()
    remove: dict[Name, Reason] = field(default_factory=dict)
    add_members: frozenset[Name] = frozenset()
    remove_members: frozenset[Name] = frozenset()
    undeclared: frozenset[Name] = frozenset()
    secrets: tuple[str, ...] = field(default=(), repr=False)
    always_set: bool = False

    @property
    def name(self) -> Name:
        """The object's name, spelled as declared."""
        return self.current.name if self.declared is None else self.declared.name

    @property
    def place(self) -> Place | None:
        """Where the object is declared, or None."""
        return None if self.declared is None else self.declared.place

    def place_of(self, address: Name) -> Place | None:
        """Return where one of the object's addresses is declared, or None."""
        declared = self.declared
        return None if declared is None else declared.places.get(address, declared.place)

    @property
    def edit(self) -> Edit:
        """The edit of the object's lists."""
        return Edit(self.add, frozenset(self.remove), self.add_members, self.remove_members)

    @property
    def changes(self) -> bool:
        """Whether the object is created or changed."""
        return self.is_new or bool(self.secrets) or self.edit != NO_EDIT

    @property
    def after(self) -> Individual:
        """The object after all changes."""
        return self.edit.applied_to(self.current)

    @property
    def claims(self) -> frozenset[Name]:
        """The addresses that the object gains."""
        return self.add | {self.name} if self.is_new else self.add


@dataclass(slots=True)
class DesiredState:
    """The desired state of a tenant.

    :param register: the domains to register
    :param kept: the mailboxes and forwarders that are kept or created
    :param deleted: the names of objects to delete, each with the reason
    :param unnamed: the names of objects and aliases deleted without being named, by kind
    """

    register: list[Name] = field(default_factory=list)
    kept: dict[Name, Desired] = field(default_factory=dict)
    deleted: dict[Name, Reason] = field(default_factory=dict)
    unnamed: dict[str, set[Name]] = field(default_factory=lambda: defaultdict(set))

    @property
    def is_unchanged(self) -> bool:
        """Whether nothing is created, changed or deleted."""
        return not (self.register or self.deleted or any(d.changes for d in self.kept.values()))

    def after(self, principal: Principal) -> Principal:
        """Return the desired state of a principal."""
        desired = self.kept.get(principal.name)
        return principal if desired is None else desired.after

    def desired_of(self, owner: Individual) -> Desired:
        """Return the desired state of a kept principal, which is its current one by default."""
        return self.kept.setdefault(owner.name, Desired(None, owner))

    @property
    def rerouted(self) -> set[Name]:
        """The objects that gain addresses or members, if that may change forwarding."""
        changed = [each for each in self.kept.values() if each.claims or each.add_members]
        is_any = any(isinstance(each.current, Forwarder) for each in changed)
        return {each.name for each in changed} if is_any else set()

    def delete_unnamed(self, principal: Principal, reason: Reason) -> None:
        """Delete an object that was not named."""
        self.deleted[principal.name] = reason
        self.unnamed[principal.kind].add(principal.name)

    def forwarders(self, principals: Iterable[Principal]) -> list[Forwarder]:
        """Return all forwarders in their desired state.

        :param principals: all principals in their current state
        """
        kept = [self.after(each) for each in principals if each.name not in self.deleted]
        kept += [desired.after for desired in self.kept.values() if desired.is_new]
        return [each for each in kept if isinstance(each, Forwarder)]
