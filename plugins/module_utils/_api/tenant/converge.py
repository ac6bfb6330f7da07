# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Converge a tenant, or one object of it: read, plan, refuse or apply, and report."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from .. import errors
from ..client.client import Client
from ..gc_pause import without_collection
from ..models import Domain, Forwarder, Mailbox, Principal
from ..names import Name
from .apply import CHANGED, FAILED, NOT_ATTEMPTED, UNCHANGED, Report, Result, apply_plan
from .changes import Change, Plan, digest
from .definition import Declared, DeclaredDomain, Definition, in_words
from .desired import Passwords
from .messages import Problem
from .plan import plan_tenant
from .purge import Purge, PurgeRules
from .state import TenantState

#: Returns the mailboxes whose passwords already work.
Probe = Callable[[Iterable[Change]], Collection[Name]]

_DIGEST = re.compile("v2:sha256:[0-9a-f]{64}")
_MAX_SHOWN = 10
_MAX_CONCURRENCY = 64


class Converged(NamedTuple):
    """The result of a task about one object.

    :param changes: what was changed, or in check mode would be
    :param principal: its state now, or in check mode after the changes; None if it doesn't exist
    """

    changes: tuple[Change, ...]
    principal: Principal | None
    warnings: tuple[str, ...] = ()


def definition_of(declared: Declared) -> Definition:
    """Return a definition of one object."""
    if isinstance(declared, DeclaredDomain):
        return Definition({declared.name: declared}, {})
    return Definition({}, {declared.name: declared})


def converge_object(
    client: Client,
    declared: Declared,
    *,
    dry_run: bool,
    passwords: Passwords = Passwords(),  # noqa: B008 - it is frozen
    probe: Probe | None = None,
) -> Converged:
    """Make one domain, mailbox or forwarder match its declaration.

    :param dry_run: only read and plan; what an earlier task may create is a warning then
    :param probe: see Probe; called unless the plan is refused
    :raises Refused: the plan has problems; nothing was written
    :raises PostroomError: a change failed; ``done`` lists the changes that were applied
    """
    state = TenantState(client)
    plan = plan_object(client, state, declared, passwords)
    _refuse_object(plan, dry_run=dry_run)
    if probe is not None:
        kept = _without(passwords, probe(plan.changes))
        plan = plan_object(client, state, declared, kept)
        _refuse_object(plan, dry_run=dry_run)
    found = state.find(declared.name)
    prerequisites = [each.prerequisite_text for each in plan.problems]
    warnings = tuple(dict.fromkeys([*prerequisites, *(each.text for each in plan.warnings)]))
    if dry_run:
        after = {declared.name: found}
        after |= {change.subject.name: change.after for change in plan.changes}
        return Converged(plan.changes, after[declared.name], warnings)
    results = apply_changes(client, plan)
    if any(result.outcome == UNCHANGED for result in results):
        # Another client created it at the same time.
        return converge_object(client, declared, dry_run=False, passwords=passwords, probe=probe)
    for change, result in zip(plan.changes, results):  # noqa: B905 - Python 3.10
        if change.subject.name == declared.name:
            found = result.principal
    return Converged(plan.changes, found, warnings)


def plan_object(
    client: Client,
    state: TenantState,
    declared: Declared,
    passwords: Passwords = Passwords(),  # noqa: B008 - it is frozen
) -> Plan:
    """Return the plan for one object, and check what it relies on.

    :raises BadAnswer: the service's answers can't be trusted
    """
    plan = plan_tenant(state, definition_of(declared), passwords=passwords)
    if not plan.changes and state.find(declared.name) is None:
        # Other services answer "not found", too.
        client.check_api()
    if any(isinstance(each.before, Domain) for each in plan.changes if each.action == "delete"):
        state.check_complete()
    return plan


def apply_changes(client: Client, plan: Plan) -> list[Result]:
    """Apply the plan for one object, and return the result of each change.

    :raises PostroomError: a change failed; ``done`` lists the changes that were applied
    """
    results = apply_plan(client, plan)
    failed = next((result.error for result in results if result.error is not None), None)
    if failed is not None:
        pairs = zip(plan.changes, results)  # noqa: B905 - Python 3.10
        failed.done = [change.as_dict() for change, result in pairs if result.wrote]
        raise failed
    return results


def _refuse_object(plan: Plan, *, dry_run: bool) -> None:
    refused = [each for each in plan.problems if not (dry_run and each.prerequisite)]
    if refused:
        raise errors.Refused(" ".join(each.text for each in refused))


