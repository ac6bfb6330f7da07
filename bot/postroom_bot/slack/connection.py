# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The connection to Slack: the Web API client, and checks of both tokens."""

from __future__ import annotations

from contextlib import suppress

from postroom_bot.backends.slack_api import SlackApi, web_client
from postroom_bot.config import Settings
from postroom_bot.errors import SlackRejected, SlackUnavailable, StartError
from postroom_bot.slack.transports import SOCKET_REFUSED
from postroom_bot.workflow.dependencies import Workspace

_LOGIN_REFUSED = "Slack refuses slack_bot_token (%s): reinstall the app and copy its token"
UNREACHABLE = "Slack does not answer at %s: check slack_api_url and this network's proxy"


def slack_api_of(settings: Settings) -> SlackApi:
    """Return a client for Slack's Web API."""
    token = settings.slack_bot_token.get_secret_value()
    return SlackApi(web_client(token, base_url=settings.slack_api_url))


def workspace_of(slack_api: SlackApi, settings: Settings) -> Workspace:
    """Return the bot's workspace and app, as reported by Slack."""
    try:
        answer = slack_api.whoami()
        app = slack_api.app_of(str(answer.get("bot_id")))
    except SlackRejected as rejection:
        raise StartError(_LOGIN_REFUSED % rejection.code) from None
    except SlackUnavailable:
        raise StartError(UNREACHABLE % settings.slack_api_url) from None
    return Workspace(str(answer["team_id"]), answer.get("enterprise_id"), app)


def check_socket(slack_api: SlackApi, settings: Settings) -> None:
    """Verify the app-level token with Slack, if Socket Mode is used.

    :raises StartError: if Slack rejects the token
    """
    if settings.mode == "http" or settings.slack_app_token is None:
        return
    # Slack allows only a few of these calls per minute. A rate limit doesn't mean a bad token.
    with suppress(SlackUnavailable):
        try:
            slack_api.open_socket(settings.slack_app_token.get_secret_value())
        except SlackRejected:
            raise StartError(SOCKET_REFUSED) from None
