# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Planning that a domain is registered or gone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..models import Domain, Edit, Foreign, Forwarder, Mailbox, Principal
from ..names import Name
from .changes import Change, Plan, Problem
from .common import listed, update, wrong_kind
from .tenant import Tenant


def plan_domain(tenant: Tenant, name: Name) -> Plan:
    """Plan that a domain is registered."""
    found = tenant.find(name)
    if found is not None:
        return Plan(problems=tuple(wrong_kind(found, Domain)))
    return Plan((Change("create", None, Domain(name), "it is not registered"),))


def plan_domain_removal(tenant: Tenant, name: Name, *, force: bool) -> Plan:
    """Plan that a domain is gone, and with ``force`` all that it holds.

    What it holds is deleted by name before it, since not every server cascades.
    """
    found = tenant.find(name)
    if found is None or not isinstance(found, Domain):
        return Plan(problems=tuple(wrong_kind(found, Domain)))
    residents, borrowers = tenant.named_on(name), tenant.borrowing_from(name)
    holders = [*residents, *(principal for principal, addresses in borrowers)]
    foreign = [p for p in holders if isinstance(p, Foreign)]
    if foreign:
        return Plan(problems=(Problem(_holds(name, foreign) + " Delete them first by hand."),))
    if (residents or borrowers) and not force:
        return Plan(problems=(_still_used(name, residents, borrowers),))
    reason = f"its domain {name} is deleted with all that it holds"
    changes = [
        update(p, Edit(remove_aliases=addresses), reason)
        for p, addresses in borrowers
        if isinstance(p, (Mailbox, Forwarder))
    ]
    changes += [Change("delete", p, None, reason) for p in residents]
    changes.append(Change("delete", found, None, "it is to be absent"))
    return Plan(tuple(changes))


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
    count = f"{len(things)} object{'s' if len(things) > 1 else ''}"
    return f"The domain {domain} still holds {count}: {listed(things)}."
