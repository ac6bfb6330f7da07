# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The interface of executors, and the translation of the client core's errors.

An executor runs within a lease, at least once for each approved request and again after a crash.
It must therefore be idempotent: an earlier attempt may have made any part of the change.
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

        :raises LeaseLost: another worker has the request, so the executor must stop
        """

    def note(self, progress: Mapping[str, Any]) -> None:
        """Replace the saved notes. The next attempt gets them as `Request.progress`.

        An executor must save notes before its first change, because a postponed request without
        notes may still expire or be cancelled.

        :param progress: the notes, as JSON data without secrets
        """


class Done(NamedTuple):
    """The outcome of a request.

    :param changed: whether this attempt changed anything; an earlier attempt may have done it all
    :param result: the new state, as a reason for the requester
    :param ledger: the change for the ledger, with its mailbox; for a forwarder that exists, a
        FORWARD_ADD with all its destinations; for a removed one, a FORWARD_REMOVE without any
    :param freed: addresses that this request freed and that no longer deliver anywhere
    """

    changed: bool
    result: Reason
    ledger: Change
    freed: tuple[str, ...] = ()


class Executor(Protocol):
    """Executes changes of aliases and forwarders. Must be thread-safe."""

    def execute(self, request: Request, context: ExecutionContext) -> Done:
        """Make the requested change.

        :raises Rejected: the change can't be made
        :raises Unavailable: the change can't be made now
        """


@contextmanager
def translated(subject: str) -> Iterator[None]:
    """Log the client core's errors, and raise Rejected or Unavailable instead.

    The core's messages may name other people's mailboxes, so only the log contains them.

    :param subject: the address or domain that the call concerns
    """
    try:
        yield
    except errors.PostroomError as error:
        denied = isinstance(error, (errors.Unauthorized, errors.Forbidden))
        untrusted = isinstance(error, errors.UntrustedCertificate)
        # Only an operator can fix these problems.
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
