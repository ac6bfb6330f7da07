# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""The planner: from what a tenant holds and what is wanted to an ordered list of changes.

Pure: it asks a Tenant and sends nothing. What does not fit is collected as problems; a plan with
problems is never carried out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from .changes import Change, Plan, Problem
from .models import Domain, Edit, Foreign, Forwarder, Individual, Mailbox, Principal, spelled
from .names import Name
from .tenant import Tenant

_MOST_LISTED = 10


@dataclass(frozen=True, slots=True)
class WantedMailbox:
    """A mailbox as declared. ``aliases`` of None leaves them alone, an empty set does not."""

    name: Name
    passwords: tuple[str, ...] = field(default=(), repr=False)
    replace_passwords: bool = False
    aliases: frozenset[Name] | None = None
    purge_aliases: bool = False


@dataclass(frozen=True, slots=True)
class WantedForwarder:
    """A forwarder as declared. A list of None is left alone."""

    name: Name
    members: frozenset[Name] | None = None
    purge_members: bool = True
    aliases: frozenset[Name] | None = None
    purge_aliases: bool = False


def plan_domain(tenant: Tenant, name: Name) -> Plan:
    """Plan that a domain is registered."""
    found = tenant.find(name)
    if found is not None:
        return Plan(problems=tuple(_wrong_kind(found, Domain)))
    return Plan((Change("create", None, Domain(name), "it is not registered"),))


def plan_domain_removal(tenant: Tenant, name: Name, *, force: bool) -> Plan:
    """Plan that a domain is gone, and with ``force`` all that it holds.

    What it holds is deleted by name before it, since not every server cascades.
    """
    found = tenant.find(name)
    if found is None or not isinstance(found, Domain):
        return Plan(problems=tuple(_wrong_kind(found, Domain)))
    residents, borrowers = tenant.named_on(name), tenant.borrowing_from(name)
    holders = [*residents, *(principal for principal, addresses in borrowers)]
    foreign = [p for p in holders if isinstance(p, Foreign)]
    if foreign:
        return Plan(problems=(Problem(_holds(name, foreign) + " Delete them first by hand."),))
    if (residents or borrowers) and not force:
        return Plan(problems=(_still_used(name, residents, borrowers),))
    reason = f"its domain {name} is deleted with all that it holds"
    changes = [
        _update(p, Edit(remove_aliases=addresses), reason)
        for p, addresses in borrowers
        if isinstance(p, (Mailbox, Forwarder))
    ]
    changes += [Change("delete", p, None, reason) for p in residents]
    changes.append(Change("delete", found, None, "it is to be absent"))
    return Plan(tuple(changes))


def plan_mailbox(tenant: Tenant, wanted: WantedMailbox) -> Plan:
    """Plan that a mailbox is there, with its aliases and passwords."""
    found = tenant.find(wanted.name)
    if found is None:
        after = Mailbox(wanted.name, (wanted.aliases or frozenset()) - {wanted.name})
        problems = [*_no_password(wanted), *_claims(tenant, after, after.addresses)]
        change = Change("create", None, after, "it is not there", secrets=wanted.passwords)
        return Plan((change,), tuple(problems))
    if not isinstance(found, Mailbox):
        return Plan(problems=tuple(_wrong_kind(found, Mailbox)))
    add, remove = _difference(found.aliases, wanted.aliases, purge=wanted.purge_aliases)
    edit = Edit(add_aliases=add - {wanted.name}, remove_aliases=remove)
    secrets = wanted.passwords if wanted.replace_passwords else ()
    problems = list(_claims(tenant, found, edit.add_aliases))
    return Plan(_changes(found, edit, secrets), tuple(problems))


def plan_forwarder(tenant: Tenant, wanted: WantedForwarder) -> Plan:
    """Plan that a forwarder is there, with its members."""
    found = tenant.find(wanted.name)
    if found is not None and not isinstance(found, Forwarder):
        return Plan(problems=tuple(_wrong_kind(found, Forwarder)))
    current = found or Forwarder(wanted.name)
    add, remove = _difference(current.aliases, wanted.aliases, purge=wanted.purge_aliases)
    join, leave = _difference(current.members, wanted.members, purge=wanted.purge_members)
    edit = Edit(add - {wanted.name}, remove, join, leave)
    after = edit.applied_to(current)
    if found is None:
        changes: tuple[Change, ...] = (Change("create", None, after, "it is not there"),)
        new = after.addresses
    else:
        changes, new = _changes(found, edit), edit.add_aliases
    problems = [*_claims(tenant, current, new), *_forwarding(tenant, after, edit, found)]
    return Plan(changes, tuple(problems))


def plan_alias(tenant: Tenant, address: Name, mailbox: Name, *, move: bool) -> Plan:
    """Plan that an address is an alias of a mailbox; with ``move``, of no other."""
    found = tenant.find(mailbox)
    if found is None:
        text = f"The mailbox {mailbox} does not exist. Create it first."
        absent = Mailbox(mailbox)
        problem = Problem(text, prerequisite=True)
        change = _update(absent, Edit(add_aliases=frozenset({address})), "it lacks the alias")
        return Plan((change,), (problem, *_domain_missing(tenant, [address])))
    if not isinstance(found, Mailbox):
        return Plan(problems=tuple(_wrong_kind(found, Mailbox)))
    if address in found.addresses:
        return Plan()
    add = _changes(found, Edit(add_aliases=frozenset({address})))
    owner = tenant.owner_of(address)
    if not (move and isinstance(owner, (Mailbox, Forwarder)) and address in owner.aliases):
        return Plan(add, tuple(_claims(tenant, found, {address})))
    leave = _update(owner, Edit(remove_aliases=frozenset({address})), f"moves to {mailbox}")
    return Plan((leave, *add), all_or_nothing=True)


