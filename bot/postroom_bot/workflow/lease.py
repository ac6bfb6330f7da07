# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A leased request: its lease, its mailbox's lock, and its writes.

A state and its audit row are written in one transaction. Every write compares the state and the
lease first and raises LeaseLost if another worker has the request; the worker then leaves it alone.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from postroom_bot.domain import Request, State
from postroom_bot.errors import LeaseLost
from postroom_bot.store import audit, locks, requests
from postroom_bot.workflow.dependencies import Dependencies
from postroom_common.database import Connection

#: The actor of automatic events in the audit.
BOT = "bot"

Also = Callable[[Connection], object]


class LeasedRequest:
    """One request and its lease, in one thread.

    :param request: its current state
    """

    def __init__(self, deps: Dependencies, request: Request, owner: str) -> None:
        self.deps = deps
        self.request = request
        self._owner = owner
        self._locked: str | None = None

    @property
    def now(self) -> datetime:
        """The current time."""
        return self.deps.clock()

    def renew(self) -> None:
        """Renew the lease and the mailbox's lock.

        :raises LeaseLost: another worker has the request
        """
        until = self.now + self.deps.lease

        def work(c: Connection) -> bool:
            locked = self._locked
            return requests.renew(c, self.request, owner=self._owner, until=until) and (
                locked is None or locks.renew(c, locked, owner=self._owner, until=until)
            )

        if not self.deps.database.write(work):
            raise LeaseLost(self.request.id)

    def update(self, also: Also | None = None, **changes: Any) -> None:
        """Write fields other than the state.

        :param also: runs in the same transaction
        """

        def work(c: Connection) -> Request:
            changed = requests.save(c, self.request, **changes)
            if also is not None:
                also(c)
            return changed

        self.request = self.deps.database.write(work)

    def transition(
        self,
        to: State,
        *,
        actor: str = BOT,
        data: Mapping[str, Any] | None = None,
        also: Also | None = None,
        **changes: Any,
    ) -> None:
        """Move to another state and write the audit row, in one transaction.

        Any state but EXECUTING frees the mailbox's lock.

        :param data: for the audit, beside the result
        :param also: runs in the same transaction
        :param changes: of other fields
        """
        self.request = self.deps.database.write(
            lambda c: self._transition(c, to, actor, data or {}, also, changes)
        )
        self._locked = self._locked if to is State.EXECUTING else None
        self.deps.metrics.requests_total.labels(self.request.change.action, to).inc()

    def lock(self, mailbox: str) -> bool:
        """Lock a mailbox if it is free, until `transition` or `release` frees it."""
        now = self.now
        until = now + self.deps.lease
        taken = self.deps.database.write(
            lambda c: locks.take(c, mailbox, owner=self._owner, now=now, until=until)
        )
        self._locked = mailbox if taken else None
        return taken

    def audit(self, c: Connection, event: str, actor: str, data: Mapping[str, Any]) -> None:
        """Write an audit row about the request within a transaction."""
        audit.append(c, event, at=self.now, actor=actor, request_id=self.request.id, data=data)

    def release(self, due_at: datetime | None) -> None:
        """Release the lock and the lease, if they are still held."""

        def work(c: Connection) -> None:
            self._unlock(c)
            requests.release(c, self.request, due_at=due_at)

        self.deps.database.write(work)
        self._locked = None

    def _unlock(self, c: Connection) -> None:
        if self._locked is not None:
            locks.free(c, self._locked, owner=self._owner)

    def _transition(
        self,
        c: Connection,
        to: State,
        actor: str,
        data: Mapping[str, Any],
        also: Also | None,
        changes: Mapping[str, Any],
    ) -> Request:
        moved = requests.transition(c, self.request, to, at=self.now, **changes)
        if to is not State.EXECUTING:
            self._unlock(c)
        if also is not None:
            also(c)
        # Last: other writers of the audit wait from here on.
        result = {"result": moved.result.as_dict()} if moved.result else {}
        self.audit(c, f"request.{to}", actor, {**result, **data})
        return moved


def claim(deps: Dependencies, only: str | None = None) -> LeasedRequest | None:
    """Lease the most overdue request, or the one with this id, if it is free."""
    owner = new_owner(deps)
    request = deps.database.write(
        lambda c: requests.claim(c, owner=owner, now=deps.clock(), lease=deps.lease, only=only)
    )
    return LeasedRequest(deps, request, owner) if request else None


def new_owner(deps: Dependencies) -> str:
    """Return a unique owner for one lease: threads of a process never share a lease or a lock."""
    return f"{deps.owner}/{secrets.token_hex(6)}"
