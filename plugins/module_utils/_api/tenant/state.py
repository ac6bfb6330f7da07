# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""What is known of a tenant while planning: by name, by address, by domain.

Most questions of one task are about one name. Planning starts on a glimpse of that one principal;
a question that a glimpse can't answer raises NeedsWhole, and planning starts again on the whole.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

from ..models import Domain, Forwarder, Principal
from ..names import Name


class NeedsWhole(Exception):
    """The question can only be answered by the whole tenant."""


class Holder(NamedTuple):
    """A principal that is named on a domain, or has addresses there, and which."""

    principal: Principal
    addresses: frozenset[Name]

    @property
    def is_resident(self) -> bool:
        """Whether its own name lies on the domain."""
        return self.principal.name in self.addresses


class Tenant:
    """A tenant's principals, indexed."""

    def __init__(self, principals: Iterable[Principal]) -> None:
        self._by_name = {principal.name: principal for principal in principals}
        self._owners: dict[Name, Principal] | None = None

    @property
    def names(self) -> Collection[Name]:
        """The names of all principals."""
        return self._by_name.keys()

    @property
    def principals(self) -> Collection[Principal]:
        """All principals."""
        return self._by_name.values()

    def find(self, name: Name) -> Principal | None:
        """Return the principal of that name."""
        return self._by_name.get(name)

    def owner_of(self, address: Name) -> Principal | None:
        """Return the principal that an address delivers to."""
        return self._owner_index().get(address)

    def has_domain(self, domain: Name) -> bool:
        """Tell whether a domain is registered."""
        return isinstance(self.find(domain), Domain)

    def holders_on(self, domain: Name) -> list[Holder]:
        """Return who is named on a domain or has addresses there."""
        return holders_by_domain(self._all(), [domain]).get(domain, [])

    def forwarders_to(self, addresses: Collection[Name]) -> Iterator[tuple[Name, Forwarder]]:
        """Yield which of these addresses are members of which forwarders."""
        for principal in self._all():
            if isinstance(principal, Forwarder):
                for member in sorted(principal.members.intersection(addresses)):
                    yield member, principal

    def loop_through(self, start: Forwarder) -> list[Name] | None:
        """Return the addresses along which mail to ``start`` would come back to it, if it would.

        :param start: the forwarder as it is to be, whatever the tenant holds under its name
        """
        came_from = dict.fromkeys(start.members, start.name)
        queue = sorted(start.members)
        while queue:
            member = queue.pop()
            if member in start.addresses:
                return _path(came_from, member, start.name)
            owner = self.owner_of(member)
            if isinstance(owner, Forwarder):
                onward = owner.members - came_from.keys()
                came_from |= dict.fromkeys(onward, member)
                queue += sorted(onward)
        return None

    def _all(self) -> Iterable[Principal]:
        return self._by_name.values()

    def _owner_index(self) -> dict[Name, Principal]:
        if self._owners is None:
            self._owners = dict(_owners(self._all()))
        return self._owners


class Glimpse(Tenant):
    """All that is known after asking for one name."""

    def __init__(self, name: Name, found: Principal | None) -> None:
        super().__init__([] if found is None else [found])
        self._name = name

    def find(self, name: Name) -> Principal | None:
        """Return the principal of that name, if it is the one that was asked for."""
        if name != self._name:
            raise NeedsWhole
        return super().find(name)

    def _all(self) -> Iterable[Principal]:
        raise NeedsWhole


def holders_by_domain(
    principals: Iterable[Principal], domains: Iterable[Name]
) -> dict[Name, list[Holder]]:
    """Return, for each of the domains that is not empty, who is named or has addresses there."""
    by_key = {domain.key: domain for domain in domains}
    found: dict[Name, list[Holder]] = {}
    for principal in principals:
        used: dict[Name, set[Name]] = {}
        for address in {principal.name, *principal.addresses}:
            domain = by_key.get(address.key.rpartition("@")[2])
            if domain is not None and "@" in address.key:
                used.setdefault(domain, set()).add(address)
        for domain, addresses in used.items():
            found.setdefault(domain, []).append(Holder(principal, frozenset(addresses)))
    return found


def knots(forwarders: Iterable[Forwarder]) -> Iterator[list[Forwarder]]:
    """Yield the forwarders that mail runs round in, as groups: within one, each feeds each.

    It takes time in proportion to the number of members, and depth costs no recursion.
    """
    forwarders = list(forwarders)
    owners: dict[Name, Forwarder] = {a: f for f in forwarders for a in f.addresses}
    number: dict[Name, int] = {}
    grouped: set[Name] = set()
    for start in forwarders:
        if start.name not in number:
            yield from _knots_from(start, owners, number, grouped)


def _knots_from(
    start: Forwarder, owners: Mapping[Name, Forwarder], number: dict[Name, int], grouped: set[Name]
) -> Iterator[list[Forwarder]]:
    # Gabow's search for strongly connected components.
    # The way from the start to where the search stands, with what is left to try at each point.
    way = [(start, iter(start.members))]
    # Who was met and is in no group yet, and who of them may be the first one of a group.
    met, first = [start], [start]
    number[start.name] = len(number)
    while way:
        here, left = way[-1]
        member = next(left, None)
        if member is None:
            way.pop()
            if first[-1] is here:
                first.pop()
                group = _taken_until(here, met)
                grouped.update(forwarder.name for forwarder in group)
                if len(group) > 1 or not here.members.isdisjoint(here.addresses):
                    yield group
            continue
        onward = owners.get(member)
        if onward is None or onward.name in grouped:
            continue
        if onward.name in number:
            while number[first[-1].name] > number[onward.name]:
                first.pop()
        else:
            number[onward.name] = len(number)
            way.append((onward, iter(onward.members)))
            met.append(onward)
            first.append(onward)


def _taken_until(last: Forwarder, stack: list[Forwarder]) -> list[Forwarder]:
    taken = [stack.pop()]
    while taken[-1] is not last:
        taken.append(stack.pop())
    return taken


def depths(forwarders: Iterable[Forwarder]) -> dict[Name, int]:
    """Return over how many forwarders mail to each one goes on at most, where it runs in no circle.

    It takes time in proportion to the number of members, and depth costs no recursion.
    """
    forwarders = list(forwarders)
    owners: dict[Name, Forwarder] = {a: f for f in forwarders for a in f.addresses}
    found: dict[Name, int] = {}
    waiting = forwarders[::-1]
    while waiting:
        here = waiting[-1]
        onward = [owners[member] for member in here.members if member in owners]
        unknown = [f for f in onward if f.name not in found]
        if unknown and here.name not in found:
            waiting += unknown
            continue
        waiting.pop()
        found.setdefault(here.name, max((1 + found[f.name] for f in onward), default=0))
    return found


def _owners(principals: Iterable[Principal]) -> Iterator[tuple[Name, Principal]]:
    for principal in principals:
        for address in principal.addresses:
            yield address, principal


def _path(came_from: dict[Name, Name], end: Name, start: Name) -> list[Name]:
    path = [end, came_from[end]]
    while path[-1] != start:
        path.append(came_from[path[-1]])
    return path[::-1]
