# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What an executor is, what it is given and how it may end.

An executor is called inside of a lease, at least once for each approved request and again after a
crash. So each makes the tenant what the request says, whatever an earlier try has done already.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

from postroom_bot.model import Request, Wish

#: What people hear where nothing better can be said.
NO_ANSWER = "The mail service does not answer properly right now."


class Keeper(Protocol):
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
    stands: Wish
    freed: tuple[str, ...] = ()


class WontDo(Exception):
    """It can't be done as things are, and trying again is no use.

    Its text is a sentence for the requester, which tells nothing of other people's mailboxes.
    """


class TryLater(Exception):
    """It could not be done now; what was done of it, if anything, is no obstacle to a next try.

    Its text is a sentence for people. It does not say who tries again: whoever tells it knows.

    :param retry_after: seconds that the other side asked to wait, where it did
    :param lasting: whether it takes an administrator to end it
    """

    def __init__(
        self,
        sentence: str = NO_ANSWER,
        *,
        retry_after: float | None = None,
        lasting: bool = False,
    ) -> None:
        super().__init__(sentence)
        self.retry_after = retry_after
        self.lasting = lasting


class Executor(Protocol):
    """Carries out aliases and forwarders. Threads share it."""

    def carry_out(self, request: Request, keeper: Keeper) -> Done:
        """Make the tenant what the request says.

        :raises WontDo: it can't be done
        :raises TryLater: it could not be done now
        """
