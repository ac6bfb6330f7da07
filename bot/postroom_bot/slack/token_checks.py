# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Check the bot token and the app-level token with Slack, and return the bot's workspace."""

from __future__ import annotations

from contextlib import suppress

from postroom_bot.backends.slack_api import SlackApi
from postroom_bot.config import Settings
from postroom_bot.domain import Workspace
from postroom_bot.errors import SlackRejected, SlackUnavailable, StartError
from postroom_bot.slack.transports import SOCKET_REJECTED

_LOGIN_REJECTED = "Slack refuses slack_bot_token (%s): reinstall the app and copy its token"
UNREACHABLE = "Slack does not answer at %s: check slack_api_url and this network's proxy"


def workspace_of(slack_api: SlackApi, settings: Settings) -> Workspace:
    """Return the bot's workspace and app, as reported by Slack."""
    try:
        answer = slack_api.whoami()
        app = slack_api.app_of(str(answer.get("bot_id")))
    except SlackRejected as rejection:
        raise StartError(_LOGIN_REJECTED % rejection.code) from None
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
            raise StartError(SOCKET_REJECTED) from None
