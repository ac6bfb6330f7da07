# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Unexpected errors of handlers: logged, counted, and answered without internals."""

from __future__ import annotations

import logging
import time
from typing import Any

from slack_bolt import App, BoltContext, BoltResponse
from slack_bolt.error import BoltUnhandledRequestError

from postroom_bot.errors import SlackRejected, SlackUnavailable
from postroom_bot.ops.metrics import Metrics
from postroom_bot.slack.handlers.services import plain_message, reason_of, reply_below
from postroom_bot.ui import messages, views

INTERNAL_ERROR = "Something went wrong, and I have logged it. Try again in a minute."

#: Bolt checks every 10 ms whether a handler has acknowledged.
_ACK_SECONDS = 0.1

_KINDS = frozenset({"block_actions", "view_submission", "view_closed", "shortcut"})

#: Slack's codes for a modal that exists already, because of a repeated delivery or press.
_REPEATED = frozenset({"exchanged_trigger_id", "hash_conflict"})

log = logging.getLogger(__name__)


def register(app: App, metrics: Metrics) -> None:
    """Register the handler of errors."""

    @app.error
    def failed(
        error: Exception,
        body: dict[str, Any],
        context: BoltContext,
        response: BoltResponse | None,
    ) -> BoltResponse | None:
        return answer_error(metrics, error, body, context, response)


def answer_error(
    metrics: Metrics,
    error: Exception,
    body: dict[str, Any],
    context: BoltContext,
    response: BoltResponse | None,
) -> BoltResponse | None:
    """Log an error, and answer the person.

    :param response: what Slack would get; None if it has its acknowledgement already
    """
    kind = kind_of(body)
    if isinstance(error, BoltUnhandledRequestError):
        log.warning("no handler for this %s", kind)
        return BoltResponse(status=200)
    is_repeated = isinstance(error, SlackRejected) and error.code in _REPEATED
    text = "" if is_repeated else _log(error, kind, metrics)
    if response is None:
        # Bolt discards the acknowledgement when this returns, even if it has not been sent.
        time.sleep(_ACK_SECONDS)
    if is_repeated:
        return response
    if kind == "event":
        return None
    if response is not None and kind == "command":
        return BoltResponse(status=200, body=plain_message(text).text)
    if response is not None and kind == "view_submission":
        answer = {"response_action": "update", "view": views.note(views.TITLE, text)}
        return BoltResponse(status=200, body=answer)
    if context.response_url and context.respond is not None:
        reply_below(context.respond, plain_message(text))
    return None if response is None else BoltResponse(status=200)


def _log(error: Exception, kind: str, metrics: Metrics) -> str:
    metrics.errors_total.labels("listener").inc()
    if isinstance(error, SlackUnavailable | SlackRejected):
        log.warning("%s: %s", kind, error)
        return messages.plain(reason_of(error))
    log.error("%s failed", kind, exc_info=error)
    return INTERNAL_ERROR


def kind_of(body: dict[str, Any]) -> str:
    """Return what Slack sent: ``command``, ``event``, ``view_submission`` ... or ``other``.

    The result labels a metric, so it has only a few values.
    """
    if "command" in body:
        return "command"
    kind = body.get("type")
    if kind == "event_callback":
        return "event"
    return str(kind) if kind in _KINDS else "other"
