# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""A plan for a whole tenant: changes in stages, and which of them stand on which others."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ..models import Forwarder, Individual, Mailbox, Principal
from ..names import Name
from .changes import Change
from .definition import Declared, Finding

#: Domains first; what frees an address before what claims it; deletions last, domains at the end.
REGISTER, FREE, KEEP, DELETE, DEREGISTER = range(5)


class Step(NamedTuple):
    """One change of a plan.

    :param needs: the steps, as positions in the plan, that must have been carried out before
    :param wave: what comes before what within a stage
    """

    change: Change
    stage: int
    needs: tuple[int, ...] = ()
    wave: int = 0


class TenantPlan(NamedTuple):
    """What is to be done, in order, and what was found on the way.

    :param steps: in the order of their stages
    :param findings: what stands against the plan
    :param unchanged: what is declared and is as it should be, there or not
    :param undeclared: what the tenant holds and the definition does not name
    :param warnings: findings that do not block the plan
    """

    steps: tuple[Step, ...]
    findings: tuple[Finding, ...]
    unchanged: tuple[Declared, ...]
    undeclared: tuple[Principal, ...]
    undeclared_aliases: tuple[tuple[Name, Individual], ...]
    warnings: tuple[str, ...] = ()

    @property
    def changes(self) -> list[Change]:
        """The changes, in order."""
        return [step.change for step in self.steps]

    def stages(self) -> Iterator[list[int]]:
        """Yield the positions of the steps of each stage that has any, wave by wave."""
        stages: dict[tuple[int, int], list[int]] = defaultdict(list)
        for at, step in enumerate(self.steps):
            stages[step.stage, step.wave].append(at)
        for key in sorted(stages):
            yield stages[key]


def digest(changes: Sequence[Change]) -> str:
    """Return what tells a plan from every other: equal plans from equal states have equal ones.

    Passwords count only as being replaced: a digest of them could be tried out. Those of what is
    created don't count at all, for it needs one in any case, and the plan is reviewed without.
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
    return f"sha256:{hashlib.sha256(json.dumps(rows).encode()).hexdigest()}"


def _content(principal: Principal | None) -> Any:
    if not isinstance(principal, (Mailbox, Forwarder)):
        return principal is not None
    members = principal.members if isinstance(principal, Forwarder) else ()
    return [sorted(name.key for name in names) for names in (principal.addresses, members)]
