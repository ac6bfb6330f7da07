# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Converging: look, plan, refuse what does not fit, and carry the plan out."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import NamedTuple

from .. import errors
from ..client.client import Client
from ..models import Domain, Principal, spelled
from ..names import Name
from .changes import Change, Plan
from .plan_common import without_passwords
from .state import Glimpse, NeedsWhole, Tenant

#: Returns the mailboxes whose passwords already work.
Probe = Callable[[Iterable[Change]], Collection[Name]]

#: Seconds for taking back half a move, besides the time that the task was given.
_TIME_TO_TAKE_BACK = 10.0


class Converged(NamedTuple):
    """What came of it.

    :param plan: what was changed, or would be
    :param principal: the one that the plan is about, as it is now, or as it would be
    :param warnings: problems that were let pass
    """

    plan: Plan
    principal: Principal | None
    warnings: tuple[str, ...] = ()


def converge(
    client: Client,
    name: Name,
    make_plan: Callable[[Tenant], Plan],
    *,
    dry_run: bool,
    probe: Probe | None = None,
) -> Converged:
    """Make the tenant what the plan wants it to be.

    If another client creates the same object at the same time, plan again.

    :param name: the principal that the plan is about
    :param make_plan: one of the planner's functions, waiting for the tenant
    :param dry_run: only look and plan; what an earlier step may be about to make is then a
        warning where it would be an error
    :param probe: see Probe; called unless the plan is refused
    :raises Refused: the plan has problems; nothing was written
    """
    try:
        return _converge_once(client, name, make_plan, probe, dry_run=dry_run)
    except errors.CreatedMeanwhile:
        return _converge_once(client, name, make_plan, probe, dry_run=dry_run)


def _converge_once(
    client: Client,
    name: Name,
    make_plan: Callable[[Tenant], Plan],
    probe: Probe | None,
    *,
    dry_run: bool,
) -> Converged:
    plan, found = look(client, name, make_plan)
    if found is None and not plan.changes:
        client.check_api()
    refusals = [p.text for p in plan.problems if p.refuses and not (dry_run and p.missing)]
    if refusals:
        raise errors.Refused(" ".join(refusals))
    if probe is not None:
        plan = without_passwords(plan, probe(plan.changes))
    problems = [p.warning if dry_run and p.missing else p.text for p in plan.problems]
    warnings = tuple(dict.fromkeys([*problems, *plan.warnings]))
    after = {name: found}
    if dry_run:
        after |= {change.subject.name: change.after for change in plan.changes}
    else:
        after |= apply(client, plan)
    return Converged(plan, after[name], warnings)


def look(
    client: Client, name: Name, make_plan: Callable[[Tenant], Plan]
) -> tuple[Plan, Principal | None]:
    """Plan with one read where that is enough, else with the whole list.

    :return: the plan, and the principal of that name as it is now
    """
    found = client.find(name)
    try:
        return make_plan(Glimpse(name, found)), found
    except NeedsWhole:
        tenant = Tenant(client.list_principals())
    if found is not None and tenant.find(name) is None:
        raise errors.BadAnswer(
            f"The list of the tenant lacks {name}, which is there when asked for by name. "
            "Nothing is decided on such a list. Run again; if it stays, ask the operator.",
            errors.Failure("BadAnswer", 200, "GET", "/api/principal", f"{name} is missing"),
        )
    plan = make_plan(tenant)
    deleted = (change.before for change in plan.changes if change.action == "delete")
    if any(isinstance(principal, Domain) for principal in deleted):
        client.check_list(tenant.names)
    return plan, found


def apply(client: Client, plan: Plan) -> dict[Name, Principal | None]:
    """Carry out a plan's changes in order, and return each changed principal as it is now.

    :raises PostroomError: a change failed; ``done`` on the error tells which stand all the same
    """
    after: dict[Name, Principal | None] = {}
    done: list[Change] = []
    try:
        for change in plan.changes:
            after[change.subject.name] = _carry_out(client, change)
            done.append(change)
    except errors.PostroomError as error:
        if error.wrote:
            done.append(plan.changes[len(done)])
        if plan.all_or_nothing and len(done) < len(plan.changes):
            done = _taken_back(client.with_time(_TIME_TO_TAKE_BACK), done, error)
        error.done = [change.as_dict() for change in done]
        raise
    return after


def _carry_out(client: Client, change: Change) -> Principal | None:
    name = change.subject.name
    if change.action == "create" and change.after is not None:
        return client.create(change.after, change.secrets)
    if change.action == "delete":
        delete_planned(client, change)
        return None
    return client.edit(name, change.edit, change.secrets)


def delete_planned(client: Client, change: Change) -> None:
    """Delete what the plan named, after one more look at that very name."""
    now = client.find(change.subject.name)
    if now is None:
        return
    if now.kind != change.subject.kind:
        raise errors.Refused(
            f"{now.name} is a {now.kind} now, where a {change.subject.kind} was to be deleted. "
            "It was left alone. Run again to plan anew."
        )
    if isinstance(now, Domain):
        _refuse_newcomers(client, now.name)
    client.delete(now.name)


def _refuse_newcomers(client: Client, domain: Name) -> None:
    """Refuse to delete a domain that holds something still, which the plan can't have named."""
    holders = Tenant(client.list_principals()).holders_on(domain)
    if holders:
        first = holders[0].principal
        raise errors.Refused(
            f"The domain {domain} was left alone, for {first.kind} {first.name} has come to "
            "use it meanwhile. Run again to plan anew."
        )


def _taken_back(client: Client, done: list[Change], error: errors.PostroomError) -> list[Change]:
    """Take updates back, the last first, and tell so. Return those that could not be."""
    standing = [change for change in reversed(done) if not _take_back(client, change)]
    for change in standing:
        lost = ", ".join(spelled(change.edit.remove_aliases))
        error.add(
            f"{lost} could not be given back to {change.subject.name} and may deliver nowhere "
            "now. Run again."
        )
    if done and not standing:
        error.add("What had been changed before was taken back.")
    return standing


def _take_back(client: Client, change: Change) -> bool:
    try:
        client.edit(change.subject.name, change.edit.inverse())
    except errors.PostroomError:
        return False
    return True
