# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Converge one object of a tenant: read its state, make a plan, and refuse or apply it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from .. import errors
from ..client.client import Client
from ..models import Domain, Principal
from .declared import Declared, Passwords, definition_of
from .plan import Change, Plan, Probe
from .planner import plan_tenant
from .state import TenantState

if TYPE_CHECKING:
    from .apply import Result


class Converged(NamedTuple):
    """The result of a task for one object.

    :param changes: the applied changes, or the planned ones in check mode
    :param principal: the principal after the changes, or None if it does not exist
    """

    changes: tuple[Change, ...]
    principal: Principal | None
    warnings: tuple[str, ...] = ()


def converge_object(
    client: Client,
    declared: Declared,
    *,
    dry_run: bool,
    passwords: Passwords = Passwords(),  # noqa: B008 - it is frozen
    probe: Probe | None = None,
) -> Converged:
    """Make one domain, mailbox or forwarder match its declaration.

    :param dry_run: only read and plan; if an object that an earlier task may create is missing,
        only warn
    :param probe: a function that returns the mailboxes whose passwords work; it is not called if
        the plan is refused
    :raises Refused: if the plan has problems; nothing was written
    :raises BadAnswer: if the service's responses can't be trusted; nothing was written
    :raises PostroomError: if a change failed; ``done`` lists the changes that were applied
    """
    state = TenantState(client)

    def plan_or_refuse(passwords: Passwords) -> Plan:
        plan = plan_tenant(state, definition_of(declared), passwords=passwords)
        if not plan.changes and state.find(declared.name) is None:
            # The not-found response may have come from another service.
            client.check_api()
        deleted = [each.before for each in plan.changes if each.action == "delete"]
        if any(isinstance(each, Domain) for each in deleted):
            state.check_complete()
        refused = [each.text for each in plan.problems if not (dry_run and each.prerequisite)]
        if refused:
            raise errors.Refused(" ".join(refused))
        return plan

    plan = plan_or_refuse(passwords)
    if probe is not None:
        plan = plan_or_refuse(passwords.without(probe(plan.changes)))
    found = state.find(declared.name)
    prerequisites = [each.prerequisite_text for each in plan.problems]
    warnings = tuple(dict.fromkeys([*prerequisites, *(each.text for each in plan.warnings)]))
    if dry_run or not plan.changes:
        after = {change.subject.name: change.after for change in plan.changes}
        return Converged(plan.changes, after.get(declared.name, found), warnings)
    results = apply_changes(client, plan)
    if not all(result.wrote for result in results):
        # Another client created the object at the same time.
        return converge_object(client, declared, dry_run=False, passwords=passwords, probe=probe)
    for change, result in zip(plan.changes, results, strict=True):
        if change.subject.name == declared.name:
            found = result.principal
    return Converged(plan.changes, found, warnings)


def apply_changes(client: Client, plan: Plan) -> list[Result]:
    """Apply the plan for one object and return the result of each change.

    :raises PostroomError: if a change failed; ``done`` lists the changes that were applied
    """
    # Import this only here, because most tasks have nothing to change.
    from .apply import apply_plan  # noqa: PLC0415

    results = apply_plan(client, plan)
    failed = next((result.error for result in results if result.error is not None), None)
    if failed is not None:
        pairs = zip(plan.changes, results, strict=True)
        failed.done = [change.as_dict() for change, result in pairs if result.wrote]
        raise failed
    return results
