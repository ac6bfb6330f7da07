# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""A tenant as it is to be, in the making: what goes, what stays, what changes its lists."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from ..models import Edit, Forwarder, Individual, Mailbox, Principal
from ..names import Name
from .definition import DeclaredIndividual, Place
from .plan_common import differences_in_words
from .purge import ALIAS


@dataclass(frozen=True, slots=True)
class Passwords:
    """Passwords by mailbox, for those that are created.

    :param replace: set them for those that are there, too
    """

    by_name: Mapping[Name, tuple[str, ...]] = field(default_factory=dict, repr=False)
    replace: bool = False


@dataclass(slots=True)
class Draft:
    """What becomes of one mailbox or forwarder that stays or comes.

    :param declared: as declared; None where only its domain is
    :param current: as it is now, or without aliases and members where it is new
    :param remove: the aliases that it loses, each with the reason in words
    :param undeclared: the aliases that it has and that nobody declared
    """

    declared: DeclaredIndividual | None
    current: Individual
    is_new: bool = False
    add: frozenset[Name] = frozenset()
    remove: dict[Name, str] = field(default_factory=dict)
    join: frozenset[Name] = frozenset()
    leave: frozenset[Name] = frozenset()
    undeclared: frozenset[Name] = frozenset()
    purged: frozenset[Name] = frozenset()
    secrets: tuple[str, ...] = field(default=(), repr=False)
    sets_always: bool = False

    @property
    def name(self) -> Name:
        """Its name, as it is declared."""
        return self.current.name if self.declared is None else self.declared.name

    @property
    def place(self) -> Place | None:
        """Where it is declared."""
        return None if self.declared is None else self.declared.place

    def place_of(self, address: Name) -> Place | None:
        """Return where one of its addresses is declared."""
        declared = self.declared
        return None if declared is None else declared.places.get(address, declared.place)

    @property
    def edit(self) -> Edit:
        """All that changes in its lists."""
        return Edit(self.add, frozenset(self.remove), self.join, self.leave)

    @property
    def after(self) -> Individual:
        """As it is to be."""
        return self.edit.applied_to(self.current)

    @property
    def claims(self) -> frozenset[Name]:
        """The addresses that it does not hold yet."""
        return self.add | {self.name} if self.is_new else self.add

    def reasons(self, edit: Edit, secrets: tuple[str, ...] = ()) -> Iterator[str]:
        """Yield why a part of its edit is needed."""
        yield from differences_in_words(replace(edit, remove_aliases=frozenset()))
        for alias in sorted(edit.remove_aliases):
            yield f"its alias {alias} {self.remove[alias]}"
        if secrets:
            yield "its passwords are to be replaced"


@dataclass(slots=True)
class Drafts:
    """All of a tenant's drafts.

    :param register: domains that come
    :param kept: mailboxes and forwarders that stay or come
    :param gone: what goes, each with the reason in words
    :param unnamed: what goes without being named, by kind
    """

    register: list[Name] = field(default_factory=list)
    kept: dict[Name, Draft] = field(default_factory=dict)
    gone: dict[Name, str] = field(default_factory=dict)
    unnamed: dict[str, set[Name]] = field(default_factory=lambda: defaultdict(set))

    def after(self, principal: Principal) -> Principal:
        """Return a principal as it is to be."""
        draft = self.kept.get(principal.name)
        return principal if draft is None else draft.after

    def drop_unnamed(self, principal: Principal, reason: str) -> None:
        """Let something go that nobody named."""
        self.gone[principal.name] = reason
        self.unnamed[principal.kind].add(principal.name)

    def leave_domain(self, holder: Principal, domain: Name, addresses: frozenset[Name]) -> None:
        """Let go what lies on a domain that goes: the holder itself, or some of its aliases."""
        if holder.name in addresses:
            self.drop_unnamed(holder, f"its domain {domain} is deleted with all that it holds")
        elif holder.name not in self.gone and isinstance(holder, (Mailbox, Forwarder)):
            draft = self.kept.setdefault(holder.name, Draft(None, holder))
            draft.remove |= dict.fromkeys(addresses, f"goes with the domain {domain}")
            self.unnamed[ALIAS] |= addresses
