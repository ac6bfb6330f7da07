# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Planning that a mailbox is there, with its aliases and passwords."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from .changes import Change, Plan, Problem
from .models import Edit, Mailbox
from .names import Name
from .planning import claims, difference, updates, wrong_kind
from .tenant import Tenant


@dataclass(frozen=True, slots=True)
class WantedMailbox:
    """A mailbox as declared. ``aliases`` of None leaves them alone, an empty set does not."""

    name: Name
    passwords: tuple[str, ...] = field(default=(), repr=False)
    replace_passwords: bool = False
    aliases: frozenset[Name] | None = None
    purge_aliases: bool = False


def plan_mailbox(tenant: Tenant, wanted: WantedMailbox) -> Plan:
    """Plan that a mailbox is there, with its aliases and passwords."""
    found = tenant.find(wanted.name)
    if found is None:
        after = Mailbox(wanted.name, (wanted.aliases or frozenset()) - {wanted.name})
        problems = [*_no_password(wanted), *claims(tenant, after, after.addresses)]
        change = Change("create", None, after, "it is not there", secrets=wanted.passwords)
        return Plan((change,), tuple(problems))
    if not isinstance(found, Mailbox):
        return Plan(problems=tuple(wrong_kind(found, Mailbox)))
    add, remove = difference(found.aliases, wanted.aliases, purge=wanted.purge_aliases)
    edit = Edit(add_aliases=add - {wanted.name}, remove_aliases=remove)
    secrets = wanted.passwords if wanted.replace_passwords else ()
    problems = list(claims(tenant, found, edit.add_aliases))
    return Plan(updates(found, edit, secrets), tuple(problems))


def _no_password(wanted: WantedMailbox) -> Iterator[Problem]:
    if not wanted.passwords:
        yield Problem(
            f"The mailbox {wanted.name} does not exist yet and can't be created without a "
            "password. Set passwords to a list of at least one.",
            prerequisite=True,
        )
