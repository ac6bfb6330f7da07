# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Planning that a domain is registered or gone."""

from __future__ import annotations

from ..models import Domain, Edit, Foreign, Forwarder, Mailbox
from ..names import Name
from .changes import Change, Plan, Problem
from .plan_common import bouncing, holders_in_words, update, wrong_kind
from .state import Holder, Tenant


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
    holders = tenant.holders_on(name)
    foreign = [held for held in holders if isinstance(held.principal, Foreign)]
    if foreign:
        return Plan(problems=(_still_used(name, foreign, "Delete them first by hand."),))
    if holders and not force:
        remedy = (
            "Delete these first, or set force to true to delete all of them with the domain, "
            "stored mail included."
        )
        return Plan(problems=(_still_used(name, holders, remedy),))
    reason = f"its domain {name} is deleted with all that it holds"
    changes = [
        update(held.principal, Edit(remove_aliases=held.addresses), reason)
        for held in holders
        if not held.is_resident and isinstance(held.principal, (Mailbox, Forwarder))
    ]
    changes += [
        Change("delete", held.principal, None, reason) for held in holders if held.is_resident
    ]
    changes.append(Change("delete", found, None, "it is to be absent"))
    lost = {address for held in holders for address in held.addresses | held.principal.addresses}
    staying = {a for c in changes if c.after is not None for a in c.after.addresses}
    deleted = {change.subject.name for change in changes if change.after is None}
    return Plan(tuple(changes), warnings=tuple(bouncing(tenant, lost - staying, deleted)))


def _still_used(domain: Name, holders: list[Holder], remedy: str) -> Problem:
    return Problem(f"The domain {domain} still holds {holders_in_words(holders)}. {remedy}")
