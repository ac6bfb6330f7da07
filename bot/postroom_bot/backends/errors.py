# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Translate the client core's errors into Rejected and Unavailable, and log them in full."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from postroom_bot.errors import Rejected, Unavailable
from postroom_client import errors

_log = logging.getLogger(__name__)

#: Only an operator can resolve these.
_FOR_THE_OPERATOR = (errors.Unauthorized, errors.Forbidden, errors.UntrustedCertificate)
_FINAL = (errors.Rejected, errors.Refused, errors.InvalidInput)


@contextmanager
def translated(subject: str) -> Iterator[None]:
    """Translate the core's errors.

    The core's own messages may name other people's mailboxes: only the log has them.

    :param subject: the address or domain that the call is about
    """
    try:
        yield
    except errors.PostroomError as error:
        level = logging.ERROR if isinstance(error, _FOR_THE_OPERATOR) else logging.WARNING
        _log.log(level, "The mail service: %s: %s", type(error).__name__, error)
        raise _translation(error, subject) from error


def _translation(error: errors.PostroomError, subject: str) -> Rejected | Unavailable:
    if isinstance(error, errors.AlreadyExists):
        return Rejected("address.taken", address=subject)
    if isinstance(error, errors.NotFound):
        return Rejected("mail.not_found")
    if isinstance(error, _FINAL):
        return Rejected("mail.rejected", subject=subject)
    if isinstance(error, (errors.Unauthorized, errors.Forbidden)):
        return Unavailable("mail.unauthorized", lasting=True)
    return Unavailable(
        retry_after=getattr(error, "retry_after", None),
        lasting=isinstance(error, errors.UntrustedCertificate),
    )