def _without(passwords: Passwords, names: Collection[Name]) -> Passwords:
    kept = {name: values for name, values in passwords.by_name.items() if name not in names}
    return replace(passwords, by_name=kept)


class Wanted(NamedTuple):
    """The desired state of a tenant, and how to reach it.

    :param expected: the digest of the only plan that may be applied; None for any
    :param concurrency: how many changes run at a time, 1 to 64
    """

    definition: Definition
    passwords: Passwords = Passwords()
    rules: PurgeRules = PurgeRules()
    expected: str | None = None
    concurrency: int = 8


class TenantReport(NamedTuple):
    """The result of a task about a tenant.

    :param results: the result of each change, or in check mode the expected one
    """

    plan: Plan
    results: list[Result]
    digest: str
    warnings: tuple[str, ...] = ()

    @property
    def done(self) -> list[Change]:
        """The changes that were written, or would be, even if their current state is unknown."""
        pairs = zip(self.plan.changes, self.results)  # noqa: B905 - Python 3.10
        return [change for change, result in pairs if result.wrote]

    def values(self, *, unchanged: bool = False) -> dict[str, Any]:
        """Return it as a module shows it.

        :param unchanged: include a row for each object that needs no change
        """
        return {
            "changes": [change.as_dict() for change in self.done],
            "plan_digest": self.digest,
            "summary": self.summary(),
            "results": self.rows(unchanged=unchanged),
            "undeclared": self.undeclared(),
        }

    def rows(self, *, unchanged: bool) -> list[dict[str, str]]:
        """Return one row for each object.

        :param unchanged: include those that need no change
        """
        rows = list(self._changed_rows())
        if unchanged:
            reason = "as declared"
            rows += [_row(one, UNCHANGED, reason, absent=one.absent) for one in self.plan.unchanged]
        return rows

    def summary(self) -> dict[str, int]:
        """Return the number of objects with each outcome; each object counts once."""
        rows = self._changed_rows()
        counts = Counter(row["outcome"] for row in rows)
        changed = {row["name"] for row in rows if row["outcome"] == CHANGED}
        subjects = {str(change.subject.name): change.action for change in self.plan.changes}
        actions = Counter(action for name, action in subjects.items() if name in changed)
        return {
            **{f"{action}d": actions[action] for action in ("create", "update", "delete")},
            UNCHANGED: len(self.plan.unchanged) + counts[UNCHANGED],
            **{outcome: counts[outcome] for outcome in (FAILED, NOT_ATTEMPTED)},
        }

    def undeclared(self) -> dict[str, list[Any]]:
        """Return what the tenant holds and the definition does not name."""
        found = sorted(self.plan.undeclared, key=lambda principal: principal.name.key)
        aliases = sorted(self.plan.undeclared_aliases, key=lambda pair: pair[0].key)
        kinds = {"domains": Domain, "mailboxes": Mailbox, "forwarders": Forwarder}
        names: dict[str, list[Any]] = {
            key: [str(p.name) for p in found if isinstance(p, kind)] for key, kind in kinds.items()
        }
        return names | {
            "aliases": [{"address": str(a), "owner": str(owner.name)} for a, owner in aliases]
        }

    def _changed_rows(self) -> list[dict[str, str]]:
        rows: dict[str, dict[str, str]] = {}
        order = (UNCHANGED, CHANGED, NOT_ATTEMPTED, FAILED)
        for change, result in zip(self.plan.changes, self.results):  # noqa: B905
            subject = change.subject
            is_absent = change.action == "delete"
            row = _row(subject, result.outcome, result.reason, absent=is_absent)
            known = rows.setdefault(subject.name.key, row)
            if known is not row:
                # An object has two changes if it loses one address and gains another.
                row["outcome"] = max(known["outcome"], row["outcome"], key=order.index)
                row["reason"] = f"{known['reason']}, {row['reason']}"
                rows[subject.name.key] = row
        return list(rows.values())


