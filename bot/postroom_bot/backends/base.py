# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What an executor is, what it is given and how it may end.

An executor is called inside of a lease, at least once for each approved request and again after a
crash. So each makes the tenant what the request says, whatever an earlier try has done already.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

from postroom_bot.domain import Change, Request


class ExecutionContext(Protocol):
    """Holds the request's lease while an executor works, and keeps its notes."""

    def renew(self) -> None:
        """Hold the lease for its whole time once more.

        :raises Exception: somebody else has the request now; the executor lets it pass and stops
        """

    def note(self, progress: Mapping[str, Any]) -> None:
        """Save notes in place of the earlier ones; the next try finds them in the request.

        Something has to be noted before anything is changed: without notes, a request that was
        put off may still expire or be cancelled.

        :param progress: plain data, no secrets
        """


class Done(NamedTuple):
    """How a request was carried out.

    :param changed: whether this try changed anything; one after a crash may find all done
    :param sentence: what is so now, for the requester
    :param freed: addresses that this request freed and that deliver nowhere now
    :param stands: what the ledger is to hold: the wish with its mailbox; for a forwarder that is
        there, a FORWARD_ADD with all of its destinations; else a FORWARD_REMOVE with none
    """

    changed: bool
    sentence: str
    stands: Change
    freed: tuple[str, ...] = ()


class Executor(Protocol):
    """Carries out aliases and forwarders. Threads share it."""

    def execute(self, request: Request, context: ExecutionContext) -> Done:
        """Make the tenant what the request says.

        :raises Rejected: it can't be done
        :raises Unavailable: it could not be done now
        """
