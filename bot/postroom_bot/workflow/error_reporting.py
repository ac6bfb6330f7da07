# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What should not have happened: logged and counted in one place."""

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
    """Tell the operator that Slack did not take a message, and that it is not sent again.

    :param where: which message, such as ``card``
    :param remedy: what can be done about it, a sentence
    """
    deps.metrics.errors_total.labels(where).inc()
    told = f" {remedy}" if remedy else ""
    _log.error("%s: Slack refused the message (%s): %s.%s", request.id, where, refusal.code, told)


def broken(deps: Dependencies, where: str, request: Request) -> None:
    """Tell the operator of an error of the bot's own, which is being handled."""
    deps.metrics.errors_total.labels(where).inc()
    _log.exception("%s: something is wrong in the bot; I will try again", request.id)


def out_of_order(deps: Dependencies) -> None:
    """Tell the operator of an error, being handled, that is no single request's."""
    deps.metrics.errors_total.labels("worker").inc()
    error = sys.exception()
    if isinstance(error, DatabaseError):
        _log.error("%s; I will try again", error)
    else:
        _log.exception("something is wrong in the bot; I will try again")
