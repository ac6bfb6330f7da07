# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Limit how many users wait for the mail service, and convert errors into answers for them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from postroom_bot.errors import Rejected, SlackRejected, SlackUnavailable, Unavailable, UserError
from postroom_bot.workflow.dependencies import Dependencies


@contextmanager
def in_turn(deps: Dependencies) -> Iterator[None]:
    """Limit how many users can wait for the mail service at the same time.

    :raises UserError: too many people are waiting
    """
    if not deps.turns.acquire(blocking=False):
        raise UserError("mail.overloaded")
    try:
        yield
    finally:
        deps.turns.release()


@contextmanager
def user_error_if_unavailable() -> Iterator[None]:
    """Convert a service's errors to UserError, omitting their cause, while a person is waiting."""
    try:
        yield
    except Unavailable as error:
        raise UserError(error.reason_without_retry) from None
    except Rejected as rejection:
        raise UserError(rejection.reason) from None
    except (SlackUnavailable, SlackRejected):
        raise UserError("slack.unavailable") from None
