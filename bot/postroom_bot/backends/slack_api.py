# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The client for Slack's Web API. The bot calls Slack only through this module.

Calls are not retried here; the callers decide whether to retry. Exceptions contain no data that was
sent or received, so that no token, message or profile is logged.
"""

from __future__ import annotations

import http.client
import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from slack_sdk.errors import SlackApiError, SlackRequestError
from slack_sdk.web import SlackResponse, WebClient

from postroom_bot.config import Settings
from postroom_bot.domain import MessageRef, ViewRef, Workspace
from postroom_bot.errors import SlackRejected, SlackUnavailable, StartError
from postroom_bot.ui.markup import Message

#: Long enough for slow responses from Slack, and short enough for a worker to renew its lease.
TIMEOUT_SECONDS = 5

#: Error codes for temporary problems that the call did not cause.
_TEMPORARY = frozenset(
    {
        "fatal_error",
        "internal_error",
        "ratelimited",
        "rate_limited",
        "request_timeout",
        "service_unavailable",
    }
)
#: Error codes with which Slack rejects the token itself.
_LOCKED_OUT = frozenset(
    {"account_inactive", "invalid_auth", "not_authed", "token_expired", "token_revoked"}
)

_LOGIN_REJECTED = "Slack rejected slack_bot_token (%s): reinstall the app and set its token"
UNREACHABLE = "Slack is not responding at %s: check slack_api_url and the network's proxy"
SOCKET_REJECTED = (
    "Slack rejected the Socket Mode connection: check slack_app_token and its scope"
    " connections:write, and that Socket Mode is enabled in the app's settings"
)

log = logging.getLogger(__name__)


class SlackApi:
    """The calls that the bot makes to Slack's Web API. Thread-safe.

    Every method may raise SlackUnavailable or SlackRejected.

    :param url: the URL of the API, to which the names of methods are appended
    """

    def __init__(self, token: str, url: str) -> None:
        #: The SDK's client, without retries. Bolt uses it as well.
        self.client = WebClient(token, url, timeout=TIMEOUT_SECONDS, retry_handlers=[])
        #: The ids of direct message conversations, keyed by user id.
        self._direct: dict[str, str] = {}
        #: The error code if Slack rejected the bot's token in the last call, else "".
        self.locked_out = ""

    def post(self, channel: str, message: Message, *, thread: str | None = None) -> MessageRef:
        """Post a message to a channel, or to the thread of the message with this timestamp."""
        answer = self._call(
            self.client.chat_postMessage,
            channel=channel,
            text=message.text,
            blocks=message.blocks or None,
            thread_ts=thread,
            unfurl_links=False,
            unfurl_media=False,
        )
        return MessageRef(str(answer["channel"]), str(answer["ts"]))

    def update(self, card: MessageRef, message: Message) -> None:
        """Replace a posted message."""
        # Always send the blocks: without any, Slack would keep the old ones.
        blocks = message.blocks
        where = {"channel": card.channel, "ts": card.ts}
        self._call(self.client.chat_update, **where, text=message.text, blocks=blocks)

    def link(self, posted: MessageRef) -> str:
        """Return the permalink of a posted message."""
        where = {"channel": posted.channel, "message_ts": posted.ts}
        return str(self._call(self.client.chat_getPermalink, **where)["permalink"])

    def send_direct_message(self, user: str, message: Message) -> MessageRef:
        """Send a direct message from the bot to a user."""
        if user not in self._direct:
            answer = self._call(self.client.conversations_open, users=[user])
            self._direct[user] = str(_part(answer, "channel")["id"])
        return self.post(self._direct[user], message)

    def profile(self, user: str) -> Mapping[str, Any]:
        """Return a user's profile: the ``user`` object that ``users.info`` returns."""
        return _part(self._call(self.client.users_info, user=user), "user")

    def usergroups(self) -> Mapping[str, frozenset[str]]:
        """Return the ids of the users in each user group that is not disabled."""
        answer = self._call(self.client.usergroups_list, include_users=True)
        usergroups = answer.get("usergroups") or ()
        return {str(one["id"]): frozenset(map(str, one.get("users") or ())) for one in usergroups}

    def find_by_email(self, email: str) -> str | None:
        """Return the id of the user whose profile contains this email address, or None."""
        try:
            answer = self._call(self.client.users_lookupByEmail, email=email)
        except SlackRejected as rejection:
            if rejection.code == "users_not_found":
                return None
            raise
        return str(_part(answer, "user")["id"])

    def open_view(self, trigger_id: str, view: dict[str, Any]) -> ViewRef:
        """Open a modal. The trigger is valid for 3 seconds."""
        return _opened(self._call(self.client.views_open, trigger_id=trigger_id, view=view))

    def update_view(self, opened: ViewRef, view: dict[str, Any]) -> ViewRef:
        """Replace the view of an open modal, unless the modal has changed in the meantime."""
        which = {"view_id": opened.view_id, "hash": opened.hash or None}
        return _opened(self._call(self.client.views_update, **which, view=view))

    def publish_home(self, user: str, view: dict[str, Any]) -> None:
        """Publish a view in a user's Home tab."""
        self._call(self.client.views_publish, user_id=user, view=view)

    def whoami(self) -> Mapping[str, Any]:
        """Return the response of ``auth.test``, such as ``team_id`` and ``bot_id``."""
        return self._call(self.client.auth_test)

    def _call(self, method: Callable[..., SlackResponse], **options: Any) -> dict[str, Any]:
        """Call Slack, and record whether it accepts the bot's token."""
        try:
            answer = _send(method, **options)
        except SlackRejected as rejection:
            self._set_locked_out(rejection.code if rejection.code in _LOCKED_OUT else "")
            raise
        self._set_locked_out("")
        return answer

    def _set_locked_out(self, code: str) -> None:
        before, self.locked_out = self.locked_out, code
        if code and not before:
            log.error(
                "Slack rejected slack_bot_token (%s): reinstall the app, set the new token and "
                "restart the bot",
                code,
            )
        elif before and not code:
            log.warning("Slack accepts slack_bot_token again")


