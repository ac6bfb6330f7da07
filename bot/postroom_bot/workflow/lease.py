# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A request in one worker's hands: its lease, its mailbox's lock, and how it is written to.

A state and the audit row that tells of it are written in one transaction. Every write compares the
state and the lease first; Lost then says that the request is somebody else's, and is let pass up to
the worker, who leaves it alone.
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

#: The actor of what the bot does by itself.
BOT = "bot"

Also = Callable[[Connection], object]


class LeasedRequest:
    """One request and its lease, in one thread.

    :param request: as it is now, after what was written last
    """

    def __init__(self, deps: Dependencies, request: Request, owner: str) -> None:
        self.deps = deps
        self.request = request
        self._owner = owner
        self._locked: str | None = None

    @property
    def now(self) -> datetime:
        """The time."""
        return self.deps.clock()

    def renew(self) -> None:
        """Hold the lease, and the mailbox's lock, for their whole time once more.

        :raises LeaseLost: somebody else has the request
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

        :param also: what else belongs into the transaction
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
        """Go on to another state, with its audit row, in one transaction.

        Out of EXECUTING, the mailbox's lock is freed with it.

        :param data: for the audit, beside the result
        :param also: what else belongs into the transaction
        :param changes: of other fields
        """
        self.request = self.deps.database.write(
            lambda c: self._transition(c, to, actor, data or {}, also, changes)
        )
        self._locked = self._locked if to is State.EXECUTING else None
        self.deps.metrics.requests_total.labels(self.request.change.action, to).inc()

    def lock(self, mailbox: str) -> bool:
        """Lock a mailbox if it is free; renewed with the lease, freed when the work is over."""
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
        """Give the lock and the lease back, as far as they are still held."""

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
        # Last, for whoever else writes to the audit waits from here on.
        result = {"result": moved.result} if moved.result else {}
        self.audit(c, f"request.{to}", actor, {**result, **data})
        return moved


def claim(deps: Dependencies, only: str | None = None) -> LeasedRequest | None:
    """Take a lease on the most overdue request, or on one of this id, if there is one to be had."""
    owner = new_owner(deps)
    request = deps.database.write(
        lambda c: requests.claim(c, owner=owner, now=deps.clock(), lease=deps.lease, only=only)
    )
    return LeasedRequest(deps, request, owner) if request else None


def new_owner(deps: Dependencies) -> str:
    """Return a name for one lease; two threads of a process never share a lease or a lock."""
    return f"{deps.owner}/{secrets.token_hex(6)}"
