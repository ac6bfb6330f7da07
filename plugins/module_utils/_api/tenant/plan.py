# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Planning a whole tenant: from what it holds and what is declared to steps.

A draft decides, object by object, what goes, what stays and what changes its lists; addresses that
someone claims are taken from those who hold them. The outcome is checked as a whole, and put in
order by ``ordering``. All of it is pure and takes time in proportion to the tenant's size.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from ..models import Domain, Foreign, Forwarder, Individual, Mailbox, Principal
from ..names import Name
from .definition import (
    Declared,
    DeclaredDomain,
    DeclaredForwarder,
    DeclaredIndividual,
    Definition,
    Finding,
    Place,
)
from .drafts import Draft, Drafts, Passwords
from .order import steps_of
from .plan_common import difference, holders_in_words, wrong_kind
from .purge import ALIAS, Purge
from .state import Holder, Tenant, holders_by_domain, knots
from .steps import TenantPlan

_MOST_ON_THE_WAY = 10


def plan_tenant(
    tenant: Tenant, definition: Definition, purge: Purge, passwords: Passwords
) -> TenantPlan:
    """Plan that a tenant is what a definition says."""
    drafts = Drafts()
    findings = [
        *_drop_domains(drafts, tenant, definition),
        *_drop_individuals(drafts, tenant, definition),
        *_purge(drafts, tenant, definition, purge),
        *_keep(drafts, tenant, definition, purge, passwords),
        *_empty_domains(drafts, tenant, definition, purge),
        *_settle_claims(drafts, tenant, definition),
        *_missing_domains(drafts, tenant, definition),
        *_circles(drafts, tenant),
        *purge.findings(drafts.unnamed, _held(tenant)),
    ]
    warnings: list[str] = []
    for bounce in _bounces(drafts, tenant, definition):
        if bounce.is_refused:
            findings.append(Finding(bounce.text, bounce.place))
        else:
            warnings.append(bounce.text)
    drafts.register = [
        declared.name
        for declared in definition.domains.values()
        if not declared.absent and tenant.find(declared.name) is None
    ]
    steps = steps_of(drafts, tenant)
    return TenantPlan(
        steps,
        tuple(findings),
        tuple(_unchanged(definition, {step.change.subject.name for step in steps})),
        tuple(_undeclared(tenant, definition, purge)),
        tuple(_undeclared_aliases(drafts, purge)),
        tuple(warnings),
    )


def _drop_domains(drafts: Drafts, tenant: Tenant, definition: Definition) -> Iterator[Finding]:
    for declared in definition.domains.values():
        found = tenant.find(declared.name)
        if isinstance(found, Domain):
            if declared.absent:
                drafts.gone[found.name] = "it is to be absent"
        else:
            yield from _wrong_kind(declared, found, Domain)


def _drop_individuals(drafts: Drafts, tenant: Tenant, definition: Definition) -> Iterator[Finding]:
    for declared in definition.individuals.values():
        found = tenant.find(declared.name) if declared.absent else None
        if found is None:
            continue
        if isinstance(found, _model(declared)):
            drafts.gone[found.name] = declared.reason
        else:
            yield from _wrong_kind(declared, found, _model(declared))


def _purge(
    drafts: Drafts, tenant: Tenant, definition: Definition, purge: Purge
) -> Iterator[Finding]:
    chosen = [p for p in tenant.principals if not _is_named(definition, p) and purge.takes(p)]
    domains = {p.name for p in chosen if isinstance(p, Domain)}
    held = holders_by_domain(tenant.principals, domains) if domains else {}
    for principal in chosen:
        if held.get(principal.name):
            yield Finding(
                f"The domain {principal.name} is not declared and would be purged, but it holds "
                f"{holders_in_words(held[principal.name])}. A domain that holds anything is only "
                "deleted by name: declare it with state absent, or add it to ignore."
            )
        else:
            drafts.drop_unnamed(principal, "it is not declared")


