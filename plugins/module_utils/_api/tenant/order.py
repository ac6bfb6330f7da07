# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Putting a tenant's drafts in order: what must come before what."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from ..models import Domain, Edit, Forwarder, Principal
from ..names import Name
from .changes import Change
from .drafts import Draft, Drafts
from .state import Tenant, depths, knots
from .steps import DELETE, DEREGISTER, FREE, KEEP, REGISTER, Step


def steps_of(drafts: Drafts, tenant: Tenant) -> tuple[Step, ...]:
    """Return a plan's steps in the order of their stages and waves, and by name within each."""
    return tuple(_Ordering(drafts, tenant).steps)


class _Ordering:
    def __init__(self, drafts: Drafts, tenant: Tenant) -> None:
        self.steps: list[Step] = []
        #: Who carries out what others wait for, as positions.
        self._registers: dict[str, int] = {}
        self._frees: dict[Name, int] = {}
        self._leaves: dict[str, set[int]] = defaultdict(set)
        self._waves, pointed = _order_of_forwarders(drafts, tenant)
        kept = sorted(drafts.kept.values(), key=lambda d: (self._waves.get(d.name, 0), d.name.key))
        gone = sorted(drafts.gone.items(), key=lambda item: item[0].key)
        claimed = frozenset(address for draft in kept for address in draft.claims) | pointed
        for domain in sorted(drafts.register):
            self._registers[domain.key] = len(self.steps)
            change = Change("create", None, Domain(domain), "it is not registered")
            self.steps.append(Step(change, REGISTER))
        late = list(self._freeing(kept, gone, tenant, claimed))
        for draft in kept:
            self._keep(draft, claimed)
        self._delete(late)

    def _freeing(
        self,
        kept: list[Draft],
        gone: list[tuple[Name, str]],
        tenant: Tenant,
        claimed: frozenset[Name],
    ) -> Iterator[tuple[Principal, str]]:
        """Add what frees claimed addresses. Yield the deletions that free none."""
        for draft in kept:
            freed = claimed.intersection(draft.remove)
            if freed:
                self._update(draft, Edit(remove_aliases=freed), FREE)
        for name, reason in gone:
            principal = tenant.find(name)
            if principal is None:
                continue
            if claimed.isdisjoint(principal.addresses):
                yield principal, reason
            else:
                self._add_deletion(principal, reason, FREE)

    def _keep(self, draft: Draft, claimed: frozenset[Name]) -> None:
        if draft.is_new:
            change = Change(
                "create",
                None,
                draft.after,
                "it is not there",
                secrets=draft.secrets,
                sets_always=draft.sets_always,
            )
            self._add_kept(draft, change)
            return
        rest = Edit(draft.add, frozenset(draft.remove) - claimed, draft.join, draft.leave)
        if rest != Edit() or draft.secrets:
            self._update(draft, rest, KEEP, draft.secrets)

    def _update(self, draft: Draft, edit: Edit, stage: int, secrets: tuple[str, ...] = ()) -> None:
        before = draft.current
        if stage == KEEP:
            freed = draft.edit.remove_aliases - edit.remove_aliases
            before = Edit(remove_aliases=freed).applied_to(before)
        reason = ", ".join(draft.reasons(edit, secrets))
        change = Change("update", before, edit.applied_to(before), reason, edit, secrets)
        self._note_freed(edit.remove_aliases)
        if stage == KEEP:
            self._add_kept(draft, change)
        else:
            self.steps.append(Step(change, stage))

    def _add_kept(self, draft: Draft, change: Change) -> None:
        wave = self._waves.get(draft.name, 0)
        self.steps.append(Step(change, KEEP, self._needs(draft), wave))

    def _needs(self, draft: Draft) -> tuple[int, ...]:
        needs = set()
        for address in draft.claims:
            needs |= {self._registers.get(address.key.rpartition("@")[2]), self._frees.get(address)}
        return tuple(sorted(position for position in needs if position is not None))

    def _delete(self, late: list[tuple[Principal, str]]) -> None:
        domains = []
        for principal, reason in late:
            if isinstance(principal, Domain):
                domains.append((principal, reason))
            else:
                self._add_deletion(principal, reason, DELETE)
        for domain, reason in domains:
            needs = tuple(sorted(self._leaves.get(domain.name.key, ())))
            self.steps.append(Step(Change("delete", domain, None, reason), DEREGISTER, needs))

    def _add_deletion(self, principal: Principal, reason: str, stage: int) -> None:
        self._note_freed(frozenset({principal.name, *principal.addresses}))
        self.steps.append(Step(Change("delete", principal, None, reason), stage))

    def _note_freed(self, addresses: frozenset[Name]) -> None:
        position = len(self.steps)
        for address in addresses:
            self._frees[address] = position
            self._leaves[address.key.rpartition("@")[2]].add(position)


def _order_of_forwarders(
    drafts: Drafts, tenant: Tenant
) -> tuple[Mapping[Name, int], frozenset[Name]]:
    """Return in which wave each forwarder is to change, and which addresses to free before.

    A service refuses what would let mail run in a circle, be it for a moment only. It never does
    where each forwarder changes after those that it feeds, and feeds nothing that is to go.
    """
    changed = (d for d in drafts.kept.values() if d.claims or d.join)
    if not any(isinstance(draft.current, Forwarder) for draft in changed):
        return {}, frozenset()
    before = [p for p in tenant.principals if isinstance(p, Forwarder)]
    staying = [drafts.after(p) for p in before if p.name not in drafts.gone]
    staying += [d.after for d in drafts.kept.values() if d.is_new]
    after = [p for p in staying if isinstance(p, Forwarder)]
    if not _may_run_round(before, after) or next(knots(after), None) is not None:
        return {}, frozenset()
    fed = {member for forwarder in after for member in forwarder.members}
    return depths(after), frozenset(a for f in before for a in f.addresses if a in fed)


def _may_run_round(before: Iterable[Forwarder], after: Iterable[Forwarder]) -> bool:
    """Tell whether mail might run in a circle while some have changed and others have not."""
    both = {forwarder.name: forwarder for forwarder in before}
    for forwarder in after:
        old = both.get(forwarder.name, forwarder)
        aliases, members = forwarder.aliases | old.aliases, forwarder.members | old.members
        both[forwarder.name] = Forwarder(forwarder.name, aliases, members)
    addresses = [address for forwarder in both.values() for address in forwarder.addresses]
    # One that moves has two owners, and circles are looked for with one.
    return len(addresses) > len(set(addresses)) or next(knots(both.values()), None) is not None
