# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Slack's Web API, as far as the bot needs it; nothing else calls it.

There are no retries here: the callers decide about them. No exception contains what was sent or
received, so that no token, message or profile gets into a log.
"""

from __future__ import annotations

import http.client
import logging
import threading
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from slack_sdk.errors import SlackApiError, SlackRequestError
from slack_sdk.web import SlackResponse, WebClient

from postroom_bot.domain import MessageRef
from postroom_bot.errors import SlackRejected, SlackUnavailable
from postroom_bot.ui.markup import Message

#: Long enough for Slack at its slowest, short enough for a worker to renew its lease meanwhile.
TIMEOUT_SECONDS = 5

#: Error codes that don't concern the call itself.
_PASSING = frozenset(
    {
        "fatal_error",
        "internal_error",
        "ratelimited",
        "rate_limited",
        "request_timeout",
        "service_unavailable",
    }
)
#: Refusals of the token itself.
_LOCKED_OUT = frozenset(
    {"account_inactive", "invalid_auth", "not_authed", "token_expired", "token_revoked"}
)

log = logging.getLogger(__name__)


class ViewRef(NamedTuple):
    """An open modal, in a known state.

    :param hash: of that state; "" where it is not known, and then it is not compared
    """

    view_id: str
    hash: str


def web_client(token: str, *, base_url: str = WebClient.BASE_URL) -> WebClient:
    """Return a client that waits 5 seconds at most and never retries a call.

    :param base_url: where Slack's API is; its methods' names are added to it
    """
    base_url = base_url if base_url.endswith("/") else f"{base_url}/"
    return WebClient(token=token, base_url=base_url, timeout=TIMEOUT_SECONDS, retry_handlers=[])


class SlackApi:
    """What the bot does in Slack. Threads may share it.

    :param client: also for Slack's own libraries

    Every method raises SlackUnavailable or SlackRejected.
    """

    def __init__(self, client: WebClient) -> None:
        self.client = client
        self._direct: dict[str, str] = {}
        self._lock = threading.Lock()
        #: Why Slack refused the bot's token in the last call, or "".
        self.locked_out = ""

    def post(self, channel: str, message: Message) -> MessageRef:
        """Post a message in a channel."""
        answer = self._call(
            lambda: self.client.chat_postMessage(
                channel=channel,
                text=message.text,
                blocks=message.blocks or None,
                unfurl_links=False,
                unfurl_media=False,
            )
        )
        return MessageRef(str(answer["channel"]), str(answer["ts"]))

    def update(self, card: MessageRef, message: Message) -> None:
        """Put another message in a posted one's place."""
        # Slack keeps the old blocks unless there is an empty list.
        self._call(
            lambda: self.client.chat_update(
                channel=card.channel, ts=card.ts, text=message.text, blocks=message.blocks
            )
        )

    def link(self, posted: MessageRef) -> str:
        """Return the address of a posted message."""
        answer = self._call(
            lambda: self.client.chat_getPermalink(channel=posted.channel, message_ts=posted.ts)
        )
        return str(answer["permalink"])

    def send_direct_message(self, user: str, message: Message) -> MessageRef:
        """Post a message in the bot's conversation with one person."""
        return self.post(self._conversation(user), message)

    def profile(self, user: str) -> Mapping[str, Any]:
        """Return what Slack knows of a user: the ``user`` of ``users.info``."""
        return _part(self._call(lambda: self.client.users_info(user=user)), "user")

    def members(self, usergroup: str) -> frozenset[str]:
        """Return the ids of the users in a user group."""
        answer = self._call(lambda: self.client.usergroups_users_list(usergroup=usergroup))
        return frozenset(map(str, answer.get("users") or ()))

    def find_by_email(self, email: str) -> str | None:
        """Return the id of the user whose profile has this address, or None."""
        try:
            answer = self._call(lambda: self.client.users_lookupByEmail(email=email))
        except SlackRejected as refusal:
            if refusal.code == "users_not_found":
                return None
            raise
        return str(_part(answer, "user")["id"])

    def open_view(self, trigger_id: str, view: dict[str, Any]) -> ViewRef:
        """Open a modal; a trigger lives for 3 seconds."""
        return _opened(self._call(lambda: self.client.views_open(trigger_id=trigger_id, view=view)))

    def update_view(self, opened: ViewRef, view: dict[str, Any]) -> ViewRef:
        """Put another view in an open one's place, unless it has changed meanwhile."""
        return _opened(
            self._call(
                lambda: self.client.views_update(
                    view_id=opened.view_id, hash=opened.hash or None, view=view
                )
            )
        )

    def publish_home(self, user: str, view: dict[str, Any]) -> None:
        """Show this in the app's home tab of one person."""
        self._call(lambda: self.client.views_publish(user_id=user, view=view))

    def whoami(self) -> Mapping[str, Any]:
        """Return ``auth.test``: ``team_id``, ``enterprise_id``, ``user_id``, ``bot_id`` ..."""
        return self._call(self.client.auth_test)

    def open_socket(self, app_token: str) -> None:
        """Request a Socket Mode URL, which need not be used."""
        _asked(lambda: self.client.apps_connections_open(app_token=app_token))

    def app_of(self, bot: str) -> str:
        """Return the id of the app that a bot belongs to, such as ``A0123``."""
        answer = self._call(lambda: self.client.bots_info(bot=bot))
        return str(_part(answer, "bot").get("app_id") or "")

    def _conversation(self, user: str) -> str:
        with self._lock:
            known = self._direct.get(user)
        if known is not None:
            return known
        answer = self._call(lambda: self.client.conversations_open(users=[user]))
        channel = str(_part(answer, "channel")["id"])
        with self._lock:
            self._direct[user] = channel
        return channel

    def _call(self, call: Callable[[], SlackResponse]) -> dict[str, Any]:
        """Call Slack, and keep whether it accepts the bot's token."""
        try:
            answer = _asked(call)
        except SlackRejected as refusal:
            self._keep(refusal.code if refusal.code in _LOCKED_OUT else "")
            raise
        self._keep("")
        return answer

    def _keep(self, locked_out: str) -> None:
        before, self.locked_out = self.locked_out, locked_out
        if locked_out and not before:
            log.error(
                "Slack refuses slack_bot_token (%s): install the app again, set the new token and "
                "restart the bot",
                locked_out,
            )
        elif before and not locked_out:
            log.warning("Slack accepts slack_bot_token again")