def _keep(
    drafts: Drafts, tenant: Tenant, definition: Definition, purge: Purge, passwords: Passwords
) -> Iterator[Finding]:
    """Draft each mailbox and forwarder that is declared to be there."""
    claimed = _declared_addresses(definition)
    for declared in definition.individuals.values():
        if declared.absent:
            continue
        found = tenant.find(declared.name)
        if found is not None and not isinstance(found, _model(declared)):
            yield from _wrong_kind(declared, found, _model(declared))
            continue
        draft = _draft(declared, found, purge, claimed)
        for alias in draft.purged:
            drafts.unnamed[ALIAS].add(alias)
        if isinstance(draft.current, Mailbox) and (found is None or passwords.replace):
            draft.secrets = passwords.by_name.get(declared.name, ())
            draft.sets_always = passwords.replace and bool(draft.secrets)
            if found is None and not draft.secrets:
                yield Finding(
                    f"The mailbox {declared.name} does not exist yet and can't be created without "
                    "a password. Give it one in passwords.",
                    declared.place,
                    prerequisite=True,
                )
        drafts.kept[declared.name] = draft


def _draft(
    declared: DeclaredIndividual, found: Principal | None, purge: Purge, claimed: set[Name]
) -> Draft:
    current = found if isinstance(found, (Mailbox, Forwarder)) else _model(declared)(declared.name)
    draft = Draft(declared, current, is_new=found is None)
    held = current.aliases
    if declared.aliases is not None:
        draft.add = declared.aliases - held
        draft.undeclared = held - claimed - declared.absent_aliases.keys()
    draft.purged = purge.of_aliases(draft.undeclared)
    draft.remove = {a: why for a, why in declared.absent_aliases.items() if a in held}
    draft.remove |= dict.fromkeys(draft.purged, "is not declared")
    if isinstance(current, Forwarder) and isinstance(declared, DeclaredForwarder):
        draft.join, draft.leave = difference(current.members, declared.members, purge=True)
    return draft


def _declared_addresses(definition: Definition) -> set[Name]:
    present = [declared for declared in definition.individuals.values() if not declared.absent]
    names = {declared.name for declared in present}
    return names.union(*(declared.aliases or () for declared in present))


def _empty_domains(
    drafts: Drafts, tenant: Tenant, definition: Definition, purge: Purge
) -> Iterator[Finding]:
    """Drop what is left on domains that go, where that is allowed."""
    going = drafts.gone.keys() & definition.domains.keys()
    staying = (drafts.after(p) for p in tenant.principals if p.name not in drafts.gone)
    emptied: list[tuple[Name, Holder]] = []
    for domain, holders in (holders_by_domain(staying, going) if going else {}).items():
        foreign = [held for held in holders if isinstance(held.principal, Foreign)]
        declared = definition.domains[domain]
        if foreign or not declared.force:
            remedy = (
                "Delete them first by hand."
                if foreign
                else "Declare these absent too, or set force to true on the domain to delete all "
                "of them with it, stored mail included."
            )
            yield Finding(
                f"The domain {domain} is to be absent but holds {holders_in_words(holders)}. "
                f"{remedy}",
                declared.place,
            )
            continue
        kept = [held for held in holders if any(map(purge.ignores, _lost_with_domain(held)))]
        if kept:
            yield Finding(
                f"The domain {domain} is to be absent with all that it holds, but ignore keeps "
                f"{holders_in_words(kept)}. Declare these absent, or take them out of ignore.",
                declared.place,
            )
            continue
        emptied += [(domain, held) for held in holders]
    # What goes as a whole comes first: it needs no edit for what it has on another domain.
    for domain, held in sorted(emptied, key=lambda row: not row[1].is_resident):
        drafts.leave_domain(held.principal, domain, held.addresses)


def _lost_with_domain(held: Holder) -> frozenset[Name]:
    """Return which addresses go with a domain: all of what is named there, else those on it."""
    return held.principal.addresses | held.addresses if held.is_resident else held.addresses


