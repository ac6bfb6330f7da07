# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Check a tenant's desired state for missing domains and members, loops and bounces."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from ..models import ALIAS, Forwarder, Principal
from ..names import Name
from .declared import DeclaredForwarder, Definition
from .desired import Desired, DesiredState
from .loops import describe_cycle, find_new_cycles, forwarding_graph, starting_at
from .messages import Problem, listed
from .state import TenantState


@dataclass
class Checks:
    """The checks of a desired state.

    :ivar warnings: the problems that don't block the plan, available after ``problems`` was called
    """

    state: TenantState
    definition: Definition
    desired: DesiredState
    warnings: list[Problem] = field(default_factory=list)

    def problems(self) -> list[Problem]:
        """Return the problems that block the plan."""
        return [
            *self._check_domains(),
            *self._check_members(),
            *self._check_loops(),
            *self._check_delivery(),
        ]

    def _check_domains(self) -> Iterator[Problem]:
        """Yield a problem for each domain that new addresses need and that would not exist."""
        missing: dict[str, list[tuple[Name, Desired]]] = {}
        for desired in self.desired.kept.values():
            for address in sorted(desired.claims):
                if not self._will_have_domain(address.domain):
                    missing.setdefault(address.domain.key, []).append((address, desired))
        for users in missing.values():
            addresses = sorted(address for address, _desired in users)
            is_purged = self.state.has_domain(addresses[0].domain)
            params = {"names": listed(map(str, addresses)), "domain": addresses[0].domain}
            first, desired = min(users, key=lambda user: user[0])
            code = "domain_purged" if is_purged else "domain_missing"
            yield Problem(code, params, desired.place_of(first), prerequisite=True)

    def _will_have_domain(self, domain: Name) -> bool:
        if domain in self.definition.domains:
            return not self.definition.domains[domain].absent
        return domain not in self.desired.deleted and self.state.has_domain(domain)

    def _check_members(self) -> Iterator[Problem]:
        for desired in self.desired.kept.values():
            after, declared = desired.after, desired.declared
            if isinstance(after, Forwarder) and declared is not None and not after.members:
                # Without the option members, the task expects the forwarder to exist.
                is_prerequisite = (
                    desired.is_new
                    and isinstance(declared, DeclaredForwarder)
                    and declared.members is None
                )
                params = {"name": desired.name}
                yield Problem("no_members", params, desired.place, prerequisite=is_prerequisite)

    def _check_loops(self) -> Iterator[Problem]:
        changed = self.desired.rerouted
        if not changed:
            return
        before = [each for each in self.state.principals if isinstance(each, Forwarder)]
        after = forwarding_graph(self.desired.forwarders(self.state.principals))
        for cycle in find_new_cycles(forwarding_graph(before), after):
            start = min(changed.intersection(cycle), default=cycle[0])
            way = describe_cycle(starting_at(start, cycle))
            holder = self.desired.kept.get(start)
            params = {"name": start, "way": way}
            yield Problem("forwarding_loop", params, holder.place if holder else None)

    def _check_delivery(self) -> Iterator[Problem]:
        """Yield a problem for each member of a forwarder to which mail would bounce.

        Problems caused by a definition of the whole tenant block the plan; others are warnings.
        """
        kept = self.desired.kept.values()
        is_whole = self.definition.is_whole
        if not is_whole and not (
            self.desired.deleted or any(d.remove or d.add_members for d in kept)
        ):
            return
        claimed = {address for desired in kept for address in desired.claims}
        for forwarder in self.desired.forwarders(self.state.principals):
            desired = self.desired.kept.get(forwarder.name)
            is_declared = desired is not None and desired.declared is not None
            for member in sorted(forwarder.members - claimed - forwarder.addresses):
                domain = member.domain
                if not (self._will_have_domain(domain) or self.state.has_domain(domain)):
                    continue
                params: dict[str, object] = {"name": forwarder.name, "member": member}
                owner = self.state.owner_of(member)
                if owner is not None:
                    code, params = "member_removed", params | self._why_lost(owner, member)
                    is_problem, blocks = "why" in params, is_declared
                else:
                    declared = self.definition.individuals.get(member)
                    is_new = (declared is not None and declared.absent) or (
                        desired is not None and member in desired.add_members
                    )
                    code, blocks = "member_missing", is_new
                    is_problem = is_declared and (is_new or is_whole)
                problem = Problem(code, params, desired.place if desired else None)
                if is_problem and blocks and is_whole:
                    yield problem
                elif is_problem:
                    self.warnings.append(problem)

    def _why_lost(self, owner: Principal, address: Name) -> dict[str, str]:
        """Return the parameters of ``member_removed``, or none if mail is still delivered."""
        holder = self.desired.kept.get(owner.name)
        if owner.name in self.desired.deleted:
            reason, lost = self.desired.deleted[owner.name], f"{owner.kind} {owner.name}"
            is_unnamed = owner.name in self.desired.unnamed[owner.kind]
        elif holder is not None and address in holder.remove:
            reason, lost = holder.remove[address], f"alias {address} of {owner.kind} {owner.name}"
            is_unnamed = address in self.desired.unnamed[ALIAS]
        else:
            return {}
        or_keep = (
            ", declare it, or add it to ignore" if is_unnamed and self.definition.is_whole else ""
        )
        return {"lost": lost, "why": str(reason), "or_keep": or_keep}
