# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Announce the end of an alias or a forwarder, and request its removal after the last day.

The approval of an alias or a forwarder also covers its removal after the last day.
"""

from __future__ import annotations

from datetime import date, datetime

from postroom_bot.domain import END_OF_CHANGE, Action, Change, Request, State
from postroom_bot.store import audit, idempotency_keys, ledger, requests
from postroom_bot.workflow.dependencies import Dependencies
from postroom_bot.workflow.leased_request import LeasedRequest
from postroom_common.database import Connection


def current_ends(deps: Dependencies, change: Change) -> set[date | None]:
    """Return the last days of an existing alias or of existing destinations; None for permanent."""
    if change.action is Action.FORWARD_ADD:
        added = deps.database.read(lambda c: requests.latest_by_destination(c, change.target))
        return {added[one].change.last_day if one in added else None for one in change.destinations}
    for one in ledger.in_force(deps.database.read(ledger.entries)):
        if one.change.action is change.action and one.change.target == change.target:
            return {one.change.last_day}
    return {None}


def notice_due_at(deps: Dependencies, request: Request) -> datetime | None:
    """Return when to announce an end, or None if the change is permanent or ends too soon."""
    if request.state is not State.DONE or not request.removal_at or not request.closed_at:
        return None
    at = request.removal_at - deps.policy().requests.end_notice
    return at if at > request.closed_at else None


def removal_change(c: Connection, request: Request) -> Change | None:
    """Return the change that reverts a request.

    :returns: the change, or None if a later request has extended or removed the addition
    """
    change = request.change
    if change.action is Action.FORWARD_ADD:
        found = requests.latest_by_destination(c, change.target)
        own = tuple(name for name, one in found.items() if one.id == request.id)
        return Change(Action.FORWARD_REMOVE, change.target, destinations=own) if own else None
    if any(one.request_id == request.id for one in ledger.in_force(ledger.entries(c))):
        return Change(Action.ALIAS_REMOVE, change.target, change.mailbox)
    return None


def remove_ended(leased: LeasedRequest) -> None:
    """Request the removal of the request's alias or forwarder, if its last day has passed."""
    request, at = leased.request, leased.now
    if not request.removal_at or request.removal_at > at:
        return

    def work(c: Connection) -> None:
        change = removal_change(c, request)
        if change is None or not idempotency_keys.record_if_new(
            c, f"{END_OF_CHANGE}:{request.id}", at=at
        ):
            return
        removal = requests.add(
            c,
            change=change,
            requester=request.requester,
            team=request.team,
            at=at,
            origin=END_OF_CHANGE,
            state=State.APPROVED,
            requester_mailbox=request.requester_mailbox,
            rule=request.rule,
            policy_digest=request.policy_digest,
        )
        digest = removal.computed_digest()
        requests.save(c, removal, digest=digest)
        data = {"change": change.as_dict(), "after": request.id, "digest": digest}
        audit.append(
            c, "request.approved", at=at, actor=audit.BOT, request_id=removal.id, data=data
        )

    leased.deps.database.write(work)
