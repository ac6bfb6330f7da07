# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""The planner, which compares the current state with a definition and returns the changes.

The planner compares each object and resolves conflicts between addresses. ``check_desired_state``
then checks the desired state as a whole, and ``order`` turns it into changes. A task for a single
object plans a definition that consists of this object, and reads only the state that it needs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..models import ALIAS, Domain, Individual, Mailbox, Principal, UnmanagedPrincipal
from ..names import Name
from .declared import (
    Declared,
    DeclaredDomain,
    DeclaredIndividual,
    DeclaredMailbox,
    Definition,
    Passwords,
)
from .desired_state import DesiredObject, DesiredState
from .plan import Plan
from .problems import DECLARED_ABSENT, Problem, Reason
from .state import Occupant, TenantState

if TYPE_CHECKING:
    from .purge import Purge


def plan_tenant(
    state: TenantState,
    definition: Definition,
    purge: Purge | None = None,
    passwords: Passwords = Passwords(),  # noqa: B008 - it is frozen
) -> Plan:
    """Return the plan that makes a tenant match a definition.

    :param purge: the undeclared objects that may be deleted, none by default; only for a definition
        of the whole tenant
    """
    if definition.is_whole and purge is None:
        from .purge import Purge  # noqa: PLC0415

        purge = Purge()
    return _Planner(state, definition, purge, passwords).plan()


