# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What listeners did not expect: logged, counted, and told in one sentence without internals."""

from __future__ import annotations

import logging
import time
from typing import Any

from slack_bolt import BoltContext, BoltResponse
from slack_bolt.error import BoltUnhandledRequestError

from postroom_bot.errors import SlackRejected, SlackUnavailable
from postroom_bot.ops.metrics import Metrics
from postroom_bot.slack.handlers.replies import BROKEN, add, in_words, said
from postroom_bot.ui import views

#: Bolt looks for an acknowledgement every 10 ms.
_SENT_SECONDS = 0.1

_KINDS = frozenset({"block_actions", "view_submission", "view_closed", "shortcut"})

#: Slack's words for a window that is there already: the same was delivered, or pressed, before.
_CAME_TWICE = frozenset({"exchanged_trigger_id", "hash_conflict"})

log = logging.getLogger(__name__)


class Errors:
    """Bolt's error handler. Threads share it."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics

    def failed(
        self,
        error: Exception,
        body: dict[str, Any],
        context: BoltContext,
        response: BoltResponse | None,
    ) -> BoltResponse | None:
        """Log what happened and tell the person.

        :param response: what Slack would get as it is; None where it has its acknowledgement
        """
        kind = kind_of(body)
        if isinstance(error, BoltUnhandledRequestError):
            log.warning("nothing listens to this %s", kind)
            return BoltResponse(status=200)
        twice = isinstance(error, SlackRejected) and error.code in _CAME_TWICE
        text = "" if twice else self._log(error, kind)
        if response is None:
            # Bolt takes the acknowledgement back when this returns, whether or not it was sent.
            time.sleep(_SENT_SECONDS)
        if twice:
            return response
        if kind == "event":
            return None
        if response is not None and kind == "command":
            return BoltResponse(status=200, body=said(text).text)
        if response is not None and kind == "view_submission":
            answer = {"response_action": "update", "view": views.note("Email", text)}
            return BoltResponse(status=200, body=answer)
        if context.response_url and context.respond is not None:
            add(context.respond, said(text))
        return None if response is None else BoltResponse(status=200)

    def _log(self, error: Exception, kind: str) -> str:
        self._metrics.errors_total.labels("listener").inc()
        if isinstance(error, SlackUnavailable | SlackRejected):
            log.warning("%s: %s", kind, error)
            return in_words(error)
        log.error("%s failed", kind, exc_info=error)
        return BROKEN


def kind_of(body: dict[str, Any]) -> str:
    """Return what Slack sent: ``command``, ``event``, ``view_submission`` ... or ``other``.

    One of few words, though anybody can post anything: it labels a metric.
    """
    if "command" in body:
        return "command"
    kind = body.get("type")
    if kind == "event_callback":
        return "event"
    return str(kind) if kind in _KINDS else "other"