def _settle_claims(drafts: Drafts, tenant: Tenant, definition: Definition) -> Iterator[Finding]:
    """Take the addresses that are claimed from those who hold them, if that is theirs to give."""
    for draft in list(drafts.kept.values()):
        for address in sorted(draft.claims):
            owner = tenant.owner_of(address)
            if owner is None or owner.name == draft.name or owner.name in drafts.gone:
                continue
            holder = drafts.kept.get(owner.name)
            is_declared = owner.name in definition.individuals
            if is_declared and holder is not None and address != owner.name:
                holder.remove.setdefault(address, f"moves to {draft.name}")
                if holder.declared is not None and holder.declared.aliases is None:
                    yield Finding(
                        f"{address} is taken: it is an alias of the {owner.kind} {owner.name}, "
                        "which is declared without aliases. Add a list of aliases there without "
                        "this address, or remove the address there first.",
                        draft.place_of(address),
                    )
            elif not is_declared:
                yield Finding(
                    f"{address} is taken: it delivers to the {owner.kind} {owner.name}, which is "
                    "not declared. Declare that too, or remove the address there first.",
                    draft.place_of(address),
                )


class _Bounce(NamedTuple):
    """A member of a forwarder on one of the tenant's domains that nothing delivers.

    :param is_refused: the definition brings it about, and does not only find it so
    """

    text: str
    place: Place | None
    is_refused: bool


def _bounces(drafts: Drafts, tenant: Tenant, definition: Definition) -> Iterator[_Bounce]:
    domains = _domains_after(drafts, tenant, definition)
    claimed = {address for draft in drafts.kept.values() for address in draft.claims}
    staying = [drafts.after(p) for p in tenant.principals if p.name not in drafts.gone]
    staying += [draft.after for draft in drafts.kept.values() if draft.is_new]
    for forwarder in staying:
        if not isinstance(forwarder, Forwarder):
            continue
        draft = drafts.kept.get(forwarder.name)
        is_declared = draft is not None and draft.declared is not None
        for member in sorted(forwarder.members - claimed):
            if member.key.rpartition("@")[2] not in domains:
                continue
            owner = tenant.owner_of(member)
            if owner is None:
                declared = definition.individuals.get(member)
                is_new = (declared is not None and declared.absent) or (
                    draft is not None and member in draft.join
                )
                why = "no mailbox or forwarder has this address"
                remedy = "Declare it, drop it from the members, or check its spelling."
            else:
                is_new = True
                why, remedy = _why_lost(drafts, owner, member)
                if not why:
                    continue
            if is_declared or (is_new and owner is not None):
                yield _Bounce(
                    f"{member} is a member of the forwarder {forwarder.name}, but {why}, so that "
                    f"mail to {forwarder.name} would bounce. {remedy}",
                    draft.place if draft else None,
                    is_declared and is_new,
                )


def _why_lost(drafts: Drafts, owner: Principal, address: Name) -> tuple[str, str]:
    """Return why an address no longer delivers, and what to do; empty if it does deliver."""
    holder = drafts.kept.get(owner.name)
    if owner.name in drafts.gone:
        reason, lost = drafts.gone[owner.name].removeprefix("it "), f"{owner.kind} {owner.name}"
        is_unnamed = owner.name in drafts.unnamed[owner.kind]
    elif holder is not None and address in holder.remove:
        reason, lost = holder.remove[address], f"alias {address} of {owner.kind} {owner.name}"
        is_unnamed = address in drafts.unnamed[ALIAS]
    else:
        return "", ""
    if is_unnamed:
        purged = " and would be purged" if reason == "is not declared" else ""
        remedy = "Declare it, drop it from the members, or add it to ignore."
        return f"the {lost} {reason}{purged}", remedy
    return f"the {lost} {reason}", "Drop it from the members."


