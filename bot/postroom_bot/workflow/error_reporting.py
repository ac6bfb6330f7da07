# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Log and count errors."""

from __future__ import annotations

import logging
import sys

from postroom_bot.domain import Request
from postroom_bot.errors import SlackRejected
from postroom_bot.workflow.dependencies import Dependencies
from postroom_common.database import DatabaseError

_log = logging.getLogger(__name__)


def refused_by_slack(
    deps: Dependencies, where: str, request: Request, refusal: SlackRejected, remedy: str = ""
) -> None:
    """Report that Slack rejected a message, which is not sent again.

    :param where: which message, such as ``card``
    :param remedy: for the operator
    """
    deps.metrics.errors_total.labels(where).inc()
    hint = f" {remedy}" if remedy else ""
    _log.error("%s: Slack rejected the message (%s): %s.%s", request.id, where, refusal.code, hint)


def broken(deps: Dependencies, where: str, request: Request) -> None:
    """Report the bug that is being handled."""
    deps.metrics.errors_total.labels(where).inc()
    _log.exception("%s: unexpected error; the bot will retry", request.id)


def out_of_order(deps: Dependencies) -> None:
    """Report the error that is being handled, which does not belong to one request."""
    deps.metrics.errors_total.labels("worker").inc()
    error = sys.exception()
    if isinstance(error, DatabaseError):
        _log.error("%s; the bot will retry", error)
    else:
        _log.exception("unexpected error; the bot will retry")
