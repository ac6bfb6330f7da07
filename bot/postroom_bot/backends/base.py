# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The interface of executors, and the translation of the client core's errors.

An executor is called within a lease, at least once for each approved request and again after a
crash. Executors are therefore idempotent: an earlier attempt may have made any part of the change.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple, Protocol

from postroom_bot.domain import Change, Reason, Request
from postroom_bot.errors import Rejected, Unavailable
from postroom_client import errors

_log = logging.getLogger(__name__)


class ExecutionContext(Protocol):
    """Renews the request's lease while an executor runs, and saves its notes."""

    def renew(self) -> None:
        """Renew the lease.

        :raises LeaseLost: another worker has the request; the executor stops
        """

    def note(self, progress: Mapping[str, Any]) -> None:
        """Save notes in place of the earlier ones; the next attempt finds them in the request.

        An executor saves notes before its first change: a postponed request without notes may
        still expire or be cancelled.

        :param progress: plain data, no secrets
        """


class Done(NamedTuple):
    """The outcome of a request.

    :param changed: whether this attempt changed anything; after a crash there may be nothing left
    :param result: the new state, for the requester
    :param ledger: the ledger's entry: the change with its mailbox; for a forwarder that exists, a
        FORWARD_ADD with all of its destinations, otherwise a FORWARD_REMOVE with none
    :param freed: addresses that this request freed and that no longer deliver anywhere
    """

    changed: bool
    result: Reason
    ledger: Change
    freed: tuple[str, ...] = ()


class Executor(Protocol):
    """Executes changes of aliases and forwarders. Threads share it."""

    def execute(self, request: Request, context: ExecutionContext) -> Done:
        """Make the requested change.

        :raises Rejected: the change can't be made
        :raises Unavailable: the change can't be made now
        """


@contextmanager
def translated(subject: str) -> Iterator[None]:
    """Log the client core's errors in full, and raise Rejected or Unavailable.

    The core's own messages may name other people's mailboxes: only the log has them.

    :param subject: the address or domain that the call is about
    """
    try:
        yield
    except errors.PostroomError as error:
        denied = isinstance(error, (errors.Unauthorized, errors.Forbidden))
        untrusted = isinstance(error, errors.UntrustedCertificate)
        # Only an operator can resolve these.
        level = logging.ERROR if denied or untrusted else logging.WARNING
        _log.log(level, "The mail service: %s: %s", type(error).__name__, error)
        if isinstance(error, errors.AlreadyExists):
            raise Rejected("address.taken", address=subject) from error
        if isinstance(error, errors.NotFound):
            raise Rejected("mail.not_found") from error
        if isinstance(error, (errors.Rejected, errors.Refused, errors.InvalidInput)):
            raise Rejected("mail.rejected", subject=subject) from error
        if denied:
            raise Unavailable("mail.unauthorized", lasting=True) from error
        retry_after = getattr(error, "retry_after", None)
        raise Unavailable(retry_after=retry_after, lasting=untrusted) from error
