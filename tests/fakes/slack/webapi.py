# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Slack's Web API methods and response URLs, served on a loopback port, with faults on request.

A fault affects the next `times` calls of its method, after `skip` other calls of the method. The
method `*` matches all calls. Requests to a response URL count as calls of `response_url`.
"""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from http import HTTPStatus
from typing import NamedTuple
from urllib.parse import parse_qsl, urlsplit

from ansible_collections.postroom.email.tests.fakes import http_server
from ansible_collections.postroom.email.tests.fakes.http_server import RESET, Reply, Request

from . import views
from .workspace_state import (
    Call,
    Channel,
    Payload,
    Refused,
    ResponseUrl,
    Scopes,
    WorkspaceState,
    plain,
    with_block_ids,
)

_RATE_LIMITED = (HTTPStatus.TOO_MANY_REQUESTS, '{"ok":false,"error":"ratelimited"}')


@dataclass
class Fault:
    """A fault of one or more calls.

    :param status: the status of the response, or 0 to reset the connection
    :param seconds: the delay before the response
    :param after_effect: whether the call is executed, so that only its response is lost
    """

    method: str
    left: int
    skip: int
    status: int = 0
    body: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    after_effect: bool = False


class Faults:
    """The faults that affect future calls."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: list[Fault] = []
        #: Whether every connection is reset.
        self.is_down = False
        #: Set when the workspace closes, so that all delays end.
        self.closing = threading.Event()

    def rate_limit(self, method: str, *, retry_after: int = 1, skip: int = 0) -> None:
        """Respond with status 429 and `Retry-After`."""
        headers = {"Retry-After": str(retry_after)}
        self._add(Fault(method, 1, skip, *_RATE_LIMITED, headers))

    def fail(self, method: str, *, times: int = 1, status: int = 500, skip: int = 0) -> None:
        """Respond with a server error."""
        self._add(Fault(method, times, skip, status, "Internal Server Error"))

    def hang(self, method: str, *, seconds: float) -> None:
        """Send no response, and reset the connection after some seconds."""
        self._add(Fault(method, 1, 0, seconds=seconds))

    def reset(self, method: str, *, skip: int = 0) -> None:
        """Reset the connection without executing the call."""
        self._add(Fault(method, 1, skip))

    def lose_answer(self, method: str, *, skip: int = 0) -> None:
        """Execute the call, and then reset the connection."""
        self._add(Fault(method, 1, skip, after_effect=True))

    def clear(self) -> None:
        """Remove all faults."""
        with self._lock:
            self._waiting.clear()

    @property
    def are_used_up(self) -> bool:
        """Whether all faults have been used."""
        with self._lock:
            return not self._waiting

    def take(self, method: str) -> Fault | None:
        """Return the fault for a call, if there is any, and count the call."""
        with self._lock:
            if self.is_down:
                return Fault(method, 1, 0)
            fault = next((one for one in self._waiting if one.method in (method, "*")), None)
            if fault is None:
                return None
            if fault.skip:
                fault.skip -= 1
                return None
            fault.left -= 1
            self._waiting = [one for one in self._waiting if one.left > 0]
            return fault

    def _add(self, fault: Fault) -> None:
        with self._lock:
            self._waiting.append(fault)


API = "/api/"
MINUTE = timedelta(minutes=1)
RESPONSES = "/response/"
EMAIL_SCOPE = "users:read.email"
MAX_TEXT = 40_000
RESPONSE_URL_LIFE = timedelta(minutes=30)
RESPONSE_URL_USES = 5


@contextmanager
def serving(workspace: WorkspaceState, faults: Faults) -> Iterator[str]:
    """Serve until the block ends, and yield the URL."""
    with http_server.serving(lambda request: _answer(workspace, faults, request)) as server:
        try:
            yield server.url
        finally:
            faults.closing.set()


def _answer(workspace: WorkspaceState, faults: Faults, request: Request) -> Reply:
    """Respond to a call, or inject a fault."""
    path = urlsplit(request.target).path
    method = path.removeprefix(API) if path.startswith(API) else "response_url"
    fault = faults.take(method)
    if fault is None or fault.after_effect:
        reply = _carry_out(workspace, path, request)
    if fault is None:
        return reply
    workspace.note(f"fault {method}", f"{fault.status or 'connection cut'}")
    faults.closing.wait(fault.seconds)
    return _reply(fault.status, fault.body, fault.headers) if fault.status else RESET


def _carry_out(workspace: WorkspaceState, path: str, request: Request) -> Reply:
    """Execute a call with arguments in a form or in JSON."""
    if request.headers.get("content-type", "").startswith("application/json"):
        args = dict(request.json or {})
    else:
        args = dict(parse_qsl(request.body.decode()))
    if path.startswith(RESPONSES):
        return _reply(*respond(workspace, path.removeprefix(RESPONSES), args))
    method = path.removeprefix(API)
    if seconds := _retry_after(workspace, method):
        workspace.note(f"ratelimited {method}", str(seconds))
        return _reply(*_RATE_LIMITED, {"Retry-After": str(seconds)})
    token = request.headers.get("authorization", "").removeprefix("Bearer ")
    for name in ("blocks", "view"):
        if isinstance(args.get(name), str):
            args[name] = json.loads(args[name])
    return _reply(HTTPStatus.OK, json.dumps(call(workspace, method, token, args)))


