# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Planning that one address is an alias of one mailbox, or is not."""

from __future__ import annotations

from .changes import Plan, Problem
from .models import Edit, Forwarder, Mailbox
from .names import Name
from .planning import claims, missing_domains, update, updates, wrong_kind
from .tenant import Tenant


def plan_alias(tenant: Tenant, address: Name, mailbox: Name, *, move: bool) -> Plan:
    """Plan that an address is an alias of a mailbox; with ``move``, of no other."""
    found = tenant.find(mailbox)
    if found is None:
        text = f"The mailbox {mailbox} does not exist. Create it first."
        absent = Mailbox(mailbox)
        problem = Problem(text, prerequisite=True)
        change = update(absent, Edit(add_aliases=frozenset({address})), "it lacks the alias")
        return Plan((change,), (problem, *missing_domains(tenant, [address])))
    if not isinstance(found, Mailbox):
        return Plan(problems=tuple(wrong_kind(found, Mailbox)))
    if address in found.addresses:
        return Plan()
    add = updates(found, Edit(add_aliases=frozenset({address})))
    owner = tenant.owner_of(address)
    if not (move and isinstance(owner, (Mailbox, Forwarder)) and address in owner.aliases):
        return Plan(add, tuple(claims(tenant, found, {address})))
    leave = update(owner, Edit(remove_aliases=frozenset({address})), f"moves to {mailbox}")
    return Plan((leave, *add), all_or_nothing=True)


def plan_alias_removal(tenant: Tenant, address: Name, mailbox: Name) -> Plan:
    """Plan that an address is no alias of a mailbox."""
    found = tenant.find(mailbox)
    if found is None:
        return Plan()
    if not isinstance(found, Mailbox):
        return Plan(problems=tuple(wrong_kind(found, Mailbox)))
    if address == mailbox:
        text = f"{address} is the mailbox's primary address and stays while the mailbox does."
        return Plan(problems=(Problem(f"{text} Delete the mailbox instead."),))
    return Plan(updates(found, Edit(remove_aliases=found.aliases & {address})))
