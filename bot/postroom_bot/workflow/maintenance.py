# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Periodic work: ends of aliases and forwarders, old keys, streaming the audit."""

from __future__ import annotations

from datetime import datetime, timedelta

from postroom_bot.backends.ledger import in_force
from postroom_bot.domain import EXPIRY, Action, Change, Request, State
from postroom_bot.store import audit, inbox, ledger, requests, reservations
from postroom_bot.workflow.dependencies import Dependencies
from postroom_bot.workflow.lease import BOT, LeasedRequest
from postroom_common.database import Connection

PURGE_EVERY = timedelta(hours=1)
#: Slack's retries end long before; a signature is valid for five minutes.
KEEP_KEYS = timedelta(days=2)


class Upkeep:
    """Periodic work of one thread."""

    def __init__(self, deps: Dependencies) -> None:
        self._deps = deps
        self._purge_at = deps.clock()

    def run(self) -> None:
        """Count the open requests, delete old keys and reservations, stream the audit."""
        deps = self._deps
        for state, count in deps.database.read(requests.count_open).items():
            deps.metrics.open_requests.labels(state).set(count)
        if deps.clock() >= self._purge_at:
            deps.database.write(self._purge)
            self._purge_at = deps.clock() + PURGE_EVERY
        # Last, since it may fail.
        if deps.audit_lines is not None:
            audit.stream(deps.database, deps.audit_lines)

    def _purge(self, c: Connection) -> None:
        now = self._deps.clock()
        inbox.purge(c, now - KEEP_KEYS)
        reservations.purge(c, now)


def remove_ended(deps: Dependencies, leased: LeasedRequest) -> None:
    """Request the removal of an alias or forwarder that ends; its approval included that."""
    request = leased.request
    if request.state is State.DONE and request.ends_at and request.ends_at <= leased.now:
        deps.database.write(lambda c: _ask_for_removal(c, request, leased.now))


def notice_due_at(deps: Dependencies, request: Request) -> datetime | None:
    """Return when to announce the end to the requester, or None if it has none or is too near."""
    if request.state is not State.DONE or not request.ends_at or not request.ended_at:
        return None
    at = request.ends_at - deps.policy().requests.end_notice
    return at if at > request.ended_at else None


def removal_of(c: Connection, request: Request) -> Change | None:
    """Return the change that reverts a request.

    :returns: None if a later request extended or removed it
    """
    change = request.change
    if change.action is Action.FORWARD_ADD:
        found = requests.destinations_of(c, change.target)
        own = tuple(name for name, one in found.items() if one.id == request.id)
        return Change(Action.FORWARD_REMOVE, change.target, destinations=own) if own else None
    entries = ledger.entries(c)
    own_changes = [one.change for one in entries if one.request_id == request.id]
    if any(one is mine for one in in_force(one.change for one in entries) for mine in own_changes):
        return Change(Action.ALIAS_REMOVE, change.target, change.mailbox)
    return None


def _ask_for_removal(c: Connection, request: Request, at: datetime) -> None:
    change = removal_of(c, request)
    if change is None or not inbox.first(c, f"{EXPIRY}:{request.id}", at=at):
        return
    removal = requests.add(
        c,
        change=change,
        requester=request.requester,
        team=request.team,
        at=at,
        origin=EXPIRY,
        state=State.APPROVED,
        requester_mailbox=request.requester_mailbox,
        rule=request.rule,
        policy_digest=request.policy_digest,
    )
    digest = removal.right_digest()
    requests.save(c, removal, digest=digest)
    data = {"change": change.as_dict(), "after": request.id, "digest": digest}
    audit.append(c, "request.approved", at=at, actor=BOT, request_id=removal.id, data=data)