def plan_alias_removal(tenant: Tenant, address: Name, mailbox: Name) -> Plan:
    """Plan that an address is no alias of a mailbox."""
    found = tenant.find(mailbox)
    if found is None:
        return Plan()
    if not isinstance(found, Mailbox):
        return Plan(problems=tuple(_wrong_kind(found, Mailbox)))
    if address == mailbox:
        text = f"{address} is the mailbox's primary address and stays while the mailbox does."
        return Plan(problems=(Problem(f"{text} Delete the mailbox instead."),))
    return Plan(_changes(found, Edit(remove_aliases=found.aliases & {address})))


def plan_removal(tenant: Tenant, name: Name, kind: type[Individual]) -> Plan:
    """Plan that a mailbox or a forwarder is gone."""
    found = tenant.find(name)
    problems = tuple(_wrong_kind(found, kind))
    if found is None or problems:
        return Plan(problems=problems)
    return Plan((Change("delete", found, None, "it is to be absent"),))


def _changes(found: Individual, edit: Edit, secrets: tuple[str, ...] = ()) -> tuple[Change, ...]:
    """Return the update that an edit and new passwords call for, or nothing."""
    reasons = list(_differences_in_words(edit))
    if secrets:
        reasons.append("its passwords are to be replaced")
    return (_update(found, edit, ", ".join(reasons), secrets),) if reasons else ()


def _update(found: Individual, edit: Edit, reason: str, secrets: tuple[str, ...] = ()) -> Change:
    return Change("update", found, edit.applied_to(found), reason, edit, secrets)


def _difference(
    current: frozenset[Name], wanted: frozenset[Name] | None, *, purge: bool
) -> tuple[frozenset[Name], frozenset[Name]]:
    """Return what to add to a list and what to remove from it."""
    if wanted is None:
        return frozenset(), frozenset()
    return wanted - current, current - wanted if purge else frozenset()


def _differences_in_words(edit: Edit) -> Iterator[str]:
    for names, words in (
        (edit.add_aliases, "it lacks the alias"),
        (edit.remove_aliases, "it has the undeclared alias"),
        (edit.add_members, "it lacks the member"),
        (edit.remove_members, "it has the undeclared member"),
    ):
        if names:
            yield f"{words} {_listed(spelled(names))}"


def _claims(tenant: Tenant, claimant: Individual, new: Iterable[Name]) -> Iterator[Problem]:
    """Yield what stands against a principal's claim on addresses that it does not have yet."""
    new = sorted(new)
    for address in new:
        owner = tenant.owner_of(address)
        if owner is not None and owner.name != claimant.name:
            yield Problem(
                f"{address} is taken: it delivers to the {owner.kind} {owner.name}. "
                "Choose another address, or free it there first."
            )
    yield from _domain_missing(tenant, new)


def _domain_missing(tenant: Tenant, addresses: Iterable[Name]) -> Iterator[Problem]:
    for domain in dict.fromkeys(address.domain for address in addresses):
        if not tenant.has_domain(domain):
            on_it = spelled(frozenset(a for a in addresses if a.domain == domain))
            yield Problem(
                f"{_listed(on_it)}: the domain {domain} is not registered in this tenant. "
                "Register it first, or check its spelling.",
                prerequisite=True,
            )


def _no_password(wanted: WantedMailbox) -> Iterator[Problem]:
    if not wanted.passwords:
        yield Problem(
            f"The mailbox {wanted.name} does not exist yet and can't be created without a "
            "password. Set passwords to a list of at least one."
        )


def _forwarding(
    tenant: Tenant, after: Individual, edit: Edit, found: Forwarder | None
) -> Iterator[Problem]:
    """Yield what stands against a forwarder's members."""
    if not isinstance(after, Forwarder):
        return
    if not after.members:
        what = "would be left without members" if found else "has no members"
        yield Problem(
            f"The forwarder {after.name} {what}. Name at least one destination in members, "
            "or set state to absent."
        )
    if not (edit.add_members or edit.add_aliases or found is None):
        return
    loop = tenant.loop_through(after)
    if loop:
        yield Problem(
            f"Mail to {after.name} would run in a circle: {' -> '.join(map(str, loop))}. "
            "Take one of these out of members."
        )


def _wrong_kind(found: Principal | None, kind: type[Domain | Individual]) -> Iterator[Problem]:
    if found is None or isinstance(found, kind):
        return
    loss = " and the mail stored in it" if isinstance(found, Mailbox) else ""
    yield Problem(
        f"{found.name} is a {found.kind}, not a {kind.kind}, and is never converted. "
        f"Choose another name, or delete the {found.kind}{loss} first."
    )


def _still_used(
    domain: Name,
    residents: list[Principal],
    borrowers: list[tuple[Principal, frozenset[Name]]],
) -> Problem:
    used = _holds(domain, residents, borrowers)
    return Problem(
        f"{used} Delete these first, or set force to true to delete all of them "
        "with the domain, stored mail included."
    )


def _holds(
    domain: Name,
    residents: Sequence[Principal],
    borrowers: Iterable[tuple[Principal, frozenset[Name]]] = (),
) -> str:
    things = [f"{p.kind} {p.name}" for p in sorted(residents, key=lambda p: p.name)]
    for principal, addresses in borrowers:
        things += [f"alias {a} of the {principal.kind} {principal.name}" for a in sorted(addresses)]
    return f"The domain {domain} still holds {len(things)}: {_listed(things)}."


def _listed(things: list[str]) -> str:
    shown = ", ".join(things[:_MOST_LISTED])
    more = len(things) - _MOST_LISTED
    return f"{shown} and {more} more" if more > 0 else shown
