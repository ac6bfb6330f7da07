# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Bolt's app and the transport, built from the settings."""

from __future__ import annotations

import logging
import re
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from http import HTTPStatus

from slack_bolt import App, BoltRequest, BoltResponse
from slack_bolt.error import BoltError

from postroom_bot.backends.slack_api import SlackApi, web_client
from postroom_bot.config import Settings
from postroom_bot.errors import SlackRejected, SlackUnavailable, StartError
from postroom_bot.ops.metrics import Metrics
from postroom_bot.slack.handlers.errors import kind_of
from postroom_bot.slack.transports import (
    SOCKET_REFUSED,
    HttpTransport,
    SocketModeTransport,
    Transport,
)
from postroom_bot.workflow.dependencies import Workspace

_LOGIN_REFUSED = "Slack refuses slack_bot_token (%s): reinstall the app and copy its token"
_UNREACHABLE = "Slack does not answer at %s: check slack_api_url and this network's proxy"

log = logging.getLogger(__name__)


class TimedApp(App):
    """Bolt's app, which measures the time to each acknowledgement."""

    def __init__(
        self,
        slack_api: SlackApi,
        metrics: Metrics,
        executor: ThreadPoolExecutor,
        settings: Settings,
    ) -> None:
        secret = settings.slack_signing_secret
        super().__init__(
            name="slack_bolt.postroom",
            client=slack_api.client,
            signing_secret=secret.get_secret_value() if secret else "",
            listener_executor=executor,
            raise_error_for_unhandled_request=True,
        )
        self._metrics = metrics

    def dispatch(self, req: BoltRequest) -> BoltResponse:
        """Handle one of Slack's requests."""
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


def app_of(
    slack_api: SlackApi, metrics: Metrics, executor: ThreadPoolExecutor, settings: Settings
) -> App:
    """Return the app, without handlers."""
    try:
        return TimedApp(slack_api, metrics, executor, settings)
    except (BoltError, OSError):
        raise StartError(_UNREACHABLE % settings.slack_api_url) from None


def workspace_of(slack_api: SlackApi, settings: Settings) -> Workspace:
    """Ask Slack for the bot's workspace."""
    try:
        identity = slack_api.whoami()
        app = slack_api.app_of(str(identity.get("bot_id")))
    except SlackRejected as refusal:
        raise StartError(_LOGIN_REFUSED % refusal.code) from None
    except SlackUnavailable:
        raise StartError(_UNREACHABLE % settings.slack_api_url) from None
    return Workspace(str(identity["team_id"]), identity.get("enterprise_id"), app)


def check_socket(slack_api: SlackApi, settings: Settings) -> None:
    """Check the app-level token with Slack, if Socket Mode is used.

    :raises StartError: Slack refuses the token
    """
    if settings.mode == "http" or settings.slack_app_token is None:
        return
    # Slack limits this call to a few a minute. Then the token may still be valid.
    with suppress(SlackUnavailable):
        try:
            slack_api.open_socket(settings.slack_app_token.get_secret_value())
        except SlackRejected:
            raise StartError(SOCKET_REFUSED) from None


def transport_of(settings: Settings, app: App) -> Transport:
    """Return the transport."""
    if settings.mode == "http" or settings.slack_app_token is None:
        return HttpTransport(app, settings.http_host, settings.http_port)
    return SocketModeTransport(app, settings.slack_app_token.get_secret_value())
