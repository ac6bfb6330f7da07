# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""What is known of a tenant while planning: by name, by address, by domain.

Most questions of one task are about one name. Planning starts on a glimpse of that one principal;
a question that a glimpse can't answer raises NeedsWhole, and planning starts again on the whole.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from .models import Domain, Forwarder, Principal
from .names import Name


class NeedsWhole(Exception):
    """The question can only be answered by the whole tenant."""


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

    def named_on(self, domain: Name) -> list[Principal]:
        """Return the mailboxes, forwarders and others whose own name lies on a domain."""
        return [p for p in self._all() if p.name.domain == domain and p.name != domain]

    def borrowing_from(self, domain: Name) -> list[tuple[Principal, frozenset[Name]]]:
        """Return the principals of other domains that have addresses on this one, and which."""
        rows = ((p, _on(domain, p.addresses)) for p in self._all() if p.name.domain != domain)
        return [(principal, addresses) for principal, addresses in rows if addresses]

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


def circles(forwarders: Iterable[Forwarder]) -> Iterator[list[Forwarder]]:
    """Yield circles that mail would run in, each as the forwarders along it.

    At least one is found among forwarders that feed each other. It takes time in proportion to the
    number of members, and depth costs no recursion.
    """
    forwarders = list(forwarders)
    owners: dict[Name, Forwarder] = {a: f for f in forwarders for a in f.addresses}
    done: set[Name] = set()
    for start in forwarders:
        if start.name not in done:
            yield from _circles_from(start, owners, done)


def _circles_from(
    start: Forwarder, owners: Mapping[Name, Forwarder], done: set[Name]
) -> Iterator[list[Forwarder]]:
    # The way from the start to where the search stands, with what is left to try at each point.
    way = {start.name: iter(sorted(start.members))}
    while way:
        here = next(reversed(way), start.name)
        member = next(way[here], None)
        if member is None:
            del way[here]
            done.add(here)
            continue
        onward = owners.get(member)
        if onward is None or onward.name in done:
            continue
        if onward.name in way:
            names = list(way)
            yield [owners[name] for name in names[names.index(onward.name) :]]
        else:
            way[onward.name] = iter(sorted(onward.members))


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


def _on(domain: Name, addresses: frozenset[Name]) -> frozenset[Name]:
    return frozenset(address for address in addresses if address.domain == domain)


def _path(came_from: dict[Name, Name], end: Name, start: Name) -> list[Name]:
    path = [end, came_from[end]]
    while path[-1] != start:
        path.append(came_from[path[-1]])
    return path[::-1]
