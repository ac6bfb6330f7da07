# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Payloads of commands, interactions and events, and the classes that deliver them."""

from __future__ import annotations

import hashlib
import hmac
import html
import json
import re
import secrets
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol
from urllib.parse import urlencode

import httpx

from . import views
from .workspace_state import Ack, Channel, Message, Payload, User, View, WorkspaceState, plain

COMMANDS = "slash_commands"
INTERACTIVE = "interactive"
EVENTS = "events_api"

_ADDRESS = re.compile(r"[\w.+'-]+@[\w-]+(?:\.[\w-]+)+")
_HOST = re.compile(r"(?<![\w@.|/-])(?:[a-z0-9-]+\.)+(?:com|org|net|test)\b", re.IGNORECASE)
_MENTION = re.compile(r"(?<![\w.])@([\w.-]+)")


class SlackRequest(NamedTuple):
    """A payload to deliver. `kind` is the type of its Socket Mode envelope."""

    kind: str
    payload: Payload


def command(workspace: WorkspaceState, user: User, channel: Channel, text: str) -> SlackRequest:
    """Return a slash command that was typed as `text`, such as `/email help`."""
    name, _space, rest = text.partition(" ")
    payload = {
        "team_id": user.team,
        "team_domain": workspace.domain,
        "channel_id": channel.id,
        "channel_name": channel.name,
        "user_id": user.id,
        "user_name": user.name,
        "command": name,
        "text": _escaped(workspace, rest.strip()),
        "api_app_id": workspace.app,
        "is_enterprise_install": "false",
        "trigger_id": workspace.trigger(user.id),
        "response_url": workspace.new_response_url(user.id, channel.id),
    }
    if user.enterprise:
        payload["enterprise_id"] = user.enterprise
    return SlackRequest(COMMANDS, payload)


def press(workspace: WorkspaceState, user: User, message: Message, action: Payload) -> SlackRequest:
    """Return the `block_actions` payload for a button in a message."""
    container = {
        "type": "message",
        "message_ts": message.ts,
        "channel_id": message.channel,
        "is_ephemeral": message.only_for is not None,
    }
    channel = workspace.channels[message.channel]
    payload = {
        **_common(workspace, user, "block_actions"),
        "container": container,
        "channel": {"id": channel.id, "name": channel.name},
        "message": message.as_slack(),
        "state": {"values": {}},
        "response_url": workspace.new_response_url(user.id, channel.id),
        "actions": [action],
    }
    return SlackRequest(INTERACTIVE, payload)


def press_in_view(
    workspace: WorkspaceState, user: User, view: View, action: Payload
) -> SlackRequest:
    """Return the `block_actions` payload for a button in a modal or a Home tab."""
    in_modal = view.content["type"] == "modal"
    payload = {
        **_common(workspace, user, "block_actions", in_modal=in_modal),
        "container": {"type": "view", "view_id": view.id},
        "view": views.as_slack(view),
        "actions": [action],
    }
    return SlackRequest(INTERACTIVE, payload)


def submission(workspace: WorkspaceState, user: User, view: View) -> SlackRequest:
    """Return the `view_submission` payload for a modal."""
    common = _common(workspace, user, "view_submission", in_modal=True)
    return SlackRequest(INTERACTIVE, {**common, "view": views.as_slack(view)})


def shortcut(workspace: WorkspaceState, user: User, callback_id: str) -> SlackRequest:
    """Return the payload of a global shortcut."""
    return SlackRequest(
        INTERACTIVE, {**_common(workspace, user, "shortcut"), "callback_id": callback_id}
    )


def event(workspace: WorkspaceState, inner: Mapping[str, Any]) -> SlackRequest:
    """Return an event in the envelope of the Events API."""
    payload = {
        "team_id": workspace.team,
        "api_app_id": workspace.app,
        "event": {**inner, "event_ts": workspace.fresh_ts()},
        "type": "event_callback",
        "event_id": f"Ev{secrets.token_hex(5).upper()}",
    }
    return SlackRequest(EVENTS, payload)


def _escaped(workspace: WorkspaceState, text: str) -> str:
    """Return a command's text with addresses, hosts and names wrapped, as with `should_escape`."""
    by_name = {user.name: user for user in workspace.users.values()}

    def mention(match: re.Match[str]) -> str:
        user = by_name.get(match[1])
        return f"<@{user.id}|{user.name}>" if user else match[0]

    # Slack escapes only `&`, `<` and `>`, so quotes remain as they are.
    spans = re.split(f"({_ADDRESS.pattern})", html.escape(text, quote=False))
    # Every second part is an address, which is not searched for hosts and names.
    return "".join(
        f"<mailto:{span}|{span}>"
        if odd % 2
        else _MENTION.sub(mention, _HOST.sub(r"<http://\g<0>|\g<0>>", span))
        for odd, span in enumerate(spans)
    )