def _reply(status: int, body: str, headers: dict[str, str] | None = None) -> Reply:
    kind = "application/json" if body.startswith("{") else "text/plain"
    shown = {"Content-Type": f"{kind}; charset=utf-8", "Connection": "close", **(headers or {})}
    return Reply(status, body.encode(), shown, close=True)


class Method(NamedTuple):
    """A method, with the scope and the token prefix that it needs.

    :param per_minute: how many calls Slack allows at least in a minute; 0 for a special limit
    """

    scope: str
    work: Callable[[WorkspaceState, Payload, Scopes], Payload]
    per_minute: int = 0
    prefix: str = "xoxb-"


#: The tiers of rate limits.
TIER_1, TIER_2, TIER_3, TIER_4 = 1, 20, 50, 100


def call(workspace: WorkspaceState, name: str, token: str, args: Payload) -> Payload:
    """Execute and record a call, and return the response."""
    with workspace.changed:
        workspace.note(f"call {name}", plain(args))
        try:
            answer = {"ok": True, **_work(workspace, name, token, args)}
        except Refused as refusal:
            answer = {"ok": False, "error": refusal.code}
        text = plain(answer)
        workspace.note(f"answer {name}", text)
        # Copy the response, because the view or message in it may change later.
        frozen: Payload = json.loads(text)
        workspace.calls.append(Call(name, args, frozen))
        workspace.changed.notify_all()
        return frozen


def _work(workspace: WorkspaceState, name: str, token: str, args: Payload) -> Payload:
    scopes, method = workspace.tokens.get(token), METHODS.get(name)
    if scopes is None:
        raise Refused("invalid_auth")
    if method is None:
        raise Refused("unknown_method")
    if not token.startswith(method.prefix):
        raise Refused("not_allowed_token_type")
    if method.scope and method.scope not in scopes:
        raise Refused("missing_scope")
    return method.work(workspace, args, scopes)


def _open_connection(workspace: WorkspaceState, args: Payload, scopes: Scopes) -> Payload:
    ticket = workspace.fresh_id("ticket-")
    workspace.tickets.add(ticket)
    return {"url": f"{workspace.socket_address}/link/?ticket={ticket}&app_id={workspace.app}"}


def _auth_test(workspace: WorkspaceState, args: Payload, scopes: Scopes) -> Payload:
    return {
        "url": f"https://{workspace.domain}.slack.com/",
        "team": workspace.domain,
        "team_id": workspace.team,
        "user": workspace.bot.name,
        "user_id": workspace.bot.id,
        "bot_id": workspace.bot_id,
        "is_enterprise_install": False,
    }


def _bot_info(workspace: WorkspaceState, args: Payload, scopes: Scopes) -> Payload:
    if args.get("bot") != workspace.bot_id:
        raise Refused("bot_not_found")
    bot = {
        "id": workspace.bot_id,
        "app_id": workspace.app,
        "user_id": workspace.bot.id,
        "deleted": False,
    }
    return {"bot": {**bot, "name": workspace.bot.name}}


def _user_info(workspace: WorkspaceState, args: Payload, scopes: Scopes) -> Payload:
    user = workspace.users.get(str(args.get("user", "")))
    if user is None:
        raise Refused("user_not_found")
    return {"user": user.as_slack(with_email=EMAIL_SCOPE in scopes)}


def _lookup_by_email(workspace: WorkspaceState, args: Payload, scopes: Scopes) -> Payload:
    wanted = str(args.get("email", "")).lower()
    for user in workspace.users.values():
        if wanted and not user.deleted and (user.email or "").lower() == wanted:
            return {"user": user.as_slack(with_email=True)}
    raise Refused("users_not_found")


def _usergroups(workspace: WorkspaceState, args: Payload, scopes: Scopes) -> Payload:
    # The SDK sends 1 or 0 for a boolean.
    given = str(args.get("include_users", "0")).lower()
    if given not in ("0", "1", "false", "true"):
        raise Refused("invalid_arguments")
    listed: list[Payload] = []
    for group, members in workspace.usergroups.items():
        usergroup = {"id": group, "team_id": workspace.team, "is_usergroup": True, "date_delete": 0}
        users = {"users": list(members)} if given in ("1", "true") else {}
        listed.append({**usergroup, **users, "user_count": len(members)})
    return {"usergroups": listed}


def _open_conversation(workspace: WorkspaceState, args: Payload, scopes: Scopes) -> Payload:
    user = workspace.users.get(str(args.get("users", "")))
    if user is None:
        raise Refused("user_not_found")
    if user.deleted:
        raise Refused("user_disabled")
    return {"channel": {"id": workspace.direct_channel(user.id).id}}


def _post_message(workspace: WorkspaceState, args: Payload, scopes: Scopes) -> Payload:
    channel = _writable(workspace, str(args.get("channel", "")))
    message = workspace.post(channel.id, *_content(workspace, args))
    message.thread = str(args["thread_ts"]) if args.get("thread_ts") else None
    return {"channel": channel.id, "ts": message.ts, "message": message.as_slack()}