@dataclass
class _Planner:
    state: TenantState
    definition: Definition
    purge: Purge | None
    passwords: Passwords
    desired_state: DesiredState = field(default_factory=DesiredState)

    def plan(self) -> Plan:
        problems = [
            *self._decide_domains(),
            *self._decide_individuals(),
            *self._purge_undeclared(),
            *self._clear_deleted_domains(),
            *self._resolve_address_conflicts(),
            *self._check_limits(),
        ]
        warnings = [
            Problem("purge_without_aliases")
            for each in self.definition.individuals.values()
            if each.purge_aliases and each.aliases is None and not each.absent
        ]
        declared = (*self.definition.domains.values(), *self.definition.individuals.values())
        if not self.definition.is_whole and self.desired_state.is_unchanged:
            return Plan((), tuple(problems), tuple(warnings), declared)
        # Import these only here, because most tasks for one object have nothing to change.
        from .check_desired_state import check_desired_state  # noqa: PLC0415
        from .order import order_changes  # noqa: PLC0415

        blocking, others = check_desired_state(self.state, self.definition, self.desired_state)
        problems, warnings = problems + blocking, others + warnings
        changes = order_changes(self.desired_state, self.state)
        changed = {change.subject.name for change in changes}
        unchanged = tuple(each for each in declared if each.name not in changed)
        plan = Plan(changes, tuple(problems), tuple(warnings), unchanged)
        if not self.definition.is_whole:
            return plan
        return plan._replace(
            undeclared=tuple(each for each in self._undeclared() if not self._ignores(each.name)),
            undeclared_aliases=tuple(
                (alias, desired.current)
                for desired in self.desired_state.present.values()
                for alias in desired.undeclared
                if not self._ignores(alias)
            ),
        )

    def _ignores(self, name: Name) -> bool:
        return self.purge is not None and self.purge.ignores(name)

    def _decide_domains(self) -> Iterator[Problem]:
        for declared in self.definition.domains.values():
            found = self.state.find(declared.name)
            if found is None:
                if not declared.absent:
                    self.desired_state.register.append(declared.name)
            elif not isinstance(found, Domain):
                yield _wrong_kind(declared, found)
            elif declared.absent:
                self.desired_state.deleted[found.name] = DECLARED_ABSENT

    def _decide_individuals(self) -> Iterator[Problem]:
        """Plan the changes to each declared mailbox and forwarder individually."""
        present = [each for each in self.definition.individuals.values() if not each.absent]
        claimed = {each.name for each in present}
        claimed = claimed.union(*(each.aliases or () for each in present))
        for declared in self.definition.individuals.values():
            found = self.state.find(declared.name)
            if found is not None and not isinstance(found, declared.model):
                yield _wrong_kind(declared, found)
            elif not declared.absent:
                yield from self._decide_individual(declared, found, claimed)
            elif found is not None:
                self.desired_state.deleted[found.name] = declared.reason
        yield from self._require_passwords()

    def _decide_individual(
        self, declared: DeclaredIndividual, found: Individual | None, claimed: set[Name]
    ) -> Iterator[Problem]:
        """Plan the changes to a mailbox or forwarder that is declared present."""
        current = found or declared.model(declared.name)
        desired = self._plan_lists(declared, current, claimed)
        if isinstance(declared, DeclaredMailbox) and declared.only_aliases:
            aliases = declared.aliases or frozenset()
            if found is not None and declared.name in declared.absent_aliases:
                yield Problem("primary_address", {"address": declared.name}, declared.place)
                return
            if found is None and not aliases:
                return
            domain = declared.name.domain
            if found is None and self.state.has_domain(domain):
                yield Problem("mailbox_missing", {"name": declared.name}, prerequisite=True)
            elif found is None and domain not in {alias.domain for alias in aliases}:
                params = {"names": str(declared.name), "domain": domain}
                yield Problem("domain_missing", params, prerequisite=True)
        else:
            desired.is_new = found is None
            if isinstance(current, Mailbox) and (desired.is_new or self.passwords.replace):
                desired.secrets = self.passwords.by_name.get(declared.name, ())
                # A task for one object plans again if another client creates the object first.
                desired.set_if_created_meanwhile = (
                    self.definition.is_whole and self.passwords.replace and bool(desired.secrets)
                )
        self.desired_state.present[declared.name] = desired

    def _require_passwords(self) -> Iterator[Problem]:
        """Yield one problem about all new mailboxes without a password."""
        missing = [
            desired.declared
            for desired in self.desired_state.present.values()
            if desired.is_new
            and isinstance(desired.declared, DeclaredMailbox)
            and not desired.secrets
        ]
        if missing:
            from .messages import first_ten  # noqa: PLC0415

            params = {"names": first_ten(str(each.name) for each in missing)}
            place = missing[0].place if len(missing) == 1 else None
            yield Problem("password_missing", params, place, prerequisite=True)

    def _plan_lists(
        self, declared: DeclaredIndividual, current: Individual, claimed: set[Name]
    ) -> DesiredObject:
        desired = DesiredObject(declared, current, declared_edit=declared.edit_of(current))
        if declared.aliases is not None:
            desired.undeclared = current.aliases - claimed - declared.absent_aliases.keys()
        absent = declared.absent_aliases.items()
        desired.remove = {alias: why for alias, why in absent if alias in current.aliases}
        if declared.purge_aliases and declared.aliases is not None:
            # The declaration itself requires this, so the limits for purging don't apply.
            purged = desired.undeclared
        else:
            purge = self.purge
            purged = frozenset(a for a in desired.undeclared if purge and purge.takes(ALIAS, a))
            self.desired_state.deleted_implicitly[ALIAS] |= purged
        desired.remove |= dict.fromkeys(purged, Reason("undeclared"))
        return desired

    def _purge_undeclared(self) -> Iterator[Problem]:
        if self.purge is None or not self.purge.kinds:
            return
        takes = self.purge.takes
        chosen = [e for e in self._undeclared() if takes(e.kind, e.name, e.addresses)]
        domains = {each.name for each in chosen if isinstance(each, Domain)}
        occupants = self.state.occupants(domains) if domains else {}
        for principal in chosen:
            if principal.name in occupants:
                holders = _describe(occupants[principal.name])
                params = {"domain": principal.name, "holders": holders}
                yield Problem("domain_in_use_undeclared", params)
            else:
                self.desired_state.delete_implicitly(principal, Reason("undeclared"))

    def _clear_deleted_domains(self) -> Iterator[Problem]:
        """Delete the remaining objects on deleted domains, if that is allowed."""
        deleted = self.desired_state.deleted.keys() & self.definition.domains.keys()
        if not deleted:
            return
        remaining = TenantState(
            principals=[
                self.desired_state.after(each)
                for each in self.state.principals
                if each.name not in self.desired_state.deleted
            ]
        )
        emptied: list[tuple[Name, Occupant]] = []
        for domain, occupants in sorted(remaining.occupants(deleted).items()):
            declared = self.definition.domains[domain]
            unmanaged = [o for o in occupants if isinstance(o.principal, UnmanagedPrincipal)]
            ignored = [each for each in occupants if any(map(self._ignores, _lost(each)))]
            if unmanaged:
                code, blocking = "domain_in_use_unmanaged", unmanaged
            elif not declared.force:
                code, blocking = "domain_in_use", occupants
            elif ignored:
                code, blocking = "domain_in_use_ignored", ignored
            else:
                emptied += [(domain, each) for each in occupants]
                continue
            params = {"domain": domain, "holders": _describe(blocking)}
            yield Problem(code, params, declared.place)
        # Delete whole objects first, because their aliases don't have to be removed separately.
        for domain, occupant in sorted(emptied, key=lambda row: not row[1].is_resident):
            owner, params = occupant.principal, {"domain": domain}
            if occupant.is_resident:
                self.desired_state.delete_implicitly(owner, Reason("domain_deleted", params))
            elif owner.name not in self.desired_state.deleted and isinstance(owner, Individual):
                lost = dict.fromkeys(occupant.addresses, Reason("alias_domain_deleted", params))
                self.desired_state.entry_of(owner).remove |= lost
                self.desired_state.deleted_implicitly[ALIAS] |= occupant.addresses

    def _resolve_address_conflicts(self) -> Iterator[Problem]:
        """Take claimed addresses away from their owners, if the definition allows it."""
        for desired in list(self.desired_state.present.values()):
            for address in sorted(desired.claims):
                owner = self.state.owner_of(address)
                if (
                    owner is None
                    or owner.name == desired.name
                    or owner.name in self.desired_state.deleted
                ):
                    continue
                code = self._resolve_address_conflict(desired, address, owner)
                if code:
                    params = {"address": address, "kind": owner.kind, "owner": owner.name}
                    yield Problem(code, params, desired.place_of(address))

    def _resolve_address_conflict(
        self, desired: DesiredObject, address: Name, owner: Principal
    ) -> str:
        """Move an address to its new owner, or return the code of the problem."""
        moves = Reason("alias_moves", {"owner": desired.name})
        holder = self.desired_state.present.get(owner.name)
        if owner.name in self.definition.individuals:
            # Other checks have already refused an owner that can't be changed, and an address that
            # is declared twice.
            if holder is None or address == owner.name:
                return ""
            holder.remove.setdefault(address, moves)
            is_unlisted = holder.declared is not None and holder.declared.aliases is None
            return "alias_in_use_unlisted" if is_unlisted else ""
        declared = desired.declared
        if isinstance(declared, DeclaredMailbox) and declared.only_aliases:
            if not isinstance(owner, Individual):
                return "address_in_use"
            if address == owner.name:
                return "primary_address_in_use"
            if not declared.move:
                return "alias_in_use"
            self.desired_state.entry_of(owner).remove[address] = moves
            return ""
        return "address_in_use_undeclared" if self.definition.is_whole else "address_in_use"

    def _check_limits(self) -> Iterator[Problem]:
        if self.purge is not None and any(self.desired_state.deleted_implicitly.values()):
            existing = Counter(principal.kind for principal in self.state.principals)
            existing[ALIAS] = sum(
                len(each.aliases) for each in self.state.principals if isinstance(each, Individual)
            )
            yield from self.purge.exceeded_limits(self.desired_state.deleted_implicitly, existing)

    def _undeclared(self) -> Iterator[Principal]:
        for principal in self.state.principals:
            if (
                principal.name not in self.definition.individuals
                and principal.name not in self.definition.domains
                and not isinstance(principal, UnmanagedPrincipal)
            ):
                yield principal


