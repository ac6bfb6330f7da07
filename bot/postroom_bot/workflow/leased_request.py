# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A leased request, and the writes that require the lease.

Each new state is written in the same transaction as its audit row. Every write first checks the
state and the lease, and raises LeaseLost if another worker has leased the request. The worker that
lost the lease then stops processing the request.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from postroom_bot.backends.executor import FREEING
from postroom_bot.domain import Request, State, Vote, VoteState
from postroom_bot.errors import LeaseLost, SlackRejected
from postroom_bot.store import audit, requests, sent_notifications, tombstones, votes
from postroom_bot.workflow.dependencies import Dependencies
from postroom_common.database import Connection

Write = Callable[[Connection], object]

#: A lease is renewed after this fraction of its time at the earliest.
_RENEWALS = 100

_log = logging.getLogger(__name__)


class LeasedRequest:
    """A request that one thread has leased. Executors use it as their ExecutionContext."""

    def __init__(self, deps: Dependencies, request: Request) -> None:
        self.deps = deps
        self.request = request
        self._renewed_at = self.now
        self._votes: list[Vote] | None = None
        self._sent: frozenset[str] | None = None

    @property
    def now(self) -> datetime:
        """The current time."""
        return self.deps.clock()

    def votes(self) -> list[Vote]:
        """Return the votes on the request in the order in which they were cast.

        They are read again only after `set_vote`. A vote that is cast meanwhile makes the request
        due again.
        """
        if self._votes is None:
            self._votes = self.deps.database.read(lambda c: votes.on_request(c, self.request.id))
        return self._votes

    def approvals(self) -> list[Vote]:
        """Return the counted approvals."""
        return [one for one in self.votes() if one.state is VoteState.COUNTED and one.approves]

    def set_vote(self, c: Connection, vote: Vote, state: VoteState, **fields: Any) -> None:
        """Change the state of a vote within a transaction, as `votes.set_state` does."""
        votes.set_state(c, vote, state, **fields)
        self._votes = None

    def sent_notifications(self) -> frozenset[str]:
        """Return the kinds of notifications that were sent about the request."""
        if self._sent is None:
            request_id = self.request.id
            self._sent = self.deps.database.read(
                lambda c: sent_notifications.kinds_of(c, request_id)
            )
        return self._sent

    def record_notification(self, kind: str) -> None:
        """Record that a notification was sent. This is a fact, whether the lease is lost or not."""
        at, request_id = self.now, self.request.id
        self.deps.database.write(lambda c: sent_notifications.record(c, request_id, kind, at=at))
        self._sent = self.sent_notifications() | {kind}

    def renew(self) -> None:
        """Renew the lease, unless it has just been renewed.

        :raises LeaseLost: if the lease was lost
        """
        now = self.now
        if now < self._renewed_at + self.deps.lease / _RENEWALS:
            return
        until = now + self.deps.lease
        if not self.deps.database.write(lambda c: requests.renew(c, self.request, until=until)):
            raise LeaseLost(self.request.id)
        self._renewed_at = now

    def update(
        self,
        also_write: Write | None = None,
        also_audit: Sequence[audit.Entry] = (),
        **changes: Any,
    ) -> None:
        """Write fields other than the state.

        `also_write` runs, and `also_audit` is written, in the same transaction.
        """

        def work(c: Connection) -> Request:
            changed = requests.save(c, self.request, **changes)
            if also_write is not None:
                also_write(c)
            self._audit(c, also_audit)
            return changed

        self.request = self.deps.database.write(work)

    def transition(
        self,
        to: State,
        *,
        actor: str = audit.BOT,
        data: Mapping[str, Any] | None = None,
        also_write: Write | None = None,
        also_audit: Sequence[audit.Entry] = (),
        **changes: Any,
    ) -> None:
        """Change the state and other fields, and write the audit row, in one transaction.

        :param data: data for the audit, in addition to the result
        :param also_audit: what to write to the audit before
        """

        def work(c: Connection) -> Request:
            moved = requests.transition(c, self.request, to, at=self.now, **changes)
            if also_write is not None:
                also_write(c)
            # Write to the audit last, because from then on, its other writers must wait.
            result = {"result": moved.result.as_dict()} if moved.result else {}
            reached = audit.Entry(f"request.{to}", actor, {**result, **(data or {})})
            self._audit(c, [*also_audit, reached])
            return moved

        self.request = self.deps.database.write(work)
        self.deps.metrics.requests_total.labels(self.request.change.action, to).inc()

    def _audit(self, c: Connection, entries: Sequence[audit.Entry]) -> None:
        if entries:
            audit.append_all(c, entries, at=self.now, request_id=self.request.id)

    def lock(self) -> bool:
        """Lock the mailbox or forwarder, and renew the lease. Return whether it could be locked.

        :raises LeaseLost: if the lease was lost
        """
        until = self.now + self.deps.lease
        locked = self.deps.database.write(lambda c: requests.lock(c, self.request, until=until))
        self.request = locked or self.request
        return locked is not None

    def save_notes(self, notes: Mapping[str, Any]) -> None:
        """Replace the executor's notes, and reserve the addresses that it is about to free.

        If the addresses were reserved only after the execution, another request could take them
        first.
        """
        freeing = notes.get(FREEING, ())
        self.update(also_write=lambda c: self.add_tombstones(c, freeing), notes=dict(notes))

    def add_tombstones(self, c: Connection, addresses: Iterable[str]) -> None:
        """Reserve addresses for the request's mailbox or forwarder."""
        at = self.now
        until = at + self.deps.policy().requests.tombstone
        for address in addresses:
            tombstones.add(c, address, self.request.lock_name, at=at, until=until)

    def report_rejected(self, where: str, rejection: SlackRejected, remedy: str = "") -> None:
        """Log and count a call that Slack rejected.

        :param remedy: a sentence with the remedy for the operator
        """
        self.deps.metrics.errors_total.labels(where).inc()
        text = f"Slack rejected a call ({where}): {rejection.code}. {remedy}".rstrip()
        _log.error("%s: %s", self.request.id, text)

    def release(self, due_at: datetime | None) -> None:
        """Release the lease, if it is still held."""
        self.deps.database.write(lambda c: requests.release(c, self.request, due_at=due_at))


def lease_request(deps: Dependencies, request_id: str | None = None) -> LeasedRequest | None:
    """Lease the most overdue request, or the request with the given id.

    :returns: None if no such request can be leased
    """
    holder = new_lease_holder(deps)
    request = deps.database.write(
        lambda c: requests.lease_next(
            c, holder=holder, now=deps.clock(), lease=deps.lease, only=request_id
        )
    )
    return LeasedRequest(deps, request) if request else None


def new_lease_holder(deps: Dependencies) -> str:
    """Return a unique name for a lease holder, because threads must not share leases or locks."""
    return f"{deps.process_name}/{secrets.token_hex(6)}"
