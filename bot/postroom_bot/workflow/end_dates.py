# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Announce the end of an alias or a forwarder, and request its removal after the last day.

The approval of an alias or a forwarder also covers its removal after the last day. The removal
takes back only what the request itself has added and still holds, see `store.holdings`. If nothing
else is left in a forwarder, the forwarder is deleted, because it needs at least one destination.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from postroom_bot.domain import END_OF_CHANGE, EXTENSION, Action, Change, Request, State
from postroom_bot.store import audit, holdings, requests
from postroom_bot.workflow.dependencies import Dependencies
from postroom_bot.workflow.leased_request import LeasedRequest
from postroom_common.database import Connection


def notice_due_at(deps: Dependencies, request: Request) -> datetime | None:
    """Return when to announce an end, or None if the change is permanent or ends too soon."""
    if request.state is not State.DONE or not request.removal_at or not request.closed_at:
        return None
    at = request.removal_at - deps.policy().requests.end_notice
    return at if at > request.closed_at else None


def change_still_due(deps: Dependencies, request: Request) -> Change | None:
    """Return the part of a request's change that still has to be made, or None for nothing.

    Only the change of an extension or of a removal after a last day depends on the holdings.

    :raises Unavailable: if the mail service does not respond
    """
    change = request.change
    if request.origin not in (EXTENSION, END_OF_CHANGE):
        return change
    held = deps.database.read(lambda c: holdings.held_at(c, change.target, change.action))
    if request.origin == END_OF_CHANGE:
        now = deps.clock()
        due = {name for name, one in held.items() if one.ends_at and one.ends_at <= now}
    else:
        end = change.end_of_last_day(deps.zone)
        due = {name for name, one in held.items() if holdings.lasts_longer(end, one.ends_at)}
        due &= deps.mail.deliveries(change)
    left = tuple(name for name in change.deliveries if name in due)
    if not left:
        return None
    return change if change.action.is_alias else replace(change, destinations=left)


def remove_ended(leased: LeasedRequest) -> None:
    """Request the removal of what the request still holds, if its last day has passed."""
    request, at = leased.request, leased.now
    if not request.removal_at or request.removal_at > at:
        return

    def work(c: Connection) -> None:
        if not (held := holdings.held_by(c, request.id)):
            return
        change = Change(Action.FORWARD_REMOVE, request.change.target, destinations=held)
        if request.change.action.is_alias:
            change = Change(Action.ALIAS_REMOVE, request.change.target, request.change.mailbox)
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

    leased.update(also_write=work, removal_at=None)
