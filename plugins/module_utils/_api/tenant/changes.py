# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""A plan: changes in order, what each of them needs, and the problems that block it."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, NamedTuple

from ..models import Action, Domain, Edit, Forwarder, Individual, Mailbox, Principal, shown
from ..names import Name
from .definition import Declared
from .desired import Desired, DesiredState
from .loops import find_cycle, forwarding_graph, levels
from .messages import Problem, Reason, counted
from .state import TenantState

#: Domains first; what frees an address before what claims it; deletions last, domains at the end.
REGISTER, FREE, KEEP, DELETE, DEREGISTER = range(5)
_NO_EDIT = Edit()


@dataclass(slots=True)
class Change:
    """A change of one principal from its current to its desired state.

    :param edit: for an update of lists, what to add and to remove
    :param secrets: passwords to set; not in any representation
    :param always_set: for a creation: set them even if another client creates the mailbox first
    :param stage: one of REGISTER, FREE, KEEP, DELETE, DEREGISTER
    :param needs: the changes, as positions in the plan, that must succeed first
    :param wave: the order within a stage
    """

    action: Action
    before: Principal | None
    after: Principal | None
    reasons: tuple[Reason, ...]
    edit: Edit = _NO_EDIT
    secrets: tuple[str, ...] = field(default=(), repr=False)
    always_set: bool = False
    stage: int = KEEP
    needs: tuple[int, ...] = ()
    wave: int = 0

    @property
    def subject(self) -> Principal:
        """The principal in its desired state, or in its last one if it is deleted."""
        subject = self.after or self.before
        if subject is None:
            raise ValueError("a change needs a principal")
        return subject

    @property
    def reason(self) -> str:
        """Why it is needed."""
        return ", ".join(map(str, self.reasons))

    @property
    def claimed(self) -> frozenset[Name]:
        """The addresses that the principal gains."""
        return _addresses(self.after) - _addresses(self.before)

    @property
    def freed(self) -> frozenset[Name]:
        """The addresses that the principal loses."""
        return _addresses(self.before) - _addresses(self.after)

    def as_dict(self) -> dict[str, str]:
        """Return it as a module shows it."""
        row = shown(self.action, self.subject.kind, self.subject.name, self.reason)
        return row | {"code": self.reasons[0].code}


class Plan(NamedTuple):
    """What to change, in order, and what was found while planning.

    :param changes: in the order of their stages and waves
    :param problems: they block the plan
    :param unchanged: declared objects that need no change
    :param undeclared: what the tenant holds and the definition does not name
    :param warnings: what the plan does or leaves, and the user may not expect
    """

    changes: tuple[Change, ...] = ()
    problems: tuple[Problem, ...] = ()
    warnings: tuple[Problem, ...] = ()
    unchanged: tuple[Declared, ...] = ()
    undeclared: tuple[Principal, ...] = ()
    undeclared_aliases: tuple[tuple[Name, Individual], ...] = ()

    def stages(self) -> Iterator[list[int]]:
        """Yield the positions of changes that can run at the same time, stage by stage."""
        stages: dict[tuple[int, int], list[int]] = defaultdict(list)
        for position, change in enumerate(self.changes):
            stages[change.stage, change.wave].append(position)
        for key in sorted(stages):
            yield stages[key]


def as_diff(changes: Iterable[Change]) -> list[dict[str, Any]]:
    """Return before and after, one pair a change, as Ansible shows differences."""
    diff = []
    for change in changes:
        header = f"{change.subject.kind} {change.subject.name}"
        before = change.before.as_dict() if change.before else {}
        after = change.after.as_dict() if change.after else {}
        if change.secrets:
            after["passwords"] = "set" if change.action == "create" else "replaced"
        pair = {"before_header": header, "after_header": header, "before": before, "after": after}
        diff.append(pair)
    return diff


def digest(changes: Iterable[Change]) -> str:
    """Return a digest that is equal for equal changes of equal states.

    A replaced password counts as such; its text does not, because a digest of it could be used to
    guess it. Passwords of new mailboxes don't count: each needs one, and plans are reviewed
    without.
    """
    rows = [
        [
            change.action,
            change.subject.kind,
            change.subject.name.key,
            _content(change.before),
            _content(change.after),
            change.action == "update" and bool(change.secrets),
        ]
        for change in changes
    ]
    return f"v2:sha256:{hashlib.sha256(json.dumps(rows).encode()).hexdigest()}"


