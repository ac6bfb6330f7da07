# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Checks of a planned state as a whole: domains, members, forwarding loops and delivery."""

from __future__ import annotations

from collections.abc import Iterator

from ..models import Forwarder, Principal
from ..names import Name
from .definition import DeclaredForwarder, Definition
from .desired import Desired, DesiredState
from .loops import describe_cycle, find_new_cycles, forwarding_graph
from .messages import Problem, listed
from .purge import ALIAS
from .state import TenantState


class Checks:
    """Checks a desired state.

    :ivar warnings: problems that don't block the plan, once ``problems`` was called
    """

    def __init__(self, state: TenantState, definition: Definition, desired: DesiredState) -> None:
        self._state = state
        self._definition = definition
        self._desired = desired
        self.warnings: list[Problem] = []

    def problems(self) -> list[Problem]:
        """Return what blocks the plan."""
        return [
            *self._check_domains(),
            *self._check_members(),
            *self._check_loops(),
            *self._check_delivery(),
        ]

    def _check_domains(self) -> Iterator[Problem]:
        """Yield domains of new addresses that are not registered after the plan."""
        missing: dict[str, list[tuple[Name, Desired]]] = {}
        for desired in self._desired.kept.values():
            for address in sorted(desired.claims):
                if not self._will_have_domain(address.domain):
                    missing.setdefault(address.domain.key, []).append((address, desired))
        for users in missing.values():
            addresses = sorted(address for address, _desired in users)
            is_purged = self._state.has_domain(addresses[0].domain)
            params = {"names": listed(map(str, addresses)), "domain": addresses[0].domain}
            first, desired = min(users, key=lambda user: user[0])
            code = "domain_purged" if is_purged else "domain_missing"
            yield Problem(code, params, desired.place_of(first), prerequisite=True)

    def _will_have_domain(self, domain: Name) -> bool:
        if domain in self._definition.domains:
            return not self._definition.domains[domain].absent
        return domain not in self._desired.deleted and self._state.has_domain(domain)

    def _check_members(self) -> Iterator[Problem]:
        for desired in self._desired.kept.values():
            after, declared = desired.after, desired.declared
            if isinstance(after, Forwarder) and declared is not None and not after.members:
                # Without the option, the task relies on a forwarder that exists.
                is_prerequisite = (
                    desired.is_new
                    and isinstance(declared, DeclaredForwarder)
                    and declared.members is None
                )
                params = {"name": desired.name}
                yield Problem("no_members", params, desired.place, prerequisite=is_prerequisite)

    def _check_loops(self) -> Iterator[Problem]:
        changed = {d.name for d in self._desired.kept.values() if d.claims or d.add_members}
        if not any(isinstance(self._desired.kept[name].current, Forwarder) for name in changed):
            return
        before = [each for each in self._state.principals if isinstance(each, Forwarder)]
        after = forwarding_graph(self._desired.forwarders(self._state.principals))
        for cycle in find_new_cycles(forwarding_graph(before), after):
            start = min(changed.intersection(cycle), default=cycle[0])
            at = cycle.index(start)
            way = describe_cycle([*cycle[at:-1], *cycle[:at], start])
            holder = self._desired.kept.get(start)
            params = {"name": start, "way": way}
            yield Problem("forwarding_loop", params, holder.place if holder else None)

    def _check_delivery(self) -> Iterator[Problem]:
        """Yield members of forwarders to which nothing is delivered after the plan.

        Those that a definition of the whole tenant causes are refused, others are warnings.
        """
        kept = self._desired.kept.values()
        is_whole = self._definition.is_whole
        if not is_whole and not (
            self._desired.deleted or any(d.remove or d.add_members for d in kept)
        ):
            return
        claimed = {address for desired in kept for address in desired.claims}
        for forwarder in self._desired.forwarders(self._state.principals):
            desired = self._desired.kept.get(forwarder.name)
            is_declared = desired is not None and desired.declared is not None
            place = desired.place if desired else None
            for member in sorted(forwarder.members - claimed - forwarder.addresses):
                if not (
                    self._will_have_domain(member.domain) or self._state.has_domain(member.domain)
                ):
                    continue
                owner = self._state.owner_of(member)
                params = {"name": forwarder.name, "member": member}
                if owner is not None:
                    lost = self._why_lost(owner, member)
                    if lost:
                        problem = Problem("member_removed", params | lost, place)
                        if is_declared and is_whole:
                            yield problem
                        else:
                            self.warnings.append(problem)
                    continue
                declared = self._definition.individuals.get(member)
                is_new = (declared is not None and declared.absent) or (
                    desired is not None and member in desired.add_members
                )
                if is_declared and (is_new or is_whole):
                    problem = Problem("member_missing", params, place)
                    if is_new and is_whole:
                        yield problem
                    else:
                        self.warnings.append(problem)

    def _why_lost(self, owner: Principal, address: Name) -> dict[str, str]:
        """Return the parameters of ``member_removed``; none if mail is still delivered."""
        holder = self._desired.kept.get(owner.name)
        if owner.name in self._desired.deleted:
            reason, lost = self._desired.deleted[owner.name], f"{owner.kind} {owner.name}"
            is_unnamed = owner.name in self._desired.unnamed[owner.kind]
        elif holder is not None and address in holder.remove:
            reason, lost = holder.remove[address], f"alias {address} of {owner.kind} {owner.name}"
            is_unnamed = address in self._desired.unnamed[ALIAS]
        else:
            return {}
        or_keep = (
            ", declare it, or add it to ignore" if is_unnamed and self._definition.is_whole else ""
        )
        return {"lost": lost, "why": str(reason), "or_keep": or_keep}