def fetch_workspace(slack_api: SlackApi, settings: Settings) -> Workspace:
    """Return the bot's workspace and app, as reported by Slack."""
    try:
        answer = slack_api.whoami()
        bot = _part(_send(slack_api.client.bots_info, bot=str(answer.get("bot_id"))), "bot")
    except SlackRejected as rejection:
        raise StartError(_LOGIN_REJECTED % rejection.code) from None
    except SlackUnavailable:
        raise StartError(UNREACHABLE % settings.slack_api_url) from None
    return Workspace(
        str(answer["team_id"]), answer.get("enterprise_id"), str(bot.get("app_id") or "")
    )


def check_socket(slack_api: SlackApi, settings: Settings) -> None:
    """Verify the app-level token with Slack, if Socket Mode is used.

    :raises StartError: if Slack rejects the token
    """
    if settings.mode == "http" or settings.slack_app_token is None:
        return
    # Slack allows few of these calls per minute, so a rate limit does not mean a bad token.
    with suppress(SlackUnavailable):
        try:
            token = settings.slack_app_token.get_secret_value()
            _send(slack_api.client.apps_connections_open, app_token=token)
        except SlackRejected:
            raise StartError(SOCKET_REJECTED) from None


def _send(method: Callable[..., SlackResponse], **options: Any) -> dict[str, Any]:
    try:
        answer = method(**options)
    except SlackApiError as error:
        response = error.response
        code = str(response.get("error") or "unknown_error")
        if response.status_code == http.HTTPStatus.TOO_MANY_REQUESTS:
            # The SDK returns the value of a header as a string or in a list.
            headers = {name.lower(): value for name, value in response.headers.items()}
            value = headers.get("retry-after")
            asked = str(value[0] if isinstance(value, list) and value else value)
            raise SlackUnavailable(float(asked) if asked.isdecimal() else None) from None
        if response.status_code >= http.HTTPStatus.INTERNAL_SERVER_ERROR or code in _TEMPORARY:
            raise SlackUnavailable from None
        raise SlackRejected(code) from None
    except (OSError, ValueError, http.client.HTTPException, SlackRequestError):
        # The connection failed, the call timed out, or the response is not JSON.
        raise SlackUnavailable from None
    return answer.data if isinstance(answer.data, dict) else {}


def _part(answer: Mapping[str, Any], name: str) -> dict[str, Any]:
    part = answer.get(name)
    if not isinstance(part, dict):
        raise SlackUnavailable
    return part


def _opened(answer: Mapping[str, Any]) -> ViewRef:
    view = _part(answer, "view")
    return ViewRef(str(view["id"]), str(view.get("hash") or ""))