def _wrong_kind(declared: Declared, found: Principal) -> Problem:
    params = {
        "name": found.name,
        "found": found.kind,
        "kind": declared.kind,
        "loss": " and its stored mail" if isinstance(found, Mailbox) else "",
    }
    if isinstance(declared, DeclaredMailbox) and declared.only_aliases:
        return Problem("not_a_mailbox", params, declared.place)
    is_absent = declared.absent and not isinstance(declared, DeclaredDomain)
    return Problem("wrong_kind_absent" if is_absent else "wrong_kind", params, declared.place)


def _describe(occupants: Iterable[Occupant]) -> str:
    """Return the number and the names of a domain's occupants."""
    from .messages import first_ten  # noqa: PLC0415

    things = []
    for principal, addresses in occupants:
        if principal.name in addresses:
            things.append(f"{principal.kind} {principal.name}")
        else:
            owner = f"of the {principal.kind} {principal.name}"
            things += [f"alias {address} {owner}" for address in sorted(addresses)]
    return f"{len(things)} object{'s' if len(things) > 1 else ''}: {first_ten(sorted(things))}"


def _lost(occupant: Occupant) -> frozenset[Name]:
    """Return the occupant's addresses that are deleted with the domain."""
    principal, addresses = occupant
    return principal.addresses | addresses if occupant.is_resident else addresses
