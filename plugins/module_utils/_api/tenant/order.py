# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Order a plan's changes and determine which of them depend on others."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from ..models import NO_EDIT, Domain, Edit, Forwarder
from ..names import Name
from .desired_state import DesiredObject, DesiredState
from .loops import find_cycle, forwarding_graph, levels
from .messages import counted
from .plan import DELETE, DEREGISTER, FREE, REGISTER, WRITE, Change
from .problems import Reason
from .state import TenantState


def order_changes(desired: DesiredState, state: TenantState) -> tuple[Change, ...]:
    """Return the changes, ordered by stage, wave and name."""
    waves, forwarded_to = _waves(desired, state)
    kept = sorted(desired.present.values(), key=lambda d: (waves.get(d.name, 0), d.name.key))
    to_free = frozenset(address for each in kept for address in each.claims) | forwarded_to
    missing = (Reason("missing"),)
    changes = [
        Change("create", None, Domain(domain), missing, stage=REGISTER)
        for domain in sorted(desired.register)
    ]
    for each in kept:
        wave = waves.get(each.name, 0)
        if each.is_new:
            secrets, always = each.secrets, each.set_if_created_meanwhile
            new = Change("create", None, each.after, missing, NO_EDIT, secrets, always, wave=wave)
            changes.append(new)
        else:
            changes += _updates(each, to_free.intersection(each.remove), wave)
    for name in sorted(desired.deleted):
        principal = state.find(name)
        if principal is not None:
            stage = DEREGISTER if isinstance(principal, Domain) else DELETE
            stage = stage if to_free.isdisjoint(principal.addresses) else FREE
            reasons = (desired.deleted[name],)
            changes.append(Change("delete", principal, None, reasons, stage=stage))
    changes.sort(key=lambda change: change.stage)
    _set_needs(changes)
    return tuple(changes)


def _updates(desired: DesiredObject, freed: frozenset[Name], wave: int) -> Iterator[Change]:
    """Yield the changes of an existing object.

    :param freed: the aliases to remove before other objects change
    """
    before, edit, secrets = desired.current, desired.edit, desired.secrets
    if freed:
        first = Edit(remove_aliases=freed)
        after = first.applied_to(before)
        yield Change("update", before, after, _reasons(desired, first), first, stage=FREE)
        before, edit = after, replace(edit, remove_aliases=edit.remove_aliases - freed)
    if edit != NO_EDIT or secrets:
        after, reasons = edit.applied_to(before), _reasons(desired, edit, secrets)
        yield Change("update", before, after, reasons, edit, secrets, stage=WRITE, wave=wave)


def _reasons(
    desired: DesiredObject, edit: Edit, secrets: tuple[str, ...] = ()
) -> tuple[Reason, ...]:
    """Return the reasons for an edit, which may contain only some of the object's changes."""
    names = {
        "add_alias": counted("alias", edit.add_aliases),
        "add_member": counted("member", edit.add_members),
        "remove_member": counted("member", edit.remove_members),
    }
    reasons = [Reason(code, {"names": text}) for code, text in names.items() if text]
    reasons += [
        Reason("remove_alias", {"name": alias, "why": desired.remove[alias]})
        for alias in sorted(edit.remove_aliases)
    ]
    reasons += [Reason("replace_passwords")] if secrets else []
    return tuple(reasons)


def _set_needs(changes: Iterable[Change]) -> None:
    registered: dict[str, int] = {}
    freed: dict[Name, int] = {}
    #: The changes that remove an address on a domain, keyed by domain.
    vacated: dict[str, list[int]] = defaultdict(list)
    for position, change in enumerate(changes):
        needs = {freed[address] for address in change.claimed if address in freed}
        if registered:
            domains = {address.domain.key for address in change.claimed}
            needs.update(registered[domain] for domain in domains if domain in registered)
        if change.stage == REGISTER:
            registered[change.subject.name.key] = position
        elif change.stage == DEREGISTER:
            needs |= set(vacated[change.subject.name.key])
        for address in change.freed:
            freed[address] = position
            vacated[address.domain.key].append(position)
        change.needs = tuple(sorted(needs))


def _waves(desired: DesiredState, state: TenantState) -> tuple[Mapping[Name, int], frozenset[Name]]:
    """Return the wave in which each forwarder changes, and the addresses to free first.

    The service refuses even a temporary loop. To avoid temporary loops, each forwarder changes
    after the forwarders to which it sends mail, and removed aliases that are members of a forwarder
    are freed first.
    """
    if not desired.rerouted:
        return {}, frozenset()
    before = [each for each in state.principals if isinstance(each, Forwarder)]
    after = desired.forwarders(state.principals)
    graph = forwarding_graph(after)
    if not _may_loop(before, after) or find_cycle(graph) is not None:
        return {}, frozenset()
    forwarded_to = {member for forwarder in after for member in forwarder.members}
    return levels(graph), frozenset(
        a for each in before for a in each.addresses if a in forwarded_to
    )


def _may_loop(before: list[Forwarder], after: list[Forwarder]) -> bool:
    """Return whether mail might loop while only some of the forwarders have changed."""
    both = {forwarder.name: forwarder for forwarder in before}
    for forwarder in after:
        old = both.get(forwarder.name, forwarder)
        aliases, members = forwarder.aliases | old.aliases, forwarder.members | old.members
        both[forwarder.name] = Forwarder(forwarder.name, aliases, members)
    addresses = [address for forwarder in both.values() for address in forwarder.addresses]
    # An alias that moves has two owners here, but the graph can contain only one.
    return (
        len(addresses) > len(set(addresses))
        or find_cycle(forwarding_graph(both.values())) is not None
    )
