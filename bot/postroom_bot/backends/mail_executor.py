# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The executor that changes aliases and forwarders through the mail service's API.

`preview` and the executor share the planning, so a preview shows what the executor would do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from postroom_bot.backends.executor import FREEING, ExecutionContext, Outcome
from postroom_bot.backends.mail_api import MailApi, sorted_keys
from postroom_bot.backends.mail_plans import plan_change, require_no_problems
from postroom_bot.domain import Action, Change, Reason, Request
from postroom_client.models import Forwarder, Principal
from postroom_client.names import parse_address
from postroom_client.tenant.converge_object import apply_changes
from postroom_client.tenant.state import TenantState


class MailExecutor:
    """A thread-safe executor that makes changes through the mail service's API."""

    def __init__(self, mail: MailApi) -> None:
        self._mail = mail

    def execute(self, request: Request, context: ExecutionContext) -> Outcome:
        """Make the requested change.

        :raises Rejected: if the change can't be made
        :raises ValueError: if the request is for a password
        """
        return _plan_and_apply(self._mail, request.change, request.notes, context)


def preview(mail: MailApi, change: Change, notes: Mapping[str, Any] | None = None) -> Outcome:
    """Return the outcome of a change without making the change.

    :param change: the change, including its mailbox
    :param notes: the notes of an earlier attempt
    :returns: the outcome, with ``changed`` set if anything is left to do
    :raises Rejected: if the change can't be made
    :raises ValueError: if the change is a new password
    """
    return _plan_and_apply(mail, change, notes or {})


def _plan_and_apply(
    mail: MailApi,
    change: Change,
    notes: Mapping[str, Any],
    context: ExecutionContext | None = None,
) -> Outcome:
    """Plan a change, and make it if a context is given."""
    with mail.translating_errors(change.target):
        client = mail.client()
        tenant = TenantState(client)
        name, plan = plan_change(tenant, change)
        current = tenant.find(name)
        if current is None and not plan.changes:
            # A server that is not the mail API would also return "not found".
            client.check_api()
        require_no_problems(plan)
        # An earlier attempt may have freed addresses and crashed before it could report them.
        freed = {key for one in plan.changes for key in sorted_keys(one.freed)}
        if noted := notes.get(FREEING, ()):
            tenant = TenantState(principals=client.list_principals())
            freed |= {each for each in noted if tenant.owner_of(parse_address(each)) is None}
        # A plan for one object has at most one change.
        after = plan.changes[0].after if plan.changes else current
        if context is not None and plan.changes:
            context.renew()
            context.save_notes({FREEING: sorted(freed)})
            # Another client may have changed the object since the change was planned.
            (result,) = apply_changes(client, plan)
            after = result.principal
    reason, recorded_change = _result_of(change, after)
    return Outcome(bool(plan.changes), reason, recorded_change, tuple(sorted(freed)))


def _result_of(change: Change, after: Principal | None) -> tuple[Reason, Change]:
    """Return the new state as a reason for the requester, and the change for the ledger."""
    params: dict[str, Any] = {"address": change.target}
    if change.action.is_alias:
        params["mailbox"] = change.mailbox
        return Reason("alias.added" if change.action.adds else "alias.removed", params), change
    if not isinstance(after, Forwarder):
        recorded_change = replace(change, action=Action.FORWARD_REMOVE, destinations=())
        return Reason("forward.removed", params), recorded_change
    params["destinations"] = sorted(change.destinations)
    members = tuple(sorted_keys(after.members))
    recorded_change = replace(change, action=Action.FORWARD_ADD, destinations=members)
    return Reason(
        "forward.added" if change.action.adds else "forward.reduced", params
    ), recorded_change