def _missing_domains(drafts: Drafts, tenant: Tenant, definition: Definition) -> Iterator[Finding]:
    there = {p.name.key for p in tenant.principals if isinstance(p, Domain)}
    usable = _domains_after(drafts, tenant, definition)
    missing: dict[str, list[tuple[Name, Draft]]] = {}
    for draft in drafts.kept.values():
        for address in sorted(draft.claims):
            domain = address.key.rpartition("@")[2]
            if domain not in usable:
                missing.setdefault(domain, []).append((address, draft))
    for key, users in missing.items():
        address, draft = min(users, key=lambda user: user[0].key)
        others = f" and {len(users) - 1} more" if len(users) > 1 else ""
        problem = (
            "is not declared and would be purged. Add it to domains, or to ignore."
            if key in there
            else "is not registered in this tenant. Add it to domains, or check its spelling."
        )
        yield Finding(
            f"{address}{others}: the domain {address.domain} {problem}",
            draft.place_of(address),
            prerequisite=True,
        )


def _domains_after(drafts: Drafts, tenant: Tenant, definition: Definition) -> set[str]:
    there = {p.name.key for p in tenant.principals if isinstance(p, Domain)}
    declared = {d.name.key for d in definition.domains.values() if not d.absent}
    return there - {name.key for name in drafts.gone} | declared


def _circles(drafts: Drafts, tenant: Tenant) -> Iterator[Finding]:
    """Yield the circles that mail would run in, as far as they come from what is changed."""
    changed = {d.name for d in drafts.kept.values() if d.claims or d.join}
    if not any(isinstance(drafts.kept[name].current, Forwarder) for name in changed):
        return
    staying = [drafts.after(p) for p in tenant.principals if p.name not in drafts.gone]
    staying += [draft.after for draft in drafts.kept.values() if draft.is_new]
    for group in knots(p for p in staying if isinstance(p, Forwarder)):
        touched = [forwarder for forwarder in group if forwarder.name in changed]
        if touched:
            start = min(touched, key=lambda forwarder: forwarder.name)
            way = Tenant(group).loop_through(start) or []
            yield Finding(
                f"Mail to {start.name} would run in a circle: {_in_short(way)}. "
                "Take one of these out of members.",
                drafts.kept[start.name].place,
            )


def _in_short(way: list[Name]) -> str:
    names = list(map(str, way))
    more = len(names) - _MOST_ON_THE_WAY
    if more > 0:
        names = [*names[: _MOST_ON_THE_WAY - 1], f"{more} more", names[-1]]
    return " -> ".join(names)


def _wrong_kind(
    declared: DeclaredDomain | DeclaredIndividual,
    found: Principal | None,
    kind: type[Domain | Individual],
) -> Iterator[Finding]:
    for problem in wrong_kind(found, kind):
        yield Finding(problem.text, declared.place)


def _model(declared: DeclaredIndividual) -> type[Individual]:
    return Mailbox if declared.kind == Mailbox.kind else Forwarder


def _is_named(definition: Definition, principal: Principal) -> bool:
    name = principal.name
    return (
        name in definition.individuals
        or name in definition.domains
        or isinstance(principal, Foreign)
    )


def _undeclared(tenant: Tenant, definition: Definition, purge: Purge) -> Iterator[Principal]:
    for principal in tenant.principals:
        if not _is_named(definition, principal) and not purge.ignores(principal.name):
            yield principal


def _undeclared_aliases(drafts: Drafts, purge: Purge) -> Iterator[tuple[Name, Individual]]:
    for draft in drafts.kept.values():
        for alias in draft.undeclared:
            if not purge.ignores(alias):
                yield alias, draft.current


def _unchanged(definition: Definition, changed: set[Name]) -> Iterator[Declared]:
    for declared in (*definition.domains.values(), *definition.individuals.values()):
        if declared.name not in changed:
            yield declared


def _held(tenant: Tenant) -> Counter[str]:
    held = Counter(principal.kind for principal in tenant.principals)
    held[ALIAS] = sum(
        len(p.aliases) for p in tenant.principals if isinstance(p, (Mailbox, Forwarder))
    )
    return held
