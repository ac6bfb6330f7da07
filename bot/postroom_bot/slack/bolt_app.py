# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Bolt's app with all handlers, and the handling of their unexpected errors."""

from __future__ import annotations

import logging
import re
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from http import HTTPStatus
from typing import Any

from slack_bolt import App, BoltContext, BoltRequest, BoltResponse
from slack_bolt.error import BoltError, BoltUnhandledRequestError

from postroom_bot.backends.slack_api import SlackApi, web_client
from postroom_bot.config import Settings
from postroom_bot.domain import Reason
from postroom_bot.errors import SlackRejected, SlackUnavailable, StartError
from postroom_bot.ops.metrics import Metrics
from postroom_bot.slack import actions, commands, modals
from postroom_bot.slack.interactions import Services, reply
from postroom_bot.slack.transports import SOCKET_REFUSED
from postroom_bot.ui import messages
from postroom_bot.ui.views import note
from postroom_bot.workflow.dependencies import Workspace

_LOGIN_REFUSED = "Slack refuses slack_bot_token (%s): reinstall the app and copy its token"
_UNREACHABLE = "Slack does not answer at %s: check slack_api_url and this network's proxy"
INTERNAL_ERROR = "Something went wrong, and I have logged it. Try again in a minute."
#: Longer than Bolt's interval of 10 ms between checks for an acknowledgement.
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
            log.warning("refused a request without a valid signature of the last five minutes")
        return response


def slack_api_of(settings: Settings) -> SlackApi:
    """Return the client of Slack's Web API."""
    token = settings.slack_bot_token.get_secret_value()
    return SlackApi(web_client(token, base_url=settings.slack_api_url))


def app_of(settings: Settings, services: Services, executor: ThreadPoolExecutor) -> App:
    """Return the app with all handlers, which run in the given executor."""
    metrics, secret = services.deps.metrics, settings.slack_signing_secret
    try:
        app = TimedApp(
            metrics,
            name="slack_bolt.postroom",
            client=services.deps.slack_api.client,
            signing_secret=secret.get_secret_value() if secret else "",
            listener_executor=executor,
            raise_error_for_unhandled_request=True,
        )
    except (BoltError, OSError):
        raise StartError(_UNREACHABLE % settings.slack_api_url) from None
    commands.register(app, services)
    actions.register(app, services)
    actions.register_events(app, services)
    modals.register(app, services)
    app.error(partial(answer_error, metrics))
    return app


def answer_error(
    metrics: Metrics,
    error: Exception,
    body: dict[str, Any],
    context: BoltContext,
    response: BoltResponse | None,
) -> BoltResponse | None:
    """Log and count an unexpected error of a handler, and answer the person without any details.

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
        text = messages.text(Reason("slack.unavailable"))
    else:
        log.error("%s failed", kind, exc_info=error)
        text = INTERNAL_ERROR
    if kind == "event":
        return None
    if response is not None and kind == "command":
        return BoltResponse(status=200, body=text)
    if response is not None and kind == "view_submission":
        return BoltResponse(status=200, body={"response_action": "update", "view": note(text)})
    if context.response_url and context.respond is not None:
        reply(context.respond, text)
    return None if response is None else BoltResponse(status=200)


def kind_of(body: dict[str, Any]) -> str:
    """Return the kind of a payload, such as ``command``, ``event`` or ``other``.

    There are only a few kinds, because the result is the label of a metric.
    """
    if "command" in body:
        return "command"
    kind = body.get("type")
    if kind == "event_callback":
        return "event"
    return str(kind) if kind in _KINDS else "other"


def workspace_of(slack_api: SlackApi, settings: Settings) -> Workspace:
    """Return the bot's workspace and app, as reported by Slack."""
    try:
        identity = slack_api.whoami()
        app = slack_api.app_of(str(identity.get("bot_id")))
    except SlackRejected as refusal:
        raise StartError(_LOGIN_REFUSED % refusal.code) from None
    except SlackUnavailable:
        raise StartError(_UNREACHABLE % settings.slack_api_url) from None
    return Workspace(str(identity["team_id"]), identity.get("enterprise_id"), app)


def check_socket(slack_api: SlackApi, settings: Settings) -> None:
    """Verify the app-level token with Slack, if Socket Mode is used.

    :raises StartError: Slack rejects the token
    """
    if settings.mode == "http" or settings.slack_app_token is None:
        return
    # Slack allows only a few of these calls per minute. If it is limited, the token may be valid.
    with suppress(SlackUnavailable):
        try:
            slack_api.open_socket(settings.slack_app_token.get_secret_value())
        except SlackRejected:
            raise StartError(SOCKET_REFUSED) from None