def converge_tenant(
    client: Client,
    wanted: Wanted,
    *,
    dry_run: bool,
    report: Report | None = None,
    probe: Probe | None = None,
) -> TenantReport:
    """Make a tenant match its definition.

    :param client: its timeout is for reading, and then for each single change
    :param dry_run: only read and plan
    :param report: is called with the progress
    :param probe: see Probe; called unless the plan is refused
    :raises Refused: the plan has problems, or is not the expected one; nothing was written
    :raises PostroomError: the tenant could not be read; later failures are in the results
    """
    _check(wanted)
    # Reading the definition has taken some of the time.
    client = client.with_timeout(client.timeout)
    with without_collection():
        state = TenantState(client)
        state.read_all()
        found = _planned(state, wanted)
        if any(change.action != "update" for change in found.plan.changes):
            state.check_complete()
    problems = [each for each in found.plan.problems if not (dry_run and each.prerequisite)]
    refuse(problems, errors.Refused)
    if probe is not None:
        passwords = _without(wanted.passwords, probe(found.plan.changes))
        found = _planned(state, wanted._replace(passwords=passwords))
    _refuse_other_plan(found, wanted.expected)
    if dry_run:
        return found
    results = apply_plan(
        client,
        found.plan,
        concurrency=wanted.concurrency,
        deadline_per_change=True,
        report=report,
    )
    return found._replace(results=results)


def _check(wanted: Wanted) -> None:
    if not 1 <= wanted.concurrency <= _MAX_CONCURRENCY:
        raise errors.InvalidInput(
            f"concurrency: {wanted.concurrency} can't be used. Give 1 to {_MAX_CONCURRENCY}."
        )
    if wanted.expected is not None and not _DIGEST.fullmatch(wanted.expected):
        raise errors.InvalidInput(
            f"expected_plan: {wanted.expected!r} is not a plan_digest of this version, which is "
            "v2:sha256: and 64 hexadecimal digits. Use the plan_digest of a reviewed plan."
        )


@without_collection()
def _planned(state: TenantState, wanted: Wanted) -> TenantReport:
    """Plan the changes, with results as if all of them were applied."""
    purge = Purge(wanted.rules)
    plan = plan_tenant(state, wanted.definition, purge, wanted.passwords)
    subjects = [*state.principals, *(change.subject for change in plan.changes)]
    return TenantReport(
        plan,
        [Result(CHANGED, change.reason) for change in plan.changes],
        digest(plan.changes),
        (
            *(f"{problem} A real run fails because of this." for problem in plan.problems),
            *(str(warning) for warning in plan.warnings),
            *(warning.text for warning in purge.idle_patterns(subjects)),
        ),
    )


def raise_if_incomplete(found: TenantReport, *, unchanged: bool = False) -> None:
    """Raise an error that lists every change that was not applied, if there is one.

    :raises Incomplete: not all changes were applied
    """
    count = Counter(row["outcome"] for row in found.rows(unchanged=False))
    rows = [row for row in found.rows(unchanged=False) if row["outcome"] in (FAILED, NOT_ATTEMPTED)]
    if not rows:
        return
    lines = [f"{row['kind']} {row['name']}: {row['reason']}" for row in rows[:_MAX_SHOWN]]
    lines += [f"And {len(rows) - _MAX_SHOWN} more, see results."] if len(rows) > _MAX_SHOWN else []
    is_final = {
        isinstance(result.error, (errors.Rejected, errors.Forbidden))
        for result in found.results
        if result.error is not None
    }
    remedies = {True: "correct what the service refuses", False: "run again for the rest"}
    remedy = " and ".join(remedies[each] for each in sorted(is_final or {False}, reverse=True))
    error = errors.Incomplete(
        f"{count[FAILED]} of {len(found.rows(unchanged=False))} objects could not be changed, and "
        f"{count[NOT_ATTEMPTED]} were not attempted. Completed changes are kept; {remedy}."
        + "".join(f"\n{line}" for line in lines)
    )
    error.details = found.values(unchanged=unchanged)
    error.done = [change.as_dict() for change in found.done]
    raise error


def refuse(problems: Sequence[Problem], kind: type[errors.PostroomError]) -> None:
    """Raise an error with all problems, if there are any."""
    if problems:
        error = kind(in_words(problems))
        error.details = {"problems": [problem.as_dict() for problem in problems]}
        raise error


def _row(
    subject: Declared | Principal, outcome: str, reason: str, *, absent: bool
) -> dict[str, str]:
    state = "absent" if absent else "present"
    about = {"kind": subject.kind, "name": str(subject.name), "state": state}
    return about | {"outcome": outcome, "reason": reason}


def _refuse_other_plan(found: TenantReport, expected: str | None) -> None:
    # An empty plan needs no review.
    if expected is None or not found.plan.changes or found.digest == expected:
        return
    raise errors.Refused(
        f"This is not the expected plan: its digest is {found.digest}, but expected_plan is "
        f"{expected}. The tenant, the definition or another option of the task has changed since. "
        "Nothing was changed. Review the new plan in check mode, and set expected_plan to its "
        "digest."
    )