def _permalink(workspace: WorkspaceState, args: Payload, scopes: Scopes) -> Payload:
    place = (str(args.get("channel", "")), str(args.get("message_ts", "")))
    if place not in [(one.channel, one.ts) for one in workspace.messages]:
        raise Refused("message_not_found")
    link = f"https://example.slack.com/archives/{place[0]}/p{place[1].replace('.', '')}"
    return {"channel": place[0], "permalink": link}


def _update_message(workspace: WorkspaceState, args: Payload, scopes: Scopes) -> Payload:
    channel = workspace.channels.get(str(args.get("channel", "")))
    if channel is None:
        raise Refused("channel_not_found")
    wanted = (None, channel.id, str(args.get("ts", "")))
    found = [one for one in workspace.messages if (one.only_for, one.channel, one.ts) == wanted]
    if not found:
        raise Refused("message_not_found")
    message = found[0]
    # If the call contains no blocks, the message keeps its current blocks.
    message.text, blocks = _content(workspace, {"blocks": message.blocks, **args})
    message.blocks, message.is_edited = with_block_ids(blocks), True
    workspace.changed.notify_all()
    said = message.as_slack()
    return {"channel": channel.id, "ts": message.ts, "text": message.text, "message": said}


METHODS = {
    "apps.connections.open": Method("connections:write", _open_connection, TIER_1, "xapp-"),
    "auth.test": Method("", _auth_test),
    "bots.info": Method("users:read", _bot_info, TIER_3),
    "chat.getPermalink": Method("", _permalink),
    "chat.postMessage": Method("chat:write", _post_message),
    "chat.update": Method("chat:write", _update_message, TIER_3),
    "conversations.open": Method("im:write", _open_conversation, TIER_3),
    "usergroups.list": Method("usergroups:read", _usergroups, TIER_2),
    "users.info": Method("users:read", _user_info, TIER_4),
    "users.lookupByEmail": Method(EMAIL_SCOPE, _lookup_by_email, TIER_3),
    "views.open": Method("", views.open_view, TIER_4),
    "views.publish": Method("", views.publish_view, TIER_4),
    "views.update": Method("", views.update_view, TIER_4),
}


def _retry_after(workspace: WorkspaceState, name: str) -> int:
    """Return for how many seconds a method's rate limit rejects calls. 0 if this call is allowed.

    The limit counts the calls of the last minute by the workspace's clock.
    """
    per_minute = METHODS[name].per_minute if name in METHODS else 0
    if not workspace.limits_rates or not per_minute:
        return 0
    with workspace.changed:
        now = workspace.clock()
        recent = [at for at in workspace.called_at[name] if at > now - MINUTE]
        if len(recent) < per_minute:
            workspace.called_at[name] = [*recent, now]
            return 0
        return math.ceil((recent[0] + MINUTE - now).total_seconds())


def _writable(workspace: WorkspaceState, wanted: str) -> Channel:
    """Return the channel to post to. A user ID means the conversation with that user."""
    if wanted in workspace.users:
        return workspace.direct_channel(wanted)
    channel = workspace.channels.get(wanted)
    if channel is None:
        raise Refused("channel_not_found")
    if workspace.bot.id not in channel.members:
        raise Refused("not_in_channel")
    return channel


def _content(workspace: WorkspaceState, args: Payload) -> tuple[str, list[Payload]]:
    text = str(args.get("text") or "")
    blocks = args.get("blocks") or []
    if not text and not blocks:
        raise Refused("no_text")
    if len(text) > MAX_TEXT:
        raise Refused("msg_too_long")
    if workspace.wrong_with({"text": text, "blocks": blocks}):
        raise Refused("invalid_blocks")
    return text, blocks


def respond(workspace: WorkspaceState, key: str, said: Payload) -> tuple[int, str]:
    """Execute a request to a response URL, and return the status and body of the response."""
    with workspace.changed:
        workspace.note("call response_url", plain(said))
        url = workspace.response_urls.get(key)
        if url is None or workspace.clock() - url.at > RESPONSE_URL_LIFE:
            return HTTPStatus.NOT_FOUND, plain({"ok": False, "error": "expired_url"})
        if url.uses >= RESPONSE_URL_USES:
            return HTTPStatus.NOT_FOUND, plain({"ok": False, "error": "used_url"})
        url.uses += 1
        if show(workspace, url, said):
            return HTTPStatus.BAD_REQUEST, "invalid_blocks"
        return HTTPStatus.OK, "ok"


def show(workspace: WorkspaceState, url: ResponseUrl, said: Payload) -> list[str]:
    """Show the app's answer to an interaction, and return the problems in the answer."""
    text, blocks = str(said.get("text") or ""), said.get("blocks") or []
    if wrong := workspace.wrong_with({"text": text, "blocks": blocks}):
        return wrong
    only_for = None if said.get("response_type") == "in_channel" else url.user
    workspace.post(url.channel, text, blocks, only_for=only_for)
    return []