def _asked(call: Callable[[], SlackResponse]) -> dict[str, Any]:
    try:
        answer = call()
    except SlackApiError as error:
        raise _failure(error.response) from None
    except (OSError, ValueError, http.client.HTTPException, SlackRequestError):
        # No connection, a timeout, or an answer that is not JSON.
        raise SlackUnavailable from None
    return answer.data if isinstance(answer.data, dict) else {}


def _failure(response: SlackResponse) -> SlackUnavailable | SlackRejected:
    """Return the exception for an error response."""
    code = str(response.get("error") or "unknown_error")
    if response.status_code == http.HTTPStatus.TOO_MANY_REQUESTS:
        return SlackUnavailable(_seconds(response.headers))
    if response.status_code >= http.HTTPStatus.INTERNAL_SERVER_ERROR or code in _PASSING:
        return SlackUnavailable()
    return SlackRejected(code)


def _seconds(headers: Mapping[str, Any]) -> float | None:
    """Read Retry-After; the SDK gives the value bare or in a list."""
    value = next((headers[name] for name in headers if name.lower() == "retry-after"), None)
    text = str(value[0] if isinstance(value, list) and value else value)
    return float(text) if text.isdecimal() else None


def _part(answer: Mapping[str, Any], name: str) -> dict[str, Any]:
    part = answer.get(name)
    if not isinstance(part, dict):
        raise SlackUnavailable
    return part


def _opened(answer: Mapping[str, Any]) -> ViewRef:
    view = _part(answer, "view")
    return ViewRef(str(view["id"]), str(view.get("hash") or ""))
