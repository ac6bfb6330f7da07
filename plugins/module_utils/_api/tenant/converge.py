# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Converging a whole tenant: read it, plan, refuse what does not fit, and carry the plan out."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection
from dataclasses import replace
from typing import Any, NamedTuple

from .. import errors
from ..client.client import Client
from ..memory import without_collection
from ..models import Domain, Forwarder, Mailbox, Principal
from ..names import Name
from .apply import CHANGED, FAILED, NOT_ATTEMPTED, UNCHANGED, Report, Result, carry_out
from .apply_one import Probe
from .changes import Change
from .definition import Declared, Definition, Finding, in_words
from .drafts import Passwords
from .plan import plan_tenant
from .purge import Purge, PurgeRules
from .state import Tenant
from .steps import TenantPlan, digest

_DIGEST = re.compile("sha256:[0-9a-f]{64}")
_MOST_TOLD = 10
_MOST_AT_A_TIME = 64


class Wanted(NamedTuple):
    """What is wanted of a tenant.

    :param expected: the digest of the only plan that may be carried out; None for any
    :param concurrency: how many changes may be under way at a time, 1 to 64
    """

    definition: Definition
    passwords: Passwords = Passwords()
    rules: PurgeRules = PurgeRules()
    expected: str | None = None
    concurrency: int = 8


class TenantReport(NamedTuple):
    """What came of it.

    :param results: what became of each step, or would
    """

    plan: TenantPlan
    results: list[Result]
    digest: str
    warnings: tuple[str, ...] = ()

    @property
    def done(self) -> list[Change]:
        """The changes that were written, or would be, those too of which nobody knows more."""
        pairs = zip(self.plan.steps, self.results)  # noqa: B905 - Python 3.10 is fine, lengths too
        return [step.change for step, result in pairs if result.wrote]

    def values(self, *, unchanged: bool = False) -> dict[str, Any]:
        """Return all of it as a module shows it.

        :param unchanged: with a row for each object that is as it should be, too
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

        :param unchanged: those that are as they should be, too
        """
        rows = list(self._changed_rows())
        if unchanged:
            reason = "it is as declared"
            rows += [_row(one, UNCHANGED, reason, absent=one.absent) for one in self.plan.unchanged]
        return rows

    def summary(self) -> dict[str, int]:
        """Return how many objects came to what; each of them is counted once."""
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
        """Return what the tenant held and the definition does not name."""
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
        for step, result in zip(self.plan.steps, self.results):  # noqa: B905
            subject = step.change.subject
            gone = step.change.action == "delete"
            row = _row(subject, result.outcome, result.reason, absent=gone)
            known = rows.setdefault(subject.name.key, row)
            if known is not row:
                # One object may have two steps, when it gives an address up and takes another.
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
    """Make a tenant what its definition says.

    :param client: its time is for reading, and then for each single change
    :param dry_run: only read and plan
    :param report: is told how the work goes on
    :param probe: see Probe; called unless the plan is refused
    :raises Refused: the plan has problems, or is not the one expected; nothing was written
    :raises PostroomError: the tenant could not be read; what fails later is in the results
    """
    _check(wanted)
    # Reading the definition has taken some of the time.
    client = client.with_time(client.timeout)
    with without_collection():
        tenant = Tenant(client.list_principals())
        found = _planned(tenant, wanted)
        if any(change.action != "update" for change in found.plan.changes):
            client.check_list(tenant.names)
    refuse([f for f in found.plan.findings if not (dry_run and f.prerequisite)], errors.Refused)
    if probe is not None:
        found = _planned(tenant, _without_passwords(wanted, probe(found.plan.changes)))
    _refuse_other_plan(found, wanted.expected)
    if dry_run:
        return found
    results = carry_out(client, found.plan, concurrency=wanted.concurrency, report=report)
    return found._replace(results=results)


def _check(wanted: Wanted) -> None:
    if not 1 <= wanted.concurrency <= _MOST_AT_A_TIME:
        raise errors.InvalidInput(
            f"concurrency: {wanted.concurrency} can't be used. Give 1 to {_MOST_AT_A_TIME}."
        )
    if wanted.expected is not None and not _DIGEST.fullmatch(wanted.expected):
        raise errors.InvalidInput(
            f"expected_plan: {wanted.expected!r} is no plan_digest, which is sha256: and 64 "
            "hexadecimal digits. Give the one of the plan that was reviewed."
        )


def _without_passwords(wanted: Wanted, names: Collection[Name]) -> Wanted:
    kept = {name: ones for name, ones in wanted.passwords.by_name.items() if name not in names}
    return wanted._replace(passwords=replace(wanted.passwords, by_name=kept))


@without_collection()
def _planned(tenant: Tenant, wanted: Wanted) -> TenantReport:
    """Plan the changes, with results as if all of them were applied."""
    purge = Purge(wanted.rules)
    plan = plan_tenant(tenant, wanted.definition, purge, wanted.passwords)
    return TenantReport(
        plan,
        [Result(CHANGED, step.change.reason) for step in plan.steps],
        digest(plan.changes),
        (
            *(f"{finding} A real run fails on this." for finding in plan.findings),
            *plan.warnings,
            *purge.idle_patterns([*tenant.principals, *(c.subject for c in plan.changes)]),
        ),
    )


def raise_if_incomplete(found: TenantReport, *, unchanged: bool = False) -> None:
    """Raise an error that tells all, if anything that was to be done was not.

    :raises Incomplete: so it is
    """
    count = Counter(row["outcome"] for row in found.rows(unchanged=False))
    rows = [row for row in found.rows(unchanged=False) if row["outcome"] in (FAILED, NOT_ATTEMPTED)]
    if not rows:
        return
    told = [f"{row['kind']} {row['name']}: {row['reason']}" for row in rows[:_MOST_TOLD]]
    told += [f"And {len(rows) - _MOST_TOLD} more, see results."] if len(rows) > _MOST_TOLD else []
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
        + "".join(f"\n{line}" for line in told)
    )
    error.details = found.values(unchanged=unchanged)
    error.done = [change.as_dict() for change in found.done]
    raise error


def refuse(findings: list[Finding], kind: type[errors.PostroomError]) -> None:
    """Raise an error that holds all findings, if there are any."""
    if findings:
        error = kind(in_words(findings))
        error.details = {"problems": [finding.as_dict() for finding in findings]}
        raise error


def _row(
    subject: Declared | Principal, outcome: str, reason: str, *, absent: bool
) -> dict[str, str]:
    state = "absent" if absent else "present"
    about = {"kind": subject.kind, "name": str(subject.name), "state": state}
    return about | {"outcome": outcome, "reason": reason}


def _refuse_other_plan(found: TenantReport, expected: str | None) -> None:
    # An empty plan does nothing that anybody would have to review.
    if expected is None or not found.plan.steps or found.digest == expected:
        return
    raise errors.Refused(
        f"The plan is not the one expected: it has the digest {found.digest}, expected_plan is "
        f"{expected}. The tenant, the definition or another option of the task has changed since. "
        "Nothing was changed. Review the new plan in check mode, and expect that."
    )