def _content(principal: Principal | None) -> Any:
    if not isinstance(principal, (Mailbox, Forwarder)):
        return principal is not None
    return [_comparable(getattr(principal, each.name)) for each in fields(principal)]


def _comparable(value: Any) -> Any:
    """Return a field's value as JSON that is equal for equal values."""
    if isinstance(value, frozenset):
        return sorted(name.key for name in value)
    return value.key if isinstance(value, Name) else value


def _addresses(principal: Principal | None) -> frozenset[Name]:
    return principal.addresses if principal else frozenset()


def order_changes(desired: DesiredState, state: TenantState) -> tuple[Change, ...]:
    """Return the changes in the order of their stages and waves, and by name within each."""
    waves, fed = _waves(desired, state)
    kept = sorted(desired.kept.values(), key=lambda d: (waves.get(d.name, 0), d.name.key))
    to_free = frozenset(address for each in kept for address in each.claims) | fed
    missing = (Reason("missing"),)
    changes = [
        Change("create", None, Domain(domain), missing, stage=REGISTER)
        for domain in sorted(desired.register)
    ]
    for each in kept:
        wave = waves.get(each.name, 0)
        if each.is_new:
            secrets, always = each.secrets, each.always_set
            new = Change("create", None, each.after, missing, _NO_EDIT, secrets, always, wave=wave)
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


def _updates(desired: Desired, freed: frozenset[Name], wave: int) -> Iterator[Change]:
    """Yield the changes of an object that exists.

    :param freed: the aliases to remove before other objects change
    """
    before, edit, secrets = desired.current, desired.edit, desired.secrets
    if freed:
        first = Edit(remove_aliases=freed)
        after = first.applied_to(before)
        yield Change("update", before, after, _reasons(desired, first), first, stage=FREE)
        before, edit = after, replace(edit, remove_aliases=edit.remove_aliases - freed)
    if edit != _NO_EDIT or secrets:
        after, reasons = edit.applied_to(before), _reasons(desired, edit, secrets)
        yield Change("update", before, after, reasons, edit, secrets, stage=KEEP, wave=wave)


def _reasons(desired: Desired, edit: Edit, secrets: tuple[str, ...] = ()) -> tuple[Reason, ...]:
    """Return why a part of an object's edit is needed."""
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
    """Set which earlier changes each change needs."""
    registered: dict[str, int] = {}
    freed: dict[Name, int] = {}
    #: By domain, the changes that remove an address on it.
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
    """Return in which wave each forwarder changes, and which addresses to free first.

    A service refuses a loop even if the next change would end it. There is none if each forwarder
    changes after those that it sends mail to, and sends nothing to an address that is removed.
    """
    if not desired.rerouted:
        return {}, frozenset()
    before = [each for each in state.principals if isinstance(each, Forwarder)]
    after = desired.forwarders(state.principals)
    graph = forwarding_graph(after)
    if not _may_loop(before, after) or find_cycle(graph) is not None:
        return {}, frozenset()
    fed = {member for forwarder in after for member in forwarder.members}
    return levels(graph), frozenset(a for each in before for a in each.addresses if a in fed)


def _may_loop(before: list[Forwarder], after: list[Forwarder]) -> bool:
    """Return whether mail might loop while some forwarders have changed and others have not."""
    both = {forwarder.name: forwarder for forwarder in before}
    for forwarder in after:
        old = both.get(forwarder.name, forwarder)
        aliases, members = forwarder.aliases | old.aliases, forwarder.members | old.members
        both[forwarder.name] = Forwarder(forwarder.name, aliases, members)
    addresses = [address for forwarder in both.values() for address in forwarder.addresses]
    # An alias that moves has two owners, of which the graph has only one.
    return (
        len(addresses) > len(set(addresses))
        or find_cycle(forwarding_graph(both.values())) is not None
    )