def _common(workspace: WorkspaceState, user: User, kind: str, *, in_modal: bool = False) -> Payload:
    return {
        "type": kind,
        "user": {"id": user.id, "username": user.name, "name": user.name, "team_id": user.team},
        "api_app_id": workspace.app,
        "trigger_id": workspace.trigger(user.id, in_modal=in_modal),
        "team": {"id": workspace.team, "domain": workspace.domain},
        "enterprise": {"id": user.enterprise, "name": "Enterprise"} if user.enterprise else None,
        "is_enterprise_install": False,
    }


TIMEOUT = "operation_timeout"
FAILED = "dispatch_failed"


class Transport(Protocol):
    """A way to deliver payloads: HTTP or Socket Mode."""

    def send(self, slack_request: SlackRequest, seconds: float, *, at: float) -> Ack:
        """Deliver a payload that was signed at `at`, and wait up to `seconds` for the response."""


class Sent(NamedTuple):
    """A request that was sent."""

    body: bytes
    headers: dict[str, str]


class HttpTransport:
    """Posts all payloads to the app's URL, such as `http://127.0.0.1:3000/slack/events`."""

    def __init__(self, url: str, secret: str) -> None:
        self.url = url
        self._secret = secret
        #: All requests that were sent, so that tests can replay them exactly.
        self.sent: list[Sent] = []

    def send(self, slack_request: SlackRequest, seconds: float, *, at: float) -> Ack:
        """Deliver a payload that was signed at `at`, and wait for the response."""
        return self.post(self.signed(slack_request, at=at), seconds)

    def signed(self, slack_request: SlackRequest, *, at: float, secret: str | None = None) -> Sent:
        """Return a request that is signed with a secret, by default with the correct secret."""
        if slack_request.kind == EVENTS:
            body, kind = json.dumps(slack_request.payload).encode(), "application/json"
        else:
            is_command = slack_request.kind == COMMANDS
            fields = (
                slack_request.payload
                if is_command
                else {"payload": json.dumps(slack_request.payload)}
            )
            body, kind = urlencode(fields).encode(), "application/x-www-form-urlencoded"
        stamp = str(int(at))
        text = b"v0:" + stamp.encode() + b":" + body
        digest = hmac.new((secret or self._secret).encode(), text, hashlib.sha256).hexdigest()
        headers = {
            "Content-Type": kind,
            "X-Slack-Request-Timestamp": stamp,
            "X-Slack-Signature": f"v0={digest}",
        }
        return Sent(body, headers)

    def post(self, request: Sent, seconds: float) -> Ack:
        """Send a request, and return the response.

        A body that is not JSON is returned under `text`.
        """
        self.sent.append(request)
        try:
            with httpx.Client(trust_env=False, timeout=seconds) as client:
                response = client.post(self.url, content=request.body, headers=request.headers)
        except httpx.HTTPError as error:
            return Ack(0, {}, TIMEOUT if isinstance(error, httpx.ReadTimeout) else FAILED)
        try:
            read = json.loads(response.text or "{}")
        except ValueError:
            read = response.text.strip()
        body = read if isinstance(read, dict) else {"text": read}
        return Ack(response.status_code, body, "" if response.is_success else FAILED)


@dataclass
class Delivery:
    """The way in which Slack delivers payloads.

    :param copies: the number of times to deliver each payload, with separate signatures
    :param together: whether to deliver the copies at the same time
    :param seconds: the seconds within which the app must respond
    """

    copies: int = 1
    together: bool = False
    seconds: float = 3.0


class RequestSender:
    """Delivers payloads and records the acknowledgements."""

    def __init__(self, workspace: WorkspaceState, transport: Transport) -> None:
        self.state = workspace
        self.transport = transport
        self.options = Delivery()

    def deliver(self, slack_request: SlackRequest) -> Ack:
        """Deliver a payload, and return the acknowledgement of the first copy."""
        self.state.note(f"deliver {slack_request.kind}", plain(slack_request.payload))
        # Signatures have a resolution of one second, so the copies are signed one second apart.
        moments = [time.time() - number for number in range(self.options.copies)]
        workers = len(moments) if self.options.together else 1
        with ThreadPoolExecutor(workers) as pool:
            first, *_others = pool.map(lambda at: self._deliver_copy(slack_request, at), moments)
            return first

    def _deliver_copy(self, slack_request: SlackRequest, at: float) -> Ack:
        ack = self.transport.send(slack_request, self.options.seconds, at=at)
        with self.state.changed:
            self.state.acks.append(ack)
            self.state.note(
                f"ack {slack_request.kind}", f"{ack.status} {ack.error} {plain(ack.body)}"
            )
        return ack
