# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""A plan's changes, in order, and the problems that block the plan."""

from __future__ import annotations

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

from ..models import NO_EDIT, Action, Edit, Individual, Principal
from ..names import Name
from .declared import Declared
from .problems import Problem, Reason

#: The stages. Domains are created first and deleted last; addresses are freed before they are used.
REGISTER, FREE, WRITE, DELETE, DEREGISTER = range(5)


@dataclass(slots=True)
class Change:
    """A change of a principal from its current to its desired state.

    :param edit: the names to add to and to remove from the principal's lists
    :param secrets: the passwords to set, which representations never contain
    :param set_if_created_meanwhile: set the passwords even if another client creates the mailbox
        first
    :param stage: REGISTER, FREE, WRITE, DELETE or DEREGISTER
    :param needs: the positions of changes in the plan that must succeed first
    :param wave: the order within a stage
    """

    action: Action
    before: Principal | None
    after: Principal | None
    reasons: tuple[Reason, ...]
    edit: Edit = NO_EDIT
    secrets: tuple[str, ...] = field(default=(), repr=False)
    set_if_created_meanwhile: bool = False
    stage: int = WRITE
    needs: tuple[int, ...] = ()
    wave: int = 0

    @property
    def subject(self) -> Principal:
        """The principal in its desired state, or in its current state if it is deleted."""
        subject = self.after or self.before
        if subject is None:
            raise ValueError("a change needs a principal")
        return subject

    @property
    def reason(self) -> str:
        """The reasons for the change."""
        return ", ".join(map(str, self.reasons))

    @property
    def claimed(self) -> frozenset[Name]:
        """The addresses that the principal gains."""
        return _addresses(self.after) - _addresses(self.before)

    @property
    def freed(self) -> frozenset[Name]:
        """The addresses that the principal loses."""
        return _addresses(self.before) - _addresses(self.after)

    def as_dict(self) -> dict[str, Any]:
        """Return the change in the format of a module's result."""
        about = {"kind": self.subject.kind, "name": str(self.subject.name)}
        reasons = [{"code": reason.code, "text": str(reason)} for reason in self.reasons]
        summary = {"reason": self.reason, "code": self.reasons[0].code}
        return {"action": self.action, **about, **summary, "reasons": reasons}


#: A function that returns the mailboxes whose passwords already work.
Probe = Callable[[Iterable[Change]], Collection[Name]]


class Plan(NamedTuple):
    """The changes to apply, and the planner's findings.

    :param changes: the changes in the order of their stages and waves
    :param unchanged: the declared objects that need no change
    :param undeclared: the principals of the tenant that the definition does not declare
    """

    changes: tuple[Change, ...] = ()
    problems: tuple[Problem, ...] = ()
    warnings: tuple[Problem, ...] = ()
    unchanged: tuple[Declared, ...] = ()
    undeclared: tuple[Principal, ...] = ()
    undeclared_aliases: tuple[tuple[Name, Individual], ...] = ()

    def stages(self) -> Iterator[list[int]]:
        """Yield, for each stage, the positions of its changes, which can run concurrently."""
        stages: dict[tuple[int, int], list[int]] = defaultdict(list)
        for position, change in enumerate(self.changes):
            stages[change.stage, change.wave].append(position)
        for key in sorted(stages):
            yield stages[key]


def as_diff(changes: Iterable[Change]) -> list[dict[str, Any]]:
    """Return the changes in the format of a module's diff."""
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
    """Return a digest that identifies changes and the states before and after them.

    The digest reflects whether a password is replaced, but not the password itself, which could
    otherwise be guessed from the digest. The passwords of new mailboxes don't affect the digest,
    because plans are reviewed without them.
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


def is_digest(text: str) -> bool:
    """Return whether a text has the format of this version's digests."""
    return re.fullmatch("v2:sha256:[0-9a-f]{64}", text) is not None


def _content(principal: Principal | None) -> Any:
    if not isinstance(principal, Individual):
        return principal is not None
    return [_comparable(getattr(principal, each.name)) for each in fields(principal)]


def _comparable(value: Any) -> Any:
    """Return a field's value as JSON-serializable data that is equal for equal values."""
    if isinstance(value, frozenset):
        return sorted(name.key for name in value)
    return value.key if isinstance(value, Name) else value


def _addresses(principal: Principal | None) -> frozenset[Name]:
    return principal.addresses if principal else frozenset()
