# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Bolt's app, made for this bot, and who the bot is in Slack."""

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
from postroom_bot.slack.transports import NO_SOCKET, HttpTransport, SocketModeTransport, Transport
from postroom_bot.workflow.dependencies import Workspace

_NOT_LET_IN = "Slack does not accept slack_bot_token (%s): install the app anew and copy its token"
_NO_SLACK = "Slack does not answer at %s: check slack_api_url and the way out of this network"

log = logging.getLogger(__name__)


class TimedApp(App):
    """Bolt's app, that measures how long Slack waits for its acknowledgement."""

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
        """Answer one of Slack's calls."""
        begin = time.monotonic()
        stamps = req.headers.get("x-slack-request-timestamp", [])
        try:
            # Bolt fails at a timestamp that is not a number.
            is_number = all(re.fullmatch("[0-9]{1,12}", stamp) for stamp in stamps)
            response = super().dispatch(req) if is_number else BoltResponse(status=401, body="")
        finally:
            took = time.monotonic() - begin
            self._metrics.acks_seconds.labels(kind_of(req.body)).observe(took)
        if response.status == HTTPStatus.UNAUTHORIZED:
            # Nobody is known to have sent it, so the audit has nothing of it.
            self._metrics.errors_total.labels("signature").inc()
            log.warning("refused a request that Slack has not signed in the last five minutes")
        return response


def slack_api_of(settings: Settings) -> SlackApi:
    """Return Slack's Web API."""
    token = settings.slack_bot_token.get_secret_value()
    return SlackApi(web_client(token, base_url=settings.slack_api_url))


def app_of(
    slack_api: SlackApi, metrics: Metrics, executor: ThreadPoolExecutor, settings: Settings
) -> App:
    """Return the app, without listeners."""
    try:
        return TimedApp(slack_api, metrics, executor, settings)
    except (BoltError, OSError):
        raise StartError(_NO_SLACK % settings.slack_api_url) from None


def workspace_of(slack_api: SlackApi, settings: Settings) -> Workspace:
    """Ask Slack who the bot is there."""
    try:
        told = slack_api.whoami()
        app = slack_api.app_of(str(told.get("bot_id")))
    except SlackRejected as refusal:
        raise StartError(_NOT_LET_IN % refusal.code) from None
    except SlackUnavailable:
        raise StartError(_NO_SLACK % settings.slack_api_url) from None
    return Workspace(str(told["team_id"]), told.get("enterprise_id"), app)


def check_socket(slack_api: SlackApi, settings: Settings) -> None:
    """Ask Slack whether it takes the app-level token, where one is used."""
    if settings.mode == "http" or settings.slack_app_token is None:
        return
    # Slack answers this a few times a minute only, and not doing so says nothing of the token.
    with suppress(SlackUnavailable):
        try:
            slack_api.open_socket(settings.slack_app_token.get_secret_value())
        except SlackRejected:
            raise StartError(NO_SOCKET) from None


def transport_of(settings: Settings, app: App) -> Transport:
    """Return the way in which Slack reaches the app."""
    if settings.mode == "http" or settings.slack_app_token is None:
        return HttpTransport(app, settings.http_host, settings.http_port)
    return SocketModeTransport(app, settings.slack_app_token.get_secret_value())
