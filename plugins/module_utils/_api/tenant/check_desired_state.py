# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Check a tenant's desired state for missing domains and members, loops and bounces.

``planner`` checks for addresses that are already in use, and ``read_definition`` for addresses that
are declared twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..models import ALIAS, Forwarder, Principal
from ..names import Name
from .declared import DeclaredForwarder, Definition
from .desired_state import DesiredObject, DesiredState
from .loops import describe_cycle, find_new_cycles, forwarding_graph, starting_at
from .messages import first_ten
from .problems import Problem
from .state import TenantState


def check_desired_state(
    state: TenantState, definition: Definition, desired: DesiredState
) -> tuple[list[Problem], list[Problem]]:
    """Check a desired state. Return the problems that block the plan, and the warnings."""
    checks = _Checks(state, definition, desired)
    problems = [*checks.check_domains(), *checks.check_members(), *checks.check_loops()]
    bounces, warnings = checks.check_bounces()
    return problems + bounces, warnings


@dataclass(frozen=True)
class _Checks:
    state: TenantState
    definition: Definition
    desired_state: DesiredState

    def check_domains(self) -> Iterator[Problem]:
        """Yield a problem for each domain that new addresses need but the desired state lacks."""
        missing: dict[str, list[tuple[Name, DesiredObject]]] = {}
        for desired in self.desired_state.present.values():
            for address in sorted(desired.claims):
                if not self._will_have_domain(address.domain):
                    missing.setdefault(address.domain.key, []).append((address, desired))
        for users in missing.values():
            addresses = sorted(address for address, _desired in users)
            is_purged = self.state.has_domain(addresses[0].domain)
            params = {"names": first_ten(map(str, addresses)), "domain": addresses[0].domain}
            first, desired = min(users, key=lambda user: user[0])
            code = "domain_purged" if is_purged else "domain_missing"
            yield Problem(code, params, desired.place_of(first), prerequisite=True)

    def _will_have_domain(self, domain: Name) -> bool:
        if domain in self.definition.domains:
            return not self.definition.domains[domain].absent
        return domain not in self.desired_state.deleted and self.state.has_domain(domain)

    def check_members(self) -> Iterator[Problem]:
        for desired in self.desired_state.present.values():
            after, declared = desired.after, desired.declared
            if not isinstance(after, Forwarder) or not isinstance(declared, DeclaredForwarder):
                continue
            if not after.members:
                # Without the option members, the task expects the forwarder to exist.
                is_prerequisite = desired.is_new and declared.members is None
                params = {"name": desired.name}
                yield Problem("no_members", params, desired.place, prerequisite=is_prerequisite)

    def check_loops(self) -> Iterator[Problem]:
        changed = self.desired_state.rerouted
        if not changed:
            return
        before = [each for each in self.state.principals if isinstance(each, Forwarder)]
        after = forwarding_graph(self.desired_state.forwarders(self.state.principals))
        for cycle in find_new_cycles(forwarding_graph(before), after):
            start = min(changed.intersection(cycle), default=cycle[0])
            way = describe_cycle(starting_at(start, cycle))
            holder = self.desired_state.present.get(start)
            params = {"name": start, "way": way}
            yield Problem("forwarding_loop", params, holder.place if holder else None)

    def check_bounces(self) -> tuple[list[Problem], list[Problem]]:
        """Return problems and warnings about forwarder members whose mail would bounce.

        If the definition is not for the whole tenant, there are only warnings.
        """
        problems: list[Problem] = []
        warnings: list[Problem] = []
        present = self.desired_state.present.values()
        is_whole = self.definition.is_whole
        if not is_whole and not (
            self.desired_state.deleted or any(d.remove or d.edit.add_members for d in present)
        ):
            return problems, warnings
        claimed = {address for desired in present for address in desired.claims}
        for forwarder in self.desired_state.forwarders(self.state.principals):
            desired = self.desired_state.present.get(forwarder.name)
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
                        desired is not None and member in desired.edit.add_members
                    )
                    code, blocks = "member_missing", is_new
                    is_problem = is_declared and (is_new or is_whole)
                problem = Problem(code, params, desired.place if desired else None)
                if is_problem:
                    (problems if blocks and is_whole else warnings).append(problem)
        return problems, warnings

    def _why_lost(self, owner: Principal, address: Name) -> dict[str, str]:
        """Return the parameters of ``member_removed``, or {} if the owner keeps the address."""
        holder = self.desired_state.present.get(owner.name)
        if owner.name in self.desired_state.deleted:
            reason, lost = self.desired_state.deleted[owner.name], f"{owner.kind} {owner.name}"
            is_implicit = owner.name in self.desired_state.deleted_implicitly[owner.kind]
        elif holder is not None and address in holder.remove:
            reason, lost = holder.remove[address], f"alias {address} of {owner.kind} {owner.name}"
            is_implicit = address in self.desired_state.deleted_implicitly[ALIAS]
        else:
            return {}
        or_keep = (
            ", declare it, or add it to ignore" if is_implicit and self.definition.is_whole else ""
        )
        return {"lost": lost, "why": str(reason), "or_keep": or_keep}
