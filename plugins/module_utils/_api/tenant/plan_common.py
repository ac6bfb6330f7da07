# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Planning: from what a tenant holds and what is wanted to an ordered list of changes.

There is a planner for each kind (``plan_domain``, ``plan_mailbox``, ``plan_alias``,
``plan_forwarder``), so that a task imports what it uses; this is what they share. All of it is
pure: it asks a Tenant and sends nothing. What does not fit is collected as problems; a plan with
problems is never carried out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from itertools import chain

from ..models import Domain, Edit, Individual, Mailbox, Principal, spelled
from ..names import Name
from .changes import Change, Plan, Problem
from .state import Holder, Tenant

_MOST_LISTED = 10


def plan_removal(tenant: Tenant, name: Name, kind: type[Individual]) -> Plan:
    """Plan that a mailbox or a forwarder is gone."""
    found = tenant.find(name)
    problems = tuple(wrong_kind(found, kind, "It is left alone: check the name and the kind."))
    if found is None or problems:
        return Plan(problems=problems)
    warnings = bouncing(tenant, found.addresses, {found.name})
    return Plan((Change("delete", found, None, "it is to be absent"),), warnings=tuple(warnings))


def updates(found: Individual, edit: Edit, secrets: tuple[str, ...] = ()) -> tuple[Change, ...]:
    """Return the update that an edit and new passwords call for, or nothing."""
    reasons = list(differences_in_words(edit))
    if secrets:
        reasons.append("its passwords are to be replaced")
    return (update(found, edit, ", ".join(reasons), secrets),) if reasons else ()


def update(found: Individual, edit: Edit, reason: str, secrets: tuple[str, ...] = ()) -> Change:
    """Return the change that an edit makes of a principal."""
    return Change("update", found, edit.applied_to(found), reason, edit, secrets)


def without_passwords(plan: Plan, names: Collection[Name]) -> Plan:
    """Return the plan without the new passwords of these mailboxes."""
    changes = (
        updates(change.before, change.edit)
        if isinstance(change.before, Mailbox) and change.before.name in names
        else (change,)
        for change in plan.changes
    )
    return plan._replace(changes=tuple(chain.from_iterable(changes)))


def difference(
    current: frozenset[Name], wanted: frozenset[Name] | None, *, purge: bool
) -> tuple[frozenset[Name], frozenset[Name]]:
    """Return what to add to a list and what to remove from it."""
    if wanted is None:
        return frozenset(), frozenset()
    return wanted - current, current - wanted if purge else frozenset()


def claims(tenant: Tenant, claimant: Individual, new: Iterable[Name]) -> Iterator[Problem]:
    """Yield what stands against a principal's claim on addresses that it does not have yet."""
    new = sorted(new)
    for address in new:
        owner = tenant.owner_of(address)
        if owner is not None and owner.name != claimant.name:
            yield Problem(
                f"{address} is taken: it delivers to the {owner.kind} {owner.name}. "
                "Choose another address, or free it there first."
            )
    yield from missing_domains(tenant, new)


def purge_without_list(aliases: frozenset[Name] | None, *, purge: bool) -> Iterator[str]:
    """Yield a warning if purge_aliases is set without aliases."""
    if purge and aliases is None:
        yield (
            "purge_aliases has no effect unless aliases is set. Set aliases to the list to keep, "
            "or to an empty list to remove all."
        )


def bouncing(tenant: Tenant, lost: Collection[Name], changed: Collection[Name]) -> Iterator[str]:
    """Yield a warning for each forwarder with a member that nothing delivers any more.

    :param lost: the addresses that are removed
    :param changed: the names of the principals that lose them, which don't count as forwarders
    """
    if not lost:
        return
    for member, forwarder in tenant.forwarders_to(lost):
        if forwarder.name not in changed:
            yield (
                f"{member} is still a member of the forwarder {forwarder.name}, so mail to "
                f"{forwarder.name} bounces. Remove {member} from its members."
            )


def missing_domains(tenant: Tenant, addresses: Iterable[Name]) -> Iterator[Problem]:
    """Yield the domains of addresses that are not registered."""
    for domain in dict.fromkeys(address.domain for address in addresses):
        if not tenant.has_domain(domain):
            on_it = spelled(frozenset(a for a in addresses if a.domain == domain))
            yield Problem(
                f"{listed(on_it)}: the domain {domain} is not registered in this tenant. "
                "Register it first, or check its spelling.",
                missing=domain_is_missing(domain),
            )


def domain_is_missing(domain: Name) -> str:
    """Return that a domain is missing, as a clause."""
    return f"The domain {domain} is not registered yet"


def wrong_kind(
    found: Principal | None, kind: type[Domain | Individual], remedy: str = ""
) -> Iterator[Problem]:
    """Yield that a name is held by something of another kind, if it is.

    :param remedy: what to do, where it is not to make room
    """
    if found is None or isinstance(found, kind):
        return
    loss = " and the mail stored in it" if isinstance(found, Mailbox) else ""
    make_room = (
        f"It is never converted: choose another name, or delete the {found.kind}{loss} first."
    )
    what = f"{found.name} is a {found.kind}, not a {kind.kind}."
    yield Problem(f"{what} {remedy or make_room}")


def holders_in_words(holders: Iterable[Holder]) -> str:
    """Return who uses a domain, as a number and a row."""
    things = []
    for holder in holders:
        principal = holder.principal
        if holder.is_resident:
            things.append(f"{principal.kind} {principal.name}")
        else:
            owner = f"of the {principal.kind} {principal.name}"
            things += [f"alias {address} {owner}" for address in sorted(holder.addresses)]
    return f"{len(things)} object{'s' if len(things) > 1 else ''}: {listed(sorted(things))}"


def listed(things: list[str]) -> str:
    """Return things in a row, the first ten of them by name."""
    shown = ", ".join(things[:_MOST_LISTED])
    more = len(things) - _MOST_LISTED
    return f"{shown} and {more} more" if more > 0 else shown


def differences_in_words(edit: Edit) -> Iterator[str]:
    """Yield what an edit changes, as reasons for it."""
    for names, words, one, several in (
        (edit.add_aliases, "it lacks the", "alias", "aliases"),
        (edit.remove_aliases, "it is not to have the", "alias", "aliases"),
        (edit.add_members, "it lacks the", "member", "members"),
        (edit.remove_members, "it is not to have the", "member", "members"),
    ):
        if names:
            yield f"{words} {one if len(names) == 1 else several} {listed(spelled(names))}"
