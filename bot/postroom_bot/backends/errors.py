# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The client core's errors as what an executor may raise: in plain words, and logged in full."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from postroom_bot.backends.plans import taken
from postroom_bot.errors import MAIL_UNAVAILABLE, Rejected, Unavailable
from postroom_client import errors

NOT_LET_IN = "The mail service does not let me in. Ask an administrator."

_log = logging.getLogger(__name__)

#: Only an operator can end these; people have to wait.
_FOR_THE_OPERATOR = (errors.Unauthorized, errors.Forbidden, errors.UntrustedCertificate)
_FINAL = (errors.Rejected, errors.Refused, errors.InvalidInput)


@contextmanager
def in_plain_words(subject: str) -> Iterator[None]:
    """Have errors of the core leave as Rejected or Unavailable.

    The core's own words go to the log, and to operators as the cause: they may name other
    people's mailboxes.

    :param subject: the address or domain that it is about, for the sentence
    """
    try:
        yield
    except errors.PostroomError as error:
        _tell_operator(error)
        raise _for_people(error, subject) from error


def _tell_operator(error: errors.PostroomError) -> None:
    level = logging.ERROR if isinstance(error, _FOR_THE_OPERATOR) else logging.WARNING
    _log.log(level, "The mail service: %s: %s", type(error).__name__, error)


def _for_people(error: errors.PostroomError, subject: str) -> Exception:
    if isinstance(error, errors.AlreadyExists):
        return taken(subject)
    if isinstance(error, errors.NotFound):
        return Rejected("What this is about is no longer there. Check the names and ask again.")
    if isinstance(error, _FINAL):
        return Rejected(
            f"The mail service does not accept this for `{subject}`. Ask an administrator."
        )
    if isinstance(error, (errors.Unauthorized, errors.Forbidden)):
        return Unavailable(NOT_LET_IN, lasting=True)
    return Unavailable(
        MAIL_UNAVAILABLE,
        retry_after=getattr(error, "retry_after", None),
        lasting=isinstance(error, errors.UntrustedCertificate),
    )
