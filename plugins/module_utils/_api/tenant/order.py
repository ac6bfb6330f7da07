# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""The order of a plan's changes, and which of them need others to succeed first."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace

from ..models import Domain, Edit, Forwarder, Principal
from ..names import Name
from .changes import DELETE, DEREGISTER, FREE, KEEP, REGISTER, Change
from .desired import Desired, DesiredState
from .loops import find_cycle, forwarding_graph, levels
from .messages import Reason
from .state import TenantState


def order_changes(desired: DesiredState, state: TenantState) -> tuple[Change, ...]:
    """Return the changes in the order of their stages and waves, and by name within each."""
    waves, fed = _waves(desired, state)
    kept = sorted(desired.kept.values(), key=lambda d: (waves.get(d.name, 0), d.name.key))
    claimed = frozenset(address for each in kept for address in each.claims) | fed
    order = _Order(waves)
    for domain in sorted(desired.register):
        order.register(domain)
    for each in kept:
        freed = claimed.intersection(each.remove)
        if freed:
            order.update(each, Edit(remove_aliases=freed), FREE)
    remaining = []
    for principal, reason in _deleted(desired, state):
        if claimed.isdisjoint(principal.addresses):
            remaining.append((principal, reason))
        else:
            order.delete(principal, reason, FREE)
    for each in kept:
        order.keep(each, claimed)
    for principal, reason in sorted(remaining, key=lambda row: isinstance(row[0], Domain)):
        order.delete(principal, reason, DEREGISTER if isinstance(principal, Domain) else DELETE)
    return tuple(order.changes)


def _deleted(desired: DesiredState, state: TenantState) -> Iterator[tuple[Principal, Reason]]:
    for name in sorted(desired.deleted):
        principal = state.find(name)
        if principal is not None:
            yield principal, desired.deleted[name]


class _Order:
    """Collects changes in order, and which position each later change needs."""

    def __init__(self, waves: Mapping[Name, int]) -> None:
        self.changes: list[Change] = []
        self._waves = waves
        self._registers: dict[str, int] = {}
        self._frees: dict[Name, int] = {}
        self._vacates: dict[str, list[int]] = defaultdict(list)

    def register(self, domain: Name) -> None:
        self._registers[domain.key] = len(self.changes)
        reasons = (Reason("missing"),)
        self.changes.append(Change("create", None, Domain(domain), reasons, stage=REGISTER))

    def keep(self, desired: Desired, freed: frozenset[Name]) -> None:
        if not desired.is_new:
            edit = replace(desired.edit, remove_aliases=frozenset(desired.remove) - freed)
            if edit != Edit() or desired.secrets:
                self.update(desired, edit, KEEP, desired.secrets)
            return
        change = Change(
            "create",
            None,
            desired.after,
            (Reason("missing"),),
            secrets=desired.secrets,
            always_set=desired.always_set,
            needs=self._needs(desired),
            wave=self._waves.get(desired.name, 0),
        )
        self.changes.append(change)

    def update(
        self, desired: Desired, edit: Edit, stage: int, secrets: tuple[str, ...] = ()
    ) -> None:
        before = desired.current
        if stage == KEEP:
            # An earlier change freed these.
            freed = desired.edit.remove_aliases - edit.remove_aliases
            before = Edit(remove_aliases=freed).applied_to(before)
        self._note_freed(edit.remove_aliases)
        change = Change(
            "update",
            before,
            edit.applied_to(before),
            tuple(desired.reasons(edit, secrets)),
            edit,
            secrets,
            stage=stage,
            needs=self._needs(desired) if stage == KEEP else (),
            wave=self._waves.get(desired.name, 0) if stage == KEEP else 0,
        )
        self.changes.append(change)

    def delete(self, principal: Principal, reason: Reason, stage: int) -> None:
        needs: tuple[int, ...] = ()
        if stage == DEREGISTER:
            needs = tuple(dict.fromkeys(self._vacates[principal.name.key]))
        else:
            self._note_freed(frozenset({principal.name, *principal.addresses}))
        change = Change("delete", principal, None, (reason,), stage=stage, needs=needs)
        self.changes.append(change)

    def _needs(self, desired: Desired) -> tuple[int, ...]:
        needs = set()
        for address in desired.claims:
            domain = address.key.rpartition("@")[2]
            needs |= {self._registers.get(domain), self._frees.get(address)}
        return tuple(sorted(position for position in needs if position is not None))

    def _note_freed(self, addresses: frozenset[Name]) -> None:
        position = len(self.changes)
        for address in addresses:
            self._frees[address] = position
            self._vacates[address.key.rpartition("@")[2]].append(position)


def _waves(desired: DesiredState, state: TenantState) -> tuple[Mapping[Name, int], frozenset[Name]]:
    """Return in which wave each forwarder changes, and which addresses to free first.

    A service refuses a loop even if the next change would end it. There is none if each forwarder
    changes after those that it sends mail to, and sends nothing to an address that is removed.
    """
    changed = (each for each in desired.kept.values() if each.claims or each.add_members)
    if not any(isinstance(each.current, Forwarder) for each in changed):
        return {}, frozenset()
    before = [each for each in state.principals if isinstance(each, Forwarder)]
    after = desired.forwarders(state.principals)
    graph = forwarding_graph(after)
    if not _may_loop(before, after) or find_cycle(graph) is not None:
        return {}, frozenset()
    fed = {member for forwarder in after for member in forwarder.members}
    return levels(graph), frozenset(a for each in before for a in each.addresses if a in fed)


def _may_loop(before: list[Forwarder], after: list[Forwarder]) -> bool:
    """Return whether mail might loop while some forwarders have changed and others have not."""
    both = {forwarder.name: forwarder for forwarder in before}
    for forwarder in after:
        old = both.get(forwarder.name, forwarder)
        aliases, members = forwarder.aliases | old.aliases, forwarder.members | old.members
        both[forwarder.name] = Forwarder(forwarder.name, aliases, members)
    addresses = [address for forwarder in both.values() for address in forwarder.addresses]
    # An alias that moves has two owners, of which the graph has only one.
    return (
        len(addresses) > len(set(addresses))
        or find_cycle(forwarding_graph(both.values())) is not None
    )
