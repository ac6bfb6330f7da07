# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Planning that one address is an alias of one mailbox, or is not."""

from __future__ import annotations

from ..models import Edit, Forwarder, Individual, Mailbox
from ..names import Name
from .changes import Plan, Problem
from .plan_common import (
    bouncing,
    claims,
    domain_is_missing,
    missing_domains,
    update,
    updates,
    wrong_kind,
)
from .state import Tenant

_NO_MAILBOX = "Name a mailbox; the aliases of a forwarder are set with the forwarder."


def plan_alias(tenant: Tenant, address: Name, mailbox: Name, *, move: bool) -> Plan:
    """Plan that an address is an alias of a mailbox; with ``move``, of no other."""
    found = tenant.find(mailbox)
    if found is None:
        absent = Mailbox(mailbox)
        missing = (
            f"The mailbox {mailbox} does not exist yet"
            if tenant.has_domain(mailbox.domain)
            else domain_is_missing(mailbox.domain)
        )
        problem = Problem(f"The mailbox {mailbox} does not exist. Create it first.", missing)
        change = update(
            absent, Edit(add_aliases=frozenset({address})), f"it lacks the alias {address}"
        )
        return Plan((change,), (problem, *missing_domains(tenant, [address])))
    if not isinstance(found, Mailbox):
        return Plan(problems=tuple(wrong_kind(found, Mailbox, _NO_MAILBOX)))
    if address in found.addresses:
        return Plan()
    add = updates(found, Edit(add_aliases=frozenset({address})))
    owner = tenant.owner_of(address)
    if not isinstance(owner, (Mailbox, Forwarder)):
        return Plan(add, tuple(claims(tenant, found, {address})))
    if not move or address == owner.name:
        return Plan(add, (_taken(address, owner),))
    leave = Edit(remove_aliases=frozenset({address}))
    reason = f"its alias {address} moves to {mailbox}"
    return Plan((update(owner, leave, reason), *add), all_or_nothing=True)


def _taken(address: Name, owner: Individual) -> Problem:
    if address == owner.name:
        text = f"it is the primary address of the {owner.kind} {owner.name}, which is never moved. "
        return Problem(f"{address} is taken: {text}Choose another address.")
    text = f"it is an alias of the {owner.kind} {owner.name}. "
    return Problem(f"{address} is taken: {text}Set move to true to move it here.")


def plan_alias_removal(tenant: Tenant, address: Name, mailbox: Name) -> Plan:
    """Plan that an address is no alias of a mailbox."""
    found = tenant.find(mailbox)
    if found is None:
        return Plan()
    if not isinstance(found, Mailbox):
        return Plan(problems=tuple(wrong_kind(found, Mailbox, _NO_MAILBOX)))
    if address == mailbox:
        text = f"{address} is the mailbox's primary address and stays while the mailbox does."
        return Plan(problems=(Problem(f"{text} Delete the mailbox instead."),))
    removed = found.aliases & {address}
    return Plan(
        updates(found, Edit(remove_aliases=removed)),
        warnings=tuple(bouncing(tenant, removed, {mailbox})),
    )
