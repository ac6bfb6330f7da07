# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The interface of executors, which make the requested changes.

An executor runs under a lease, at least once for each approved request, and again after a crash. It
must therefore be idempotent: an earlier attempt may already have made part of the change.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple, Protocol

from postroom_bot.domain import Reason, Request

#: The keys of the notes with the addresses that an attempt is about to free, and with `before`.
FREEING = "freeing"
BEFORE = "before"


class ExecutionContext(Protocol):
    """An executor's interface for renewing the request's lease and saving notes."""

    def renew(self) -> None:
        """Renew the lease.

        :raises LeaseLost: if another worker has leased the request; the executor must stop
        """

    def save_notes(self, notes: Mapping[str, Any]) -> None:
        """Replace the saved notes. The next attempt receives the notes as `Request.notes`.

        An executor must save notes before its first change. A postponed request without notes may
        still expire or be cancelled. The notes of the first attempt must contain `before`, because
        a later attempt could not distinguish what the first one has added.

        :param notes: the notes, as JSON data without secrets
        """


class Outcome(NamedTuple):
    """The outcome of a request.

    :param changed: whether this attempt, rather than an earlier one, changed anything
    :param result: the new state, as a Reason to show to the requester
    :param before: where the address delivered before the first attempt: the destinations of a
        forwarder, or the mailbox of an alias. Of an alias, only the request's mailbox counts.
    :param after: where the address delivers now
    :param freed: addresses that this request freed and that no longer deliver anywhere
    """

    changed: bool
    result: Reason
    before: AbstractSet[str]
    after: AbstractSet[str]
    freed: tuple[str, ...] = ()


class Executor(Protocol):
    """An executor for changes to aliases and forwarders. Implementations must be thread-safe."""

    def execute(self, request: Request, context: ExecutionContext) -> Outcome:
        """Make the requested change.

        :raises Rejected: if the change can't be made
        :raises Unavailable: if the change can't be made now
        """
