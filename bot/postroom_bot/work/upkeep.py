# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What time itself brings: aliases that end, old keys and tombstones, the audit's lines."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta

from postroom_bot.executors.ledger import in_force
from postroom_bot.model import Action, Request, State, Wish
from postroom_bot.store import audit, inbox, ledger, requests, tombstones
from postroom_bot.store.database import Connection

from .deps import Deps
from .hold import BOT, Hold
from .standing import EXPIRY

PURGE_EVERY = timedelta(hours=1)
#: Slack delivers nothing again after so long; a signature is valid for five minutes.
KEEP_KEYS = timedelta(days=2)


class Upkeep:
    """What is to be done every now and then. One thread uses it."""

    def __init__(self, deps: Deps) -> None:
        self._deps = deps
        self._purge_at = deps.clock()

    def run(self) -> None:
        """Count the open requests, forget what is old, write out the audit's new rows."""
        deps = self._deps
        for state, count in deps.database.read(requests.count_open).items():
            deps.metrics.open_requests.labels(state).set(count)
        if deps.clock() >= self._purge_at:
            deps.database.write(self._purge)
            self._purge_at = deps.clock() + PURGE_EVERY
        # Last, for where it goes may be full or broken.
        if deps.audit_lines is not None:
            audit.stream(deps.database, deps.audit_lines)

    def _purge(self, c: Connection) -> None:
        now = self._deps.clock()
        inbox.purge(c, now - KEEP_KEYS)
        tombstones.purge(c, now)


def ends_at(request: Request) -> datetime | None:
    """Return when an alias that was carried out has to go, or None where it may stay."""
    last = request.wish.expires_on
    if request.state is not State.DONE or request.wish.action is not Action.ALIAS_ADD or not last:
        return None
    return datetime.combine(last + timedelta(days=1), time(), UTC)


def end_alias(deps: Deps, hold: Hold) -> None:
    """Ask for an alias to be removed when its last day is over; approved with the alias itself."""
    end = ends_at(hold.request)
    if end is not None and end <= hold.now:
        deps.database.write(lambda c: _ask_for_removal(c, hold.request, hold.now))


def _ask_for_removal(c: Connection, request: Request, at: datetime) -> None:
    if not inbox.first(c, f"{EXPIRY}:{request.id}", at=at) or not _is_latest(c, request):
        return
    wish = Wish(Action.ALIAS_REMOVE, request.wish.target, request.wish.mailbox)
    removal = requests.add(
        c,
        wish=wish,
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
    requests.change(c, removal, digest=digest)
    data = {"wish": wish.as_dict(), "after": request.id, "digest": digest}
    audit.append(c, "request.approved", at=at, actor=BOT, request_id=removal.id, data=data)


def _is_latest(c: Connection, request: Request) -> bool:
    """Whether nothing was done to the alias since this request, such as giving it more time."""
    entries = ledger.entries(c)
    own = [one.wish for one in entries if one.request_id == request.id]
    return any(wish is mine for wish in in_force(one.wish for one in entries) for mine in own)
