# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A leased request, with the lock of its mailbox and the writes under its lease.

A state and its audit row are written in one transaction. Every write checks the state and the
lease first and raises LeaseLost if another worker has the request. The worker then ignores it.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any

from postroom_bot.backends.mail import FREEING
from postroom_bot.domain import Request, State, Vote
from postroom_bot.errors import LeaseLost, SlackRejected
from postroom_bot.store import audit, mailboxes, requests, votes
from postroom_bot.workflow.dependencies import Dependencies
from postroom_common.database import Connection

#: The actor of automatic events in the audit.
BOT = "bot"

Also = Callable[[Connection], object]

_log = logging.getLogger(__name__)


class LeasedRequest:
    """A request and its lease, used by one thread. It is also the ExecutionContext of executors.

    :param request: the leased request
    """

    def __init__(self, deps: Dependencies, request: Request) -> None:
        self.deps = deps
        self.request = request
        self._owner = request.lease_owner or ""
        self._locked: str | None = None

    @property
    def now(self) -> datetime:
        """The current time."""
        return self.deps.clock()

    @property
    def mailbox(self) -> str:
        """The name to lock: the mailbox, including all its addresses, or the forwarder."""
        return self.request.change.mailbox or self.request.change.target

    def votes(self) -> list[Vote]:
        """Return the votes on the request in the order in which they were cast."""
        return self.deps.database.read(lambda c: votes.of(c, self.request.id))

    def renew(self) -> None:
        """Renew the lease and the mailbox's lock.

        :raises LeaseLost: another worker has the request
        """
        until, locked, owner = self.now + self.deps.lease, self._locked, self._owner

        def work(c: Connection) -> bool:
            return requests.renew(c, self.request, until=until) and (
                locked is None or mailboxes.renew_lock(c, locked, owner=owner, until=until)
            )

        if not self.deps.database.write(work):
            raise LeaseLost(self.request.id)

    def update(self, also: Also | None = None, **changes: Any) -> None:
        """Write fields other than the state.

        :param also: a function to run in the same transaction
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
        """Change the state and write the audit row, in one transaction.

        Any state but EXECUTING releases the mailbox's lock.

        :param data: data for the audit, in addition to the result
        :param also: a function to run in the same transaction
        :param changes: the new values of other fields
        """

        def work(c: Connection) -> Request:
            moved = requests.transition(c, self.request, to, at=self.now, **changes)
            if to is not State.EXECUTING and self._locked is not None:
                mailboxes.unlock(c, self._locked, owner=self._owner)
            if also is not None:
                also(c)
            # Last, because other writers of the audit must wait from here on.
            result = {"result": moved.result.as_dict()} if moved.result else {}
            self.audit(c, f"request.{to}", actor, {**result, **(data or {})})
            return moved

        self.request = self.deps.database.write(work)
        self._locked = self._locked if to is State.EXECUTING else None
        self.deps.metrics.requests_total.labels(self.request.change.action, to).inc()

    def audit(self, c: Connection, event: str, actor: str, data: Mapping[str, Any]) -> None:
        """Write an audit row about the request within a transaction."""
        audit.append(c, event, at=self.now, actor=actor, request_id=self.request.id, data=data)

    def lock(self) -> bool:
        """Lock the mailbox until `transition` or `release`. Return False if it is not free."""
        now, mailbox, owner = self.now, self.mailbox, self._owner
        until = now + self.deps.lease
        taken = self.deps.database.write(
            lambda c: mailboxes.lock(c, mailbox, owner=owner, now=now, until=until)
        )
        self._locked = mailbox if taken else None
        return taken

    def note(self, progress: Mapping[str, Any]) -> None:
        """Replace the executor's notes, and reserve the addresses that it is about to free.

        If they were reserved after the execution, another request could take them in between.
        """
        freeing = progress.get(FREEING, ())
        self.update(also=lambda c: self.reserve(c, freeing), progress=dict(progress))

    def reserve(self, c: Connection, addresses: Iterable[str]) -> None:
        """Reserve addresses for the request's mailbox or, if it has none, for its forwarder."""
        at = self.now
        until = at + self.deps.policy().requests.tombstone
        for address in addresses:
            mailboxes.reserve(c, address, self.mailbox, at=at, until=until)

    def report_rejected(self, where: str, refusal: SlackRejected, remedy: str = "") -> None:
        """Log and count a message that Slack rejected. It is not sent again.

        :param where: the kind of message, such as ``card``
        :param remedy: a sentence with the remedy for the operator
        """
        self.deps.metrics.errors_total.labels(where).inc()
        text = f"Slack rejected the message ({where}): {refusal.code}. {remedy}".rstrip()
        _log.error("%s: %s", self.request.id, text)

    def release(self, due_at: datetime | None) -> None:
        """Release the lock and the lease, if they are still held."""

        def work(c: Connection) -> None:
            if self._locked is not None:
                mailboxes.unlock(c, self._locked, owner=self._owner)
            requests.release(c, self.request, due_at=due_at)

        self.deps.database.write(work)
        self._locked = None


def claim(deps: Dependencies, only: str | None = None) -> LeasedRequest | None:
    """Lease the most overdue request, or the one with this id. Return None if it is not free."""
    owner = new_owner(deps)
    request = deps.database.write(
        lambda c: requests.claim(c, owner=owner, now=deps.clock(), lease=deps.lease, only=only)
    )
    return LeasedRequest(deps, request) if request else None


def new_owner(deps: Dependencies) -> str:
    """Return a unique lease owner, because threads of a process must not share leases or locks."""
    return f"{deps.owner}/{secrets.token_hex(6)}"
