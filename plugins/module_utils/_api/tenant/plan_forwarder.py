# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Planning that a forwarder is there, with its members."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ..models import Edit, Forwarder
from ..names import Name
from .changes import Change, Plan, Problem
from .plan_common import bouncing, claims, difference, purge_without_list, updates, wrong_kind
from .state import Tenant


@dataclass(frozen=True, slots=True)
class WantedForwarder:
    """A forwarder as declared. A list of None is left alone."""

    name: Name
    members: frozenset[Name] | None = None
    purge_members: bool = True
    aliases: frozenset[Name] | None = None
    purge_aliases: bool = False


def plan_forwarder(tenant: Tenant, wanted: WantedForwarder) -> Plan:
    """Plan that a forwarder is there, with its members."""
    found = tenant.find(wanted.name)
    if found is not None and not isinstance(found, Forwarder):
        return Plan(problems=tuple(wrong_kind(found, Forwarder)))
    current = found or Forwarder(wanted.name)
    add, remove = difference(current.aliases, wanted.aliases, purge=wanted.purge_aliases)
    join, leave = difference(current.members, wanted.members, purge=wanted.purge_members)
    edit = Edit(add - {wanted.name}, remove, join, leave)
    after = edit.applied_to(current)
    if found is None:
        changes: tuple[Change, ...] = (Change("create", None, after, "it is not there"),)
        new = after.addresses
    else:
        changes, new = updates(found, edit), edit.add_aliases
    problems = [
        *claims(tenant, current, new),
        *_no_members(after, wanted, found),
        *_undeliverable(tenant, after, edit.add_members),
    ]
    if new or edit.add_members:
        problems += _circle(tenant, after)
    warnings = [
        *purge_without_list(wanted.aliases, purge=wanted.purge_aliases),
        *bouncing(tenant, edit.remove_aliases, {current.name}),
    ]
    return Plan(changes, tuple(problems), tuple(warnings))


def _undeliverable(tenant: Tenant, after: Forwarder, new: Iterable[Name]) -> Iterator[Problem]:
    """Yield each new member on a domain of the tenant that no mailbox or forwarder has."""
    for member in sorted(new):
        if (
            member not in after.addresses
            and tenant.owner_of(member) is None
            and tenant.has_domain(member.domain)
        ):
            yield Problem(
                f"{member} is a new member of the forwarder {after.name}, but no mailbox or "
                f"forwarder has this address, so mail to {after.name} bounces. Create it, or "
                "check its spelling.",
                missing=f"No mailbox or forwarder has the address {member} yet",
                refuses=False,
            )


def _no_members(
    after: Forwarder, wanted: WantedForwarder, found: Forwarder | None
) -> Iterator[Problem]:
    if not after.members:
        what = "would be left without members" if found else "has no members"
        yield Problem(
            f"The forwarder {after.name} {what}. Name at least one destination in members, "
            "or set state to absent.",
            # Without the option, the task counts on a forwarder that is there.
            missing=f"The forwarder {after.name} does not exist yet"
            if wanted.members is None and found is None
            else "",
        )


def _circle(tenant: Tenant, after: Forwarder) -> Iterator[Problem]:
    loop = tenant.loop_through(after)
    if loop:
        yield Problem(
            f"Mail to {after.name} would run in a circle: {' -> '.join(map(str, loop))}. "
            "Take one of these out of members."
        )
