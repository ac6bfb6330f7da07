# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Converge a tenant: read its state, make a plan, refuse or apply it, and report the result."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from .. import errors
from ..client.client import Client
from ..models import SECTIONS, Principal
from ..names import Name
from .apply import CHANGED, FAILED, NOT_ATTEMPTED, UNCHANGED, Report, Result, apply_plan
from .declared import Declared, Definition, Passwords
from .plan import Change, Plan, Probe, digest, is_digest
from .planner import plan_tenant
from .problems import describe
from .purge import Purge
from .state import TenantState

_MAX_SHOWN = 10
_MAX_CONCURRENCY = 64


@contextmanager
def without_garbage_collection() -> Iterator[None]:
    """Pause garbage collection while many objects without reference cycles are created.

    The collector would traverse them repeatedly, which takes half of the run time for 100,000
    mailboxes.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


@dataclass(frozen=True)
class TenantReport:
    """The result of a task for a tenant.

    :param results: the result of each change; check mode assumes that every change succeeds
    """

    plan: Plan
    results: Sequence[Result]
    digest: str
    warnings: tuple[str, ...] = ()

    @property
    def done(self) -> list[Change]:
        """The changes that were or would be written, even if their current state is unknown."""
        pairs = zip(self.plan.changes, self.results, strict=True)
        return [change for change, result in pairs if result.wrote]

    @cached_property
    def rows(self) -> dict[Name, dict[str, str]]:
        """The result row of each object that has changes, keyed by name."""
        rows: dict[Name, dict[str, str]] = {}
        order = (UNCHANGED, CHANGED, NOT_ATTEMPTED, FAILED)
        for change, result in zip(self.plan.changes, self.results, strict=True):
            is_absent = change.action == "delete"
            row = _row(change.subject, result.outcome, result.reason, absent=is_absent)
            known = rows.get(change.subject.name)
            if known is not None:
                # An object that loses one address and gains another may have two changes.
                row["outcome"] = max(known["outcome"], row["outcome"], key=order.index)
                row["reason"] = f"{known['reason']}, {row['reason']}"
            rows[change.subject.name] = row
        return rows

    def values(self, *, unchanged: bool = False) -> dict[str, Any]:
        """Return the module's return values.

        :param unchanged: include a row for each object that needs no change
        """
        outcomes = Counter(row["outcome"] for row in self.rows.values())
        # Each object is counted once, under its last change.
        last = {change.subject.name: change.action for change in self.plan.changes}
        actions = Counter(
            action for name, action in last.items() if self.rows[name]["outcome"] == CHANGED
        )
        rows = list(self.rows.values())
        if unchanged:
            reason = "as declared"
            rows += [_row(one, UNCHANGED, reason, absent=one.absent) for one in self.plan.unchanged]
        found = sorted(self.plan.undeclared, key=lambda principal: principal.name)
        undeclared: dict[str, list[Any]] = {
            section: [str(each.name) for each in found if each.kind == kind]
            for kind, section in SECTIONS.items()
        }
        undeclared["aliases"] = [
            {"address": str(alias), "owner": str(owner.name)}
            for alias, owner in sorted(self.plan.undeclared_aliases, key=lambda pair: pair[0])
        ]
        return {
            "changes": [change.as_dict() for change in self.done],
            "plan_digest": self.digest,
            "summary": {
                **{f"{action}d": actions[action] for action in ("create", "update", "delete")},
                UNCHANGED: len(self.plan.unchanged) + outcomes[UNCHANGED],
                **{outcome: outcomes[outcome] for outcome in (FAILED, NOT_ATTEMPTED)},
            },
            "results": rows,
            "undeclared": undeclared,
        }


def converge_tenant(  # noqa: PLR0913 - the options of email_tenant
    client: Client,
    definition: Definition,
    purge: Purge = Purge(),  # noqa: B008 - it is frozen
    passwords: Passwords = Passwords(),  # noqa: B008 - it is frozen
    *,
    dry_run: bool,
    expected_plan: str | None = None,
    concurrency: int = 8,
    report: Report | None = None,
    probe: Probe | None = None,
) -> TenantReport:
    """Make a tenant match its definition.

    :param client: a client whose timeout applies to reading the tenant and then to each change
    :param expected_plan: the digest of the only plan that may be applied, or None for any plan
    :param concurrency: the number of changes to apply at a time, from 1 to 64
    :param probe: a function that returns the mailboxes whose passwords work; it is not called if
        the plan is refused
    :raises Refused: if the plan has problems or is not the expected plan; nothing was written
    :raises PostroomError: if the tenant could not be read; later failures are in the results
    """
    if not 1 <= concurrency <= _MAX_CONCURRENCY:
        raise errors.InvalidInput(
            f"concurrency: {concurrency} is out of range. Set 1 to {_MAX_CONCURRENCY}."
        )
    if expected_plan is not None and not is_digest(expected_plan):
        raise errors.InvalidInput(
            f"expected_plan: {expected_plan!r} is not a plan_digest in the format of this version "
            "(v2:sha256: and 64 hexadecimal digits). Use the plan_digest of a reviewed plan."
        )
    # Reading the definition has used up part of the timeout.
    client = client.with_new_deadline()
    with without_garbage_collection():
        state = TenantState(client)
        state.read_all()
        found = _plan(state, definition, purge, passwords)
        if any(change.action != "update" for change in found.plan.changes):
            state.check_complete()
    problems = [each for each in found.plan.problems if not (dry_run and each.prerequisite)]
    if problems:
        error = errors.Refused(describe(problems))
        error.details = {"problems": [problem.as_dict() for problem in problems]}
        raise error
    if probe is not None:
        kept = passwords.without(probe(found.plan.changes))
        found = _plan(state, definition, purge, kept)
    # An empty plan needs no review.
    if expected_plan is not None and found.plan.changes and found.digest != expected_plan:
        raise errors.Refused(
            f"This is not the expected plan: its digest is {found.digest}, but expected_plan is "
            f"{expected_plan}. The tenant, the definition or another option of the task has "
            "changed since the review. Nothing was changed. Review the new plan in check mode, and "
            "set expected_plan to its digest."
        )
    if dry_run:
        return found
    results = apply_plan(
        client, found.plan, concurrency=concurrency, deadline_per_change=True, report=report
    )
    return replace(found, results=results)


@without_garbage_collection()
def _plan(
    state: TenantState, definition: Definition, purge: Purge, passwords: Passwords
) -> TenantReport:
    """Plan the changes and return a report as if all of them had been applied."""
    plan = plan_tenant(state, definition, purge, passwords)
    subjects = [*state.principals, *(change.subject for change in plan.changes)]
    warnings = (
        *(f"{problem} A real run would fail because of this." for problem in plan.problems),
        *(str(warning) for warning in plan.warnings),
        *(warning.text for warning in purge.idle_patterns(subjects)),
    )
    results = [Result(CHANGED, change.reason) for change in plan.changes]
    return TenantReport(plan, results, digest(plan.changes), warnings)


def raise_if_incomplete(found: TenantReport, *, unchanged: bool = False) -> None:
    """Check that all changes were applied.

    :raises Incomplete: if some changes were not applied; its message lists the first of them
    """
    rows = [row for row in found.rows.values() if row["outcome"] in (FAILED, NOT_ATTEMPTED)]
    if not rows:
        return
    lines = [f"{row['kind']} {row['name']}: {row['reason']}" for row in rows[:_MAX_SHOWN]]
    lines += [f"And {len(rows) - _MAX_SHOWN} more; see results."] if len(rows) > _MAX_SHOWN else []
    is_final = {
        isinstance(result.error, (errors.Rejected, errors.Forbidden))
        for result in found.results
        if result.error is not None
    }
    remedies = {True: "correct what the service refuses", False: "run again for the rest"}
    remedy = " and ".join(remedies[each] for each in sorted(is_final or {False}, reverse=True))
    failed = sum(row["outcome"] == FAILED for row in rows)
    error = errors.Incomplete(
        f"{failed} of {len(found.rows)} objects could not be changed, and {len(rows) - failed} "
        f"were not attempted. Completed changes are kept; {remedy}."
        + "".join(f"\n{line}" for line in lines)
    )
    error.details = found.values(unchanged=unchanged)
    error.done = [change.as_dict() for change in found.done]
    raise error


def _row(
    subject: Declared | Principal, outcome: str, reason: str, *, absent: bool
) -> dict[str, str]:
    state = "absent" if absent else "present"
    about = {"kind": subject.kind, "name": str(subject.name), "state": state}
    return about | {"outcome": outcome, "reason": reason}
