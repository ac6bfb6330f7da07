# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The Bolt app with all its handlers, and the handler for their unexpected errors."""

from __future__ import annotations

import logging
import re
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from http import HTTPStatus
from typing import Any

from slack_bolt import App, BoltContext, BoltRequest, BoltResponse
from slack_bolt.error import BoltError, BoltUnhandledRequestError

from postroom_bot.backends.slack_api import UNREACHABLE
from postroom_bot.config import Settings
from postroom_bot.domain import Reason
from postroom_bot.errors import SlackRejected, SlackUnavailable, StartError
from postroom_bot.ops.metrics import Metrics
from postroom_bot.slack import handlers
from postroom_bot.slack.payloads import reply
from postroom_bot.ui.reason_texts import reason_text
from postroom_bot.ui.views import text_modal
from postroom_bot.workflow.dependencies import Dependencies

INTERNAL_ERROR = "Something went wrong, and I have logged it. Try again in a minute."
#: Longer than the 10 ms between Bolt's checks for an acknowledgement.
_ACK_SECONDS = 0.1
_KINDS = frozenset({"block_actions", "view_submission", "view_closed", "shortcut"})
#: Slack's error codes for a modal that a repeated delivery or press has already opened or updated.
_REPEATED = frozenset({"exchanged_trigger_id", "hash_conflict"})

log = logging.getLogger(__name__)


class TimedApp(App):
    """A Bolt app that measures the time until each acknowledgement."""

    def __init__(self, metrics: Metrics, **options: Any) -> None:
        super().__init__(**options)
        self._metrics = metrics

    def dispatch(self, req: BoltRequest) -> BoltResponse:
        """Handle a request from Slack."""
        begin = time.monotonic()
        stamps = req.headers.get("x-slack-request-timestamp", [])
        try:
            # Bolt raises an exception if the timestamp is not a number.
            is_number = all(re.fullmatch("[0-9]{1,12}", stamp) for stamp in stamps)
            response = super().dispatch(req) if is_number else BoltResponse(status=401, body="")
        finally:
            took = time.monotonic() - begin
            self._metrics.acks_seconds.labels(kind_of(req.body)).observe(took)
        if response.status == HTTPStatus.UNAUTHORIZED:
            # The sender is unknown, so there is nothing to audit.
            self._metrics.errors_total.labels("signature").inc()
            log.warning("rejected a request without a valid signature from the last five minutes")
        return response


def create_app(settings: Settings, deps: Dependencies, thread_pool: ThreadPoolExecutor) -> App:
    """Return the app with all its handlers, which run in the thread pool."""
    metrics, secret = deps.metrics, settings.slack_signing_secret
    try:
        app = TimedApp(
            metrics,
            name="slack_bolt.postroom",
            client=deps.slack_api.client,
            signing_secret=secret.get_secret_value() if secret else "",
            listener_executor=thread_pool,
            raise_error_for_unhandled_request=True,
        )
    except (BoltError, OSError):
        raise StartError(UNREACHABLE % settings.slack_api_url) from None
    handlers.register(app, deps, settings.mail_host)
    app.error(partial(answer_error, metrics))
    return app


def answer_error(
    metrics: Metrics,
    error: Exception,
    body: dict[str, Any],
    context: BoltContext,
    response: BoltResponse | None,
) -> BoltResponse | None:
    """Log and count an unexpected error in a handler, and reply to the person without details.

    :param response: the response that Slack would get; None if the request was acknowledged
    """
    kind = kind_of(body)
    if isinstance(error, BoltUnhandledRequestError):
        log.warning("no handler for this %s", kind)
        return BoltResponse(status=200)
    if response is None:
        # When this function returns, Bolt discards an acknowledgement that it has not sent yet.
        time.sleep(_ACK_SECONDS)
    if isinstance(error, SlackRejected) and error.code in _REPEATED:
        return response
    metrics.errors_total.labels("listener").inc()
    if isinstance(error, SlackUnavailable | SlackRejected):
        log.warning("%s: %s", kind, error)
        text = reason_text(Reason("slack.unavailable"))
    else:
        log.error("%s failed", kind, exc_info=error)
        text = INTERNAL_ERROR
    if kind == "event":
        return None
    if response is not None and kind == "command":
        return BoltResponse(status=200, body=text)
    if response is not None and kind == "view_submission":
        return BoltResponse(
            status=200, body={"response_action": "update", "view": text_modal(text)}
        )
    if context.response_url and context.respond is not None:
        reply(context.respond, text)
    return None if response is None else BoltResponse(status=200)


def kind_of(body: dict[str, Any]) -> str:
    """Return the kind of a payload, such as ``command``, ``event`` or ``other``.

    There are only a few kinds, because they are used as a metric label.
    """
    if "command" in body:
        return "command"
    kind = body.get("type")
    if kind == "event_callback":
        return "event"
    return str(kind) if kind in _KINDS else "other"
