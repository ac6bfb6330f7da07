# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Putting a tenant's drafts in order: what must come before what."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace

from .changes import Change
from .drafts import Draft, Drafts
from .models import Domain, Edit, Principal
from .names import Name
from .steps import DELETE, DEREGISTER, FREE, KEEP, REGISTER, Step
from .tenant import Tenant


def steps_of(drafts: Drafts, tenant: Tenant) -> tuple[Step, ...]:
    """Return a plan's steps in the order of their stages, and by name within each."""
    return tuple(_Ordering(drafts, tenant).steps)


class _Ordering:
    def __init__(self, drafts: Drafts, tenant: Tenant) -> None:
        self.steps: list[Step] = []
        #: Who carries out what others wait for, as positions.
        self._registers: dict[str, int] = {}
        self._frees: dict[Name, int] = {}
        self._leaves: dict[str, list[int]] = defaultdict(list)
        kept = sorted(drafts.kept.values(), key=lambda draft: draft.name.key)
        gone = sorted(drafts.gone.items(), key=lambda item: item[0].key)
        claimed = frozenset(address for draft in kept for address in draft.claims)
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
            change = Change("create", None, draft.after, "it is not there", secrets=draft.secrets)
            self.steps.append(Step(change, KEEP, self._needs(draft)))
            return
        edit = draft.edit
        rest = replace(edit, remove_aliases=edit.remove_aliases - claimed)
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
        self.steps.append(Step(change, stage, self._needs(draft) if stage == KEEP else ()))

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
            needs = tuple(self._leaves.get(domain.name.key, ()))
            self.steps.append(Step(Change("delete", domain, None, reason), DEREGISTER, needs))

    def _add_deletion(self, principal: Principal, reason: str, stage: int) -> None:
        self._note_freed(frozenset({principal.name, *principal.addresses}))
        self.steps.append(Step(Change("delete", principal, None, reason), stage))

    def _note_freed(self, addresses: frozenset[Name]) -> None:
        position = len(self.steps)
        for address in addresses:
            self._frees[address] = position
            self._leaves[address.key.rpartition("@")[2]].append(position)
