# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The Web API's methods and response URLs: permissions, arguments and responses."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from http import HTTPStatus
from typing import NamedTuple

from . import views
from .records import Call, Channel, Message, Payload, Refused, ResponseUrl, Token
from .world import World, plain

EMAIL_SCOPE = "users:read.email"
MAX_TEXT = 40_000
RESPONSE_URL_LIFE = timedelta(minutes=30)
RESPONSE_URL_USES = 5


class Method(NamedTuple):
    """A method, with the scope and the kind of token that it needs."""

    scope: str
    work: Callable[[World, Payload, Token], Payload]
    kind: str = "bot"


def call(world: World, name: str, token_value: str, args: Payload) -> Payload:
    """Carry out one call, record it and return the response."""
    with world.changed:
        world.note(f"call {name}", plain(args))
        try:
            answer = {"ok": True, **_carry_out(world, name, token_value, args)}
        except Refused as refusal:
            answer = {"ok": False, "error": refusal.code, **refusal.more}
        text = plain(answer)
        world.note(f"answer {name}", text)
        # A copy: the view or message in it may change later.
        frozen: Payload = json.loads(text)
        world.calls.append(Call(name, args, frozen, world.clock()))
        world.changed.notify_all()
        return frozen


def _carry_out(world: World, name: str, token_value: str, args: Payload) -> Payload:
    if not token_value:
        raise Refused("not_authed")
    token = world.tokens.get(token_value)
    if token is None:
        raise Refused("invalid_auth")
    method = METHODS.get(name)
    if method is None:
        raise Refused("unknown_method", req_method=name)
    if token.kind != method.kind:
        raise Refused("not_allowed_token_type")
    if method.scope and method.scope not in token.scopes:
        provided = ",".join(sorted(token.scopes))
        raise Refused("missing_scope", needed=method.scope, provided=provided)
    return method.work(world, args, token)


def unpacked(args: Payload) -> Payload:
    """Return the arguments with JSON in a form's fields parsed."""
    read = dict(args)
    for name in ("blocks", "view"):
        if isinstance(read.get(name), str):
            try:
                read[name] = json.loads(read[name])
            except ValueError:
                # The method itself refuses it.
                continue
    return read


def _open_connection(world: World, args: Payload, token: Token) -> Payload:
    ticket = world.fresh_id("ticket-")
    world.tickets.add(ticket)
    return {"url": f"{world.socket_address}/link/?ticket={ticket}&app_id={world.app}"}


def _auth_test(world: World, args: Payload, token: Token) -> Payload:
    answer = {
        "url": f"https://{world.domain}.slack.com/",
        "team": world.domain,
        "team_id": world.team,
        "user": world.bot.name,
        "user_id": world.bot.id,
        "bot_id": world.bot_id,
        "is_enterprise_install": False,
    }
    if world.enterprise:
        answer["enterprise_id"] = world.enterprise
    return answer


def _bot_info(world: World, args: Payload, token: Token) -> Payload:
    if args.get("bot") != world.bot_id:
        raise Refused("bot_not_found")
    bot = {"id": world.bot_id, "app_id": world.app, "user_id": world.bot.id, "deleted": False}
    return {"bot": {**bot, "name": world.bot.name}}


def _user_info(world: World, args: Payload, token: Token) -> Payload:
    user = world.users.get(str(args.get("user", "")))
    if user is None:
        raise Refused("user_not_found")
    return {"user": user.as_slack(with_email=EMAIL_SCOPE in token.scopes)}


def _lookup_by_email(world: World, args: Payload, token: Token) -> Payload:
    wanted = str(args.get("email", "")).lower()
    for user in world.users.values():
        if wanted and not user.deleted and (user.email or "").lower() == wanted:
            return {"user": user.as_slack(with_email=True)}
    raise Refused("users_not_found")


def _usergroup_members(world: World, args: Payload, token: Token) -> Payload:
    members = world.usergroups.get(str(args.get("usergroup", "")))
    if members is None:
        raise Refused("no_such_subteam")
    return {"users": list(members)}


def _open_conversation(world: World, args: Payload, token: Token) -> Payload:
    user = world.users.get(str(args.get("users", "")))
    if user is None:
        raise Refused("user_not_found")
    if user.deleted:
        raise Refused("user_disabled")
    if user.is_bot:
        raise Refused("cannot_dm_bot")
    return {"channel": {"id": world.direct_channel(user.id).id}}


def _post_message(world: World, args: Payload, token: Token) -> Payload:
    channel = _writable(world, str(args.get("channel", "")))
    message = world.post(channel.id, world.edition(*_content(world, args)))
    return {"channel": channel.id, "ts": message.ts, "message": message.as_slack()}


def _update_message(world: World, args: Payload, token: Token) -> Payload:
    channel = world.channels.get(str(args.get("channel", "")))
    if channel is None:
        raise Refused("channel_not_found")
    message = _message(world, channel.id, str(args.get("ts", "")))
    # The current blocks stay if the call does not mention blocks.
    message.editions.append(world.edition(*_content(world, {"blocks": message.blocks, **args})))
    world.changed.notify_all()
    said = message.as_slack()
    return {"channel": channel.id, "ts": message.ts, "text": message.text, "message": said}


METHODS = {
    "apps.connections.open": Method("connections:write", _open_connection, "app"),
    "auth.test": Method("", _auth_test),
    "bots.info": Method("users:read", _bot_info),
    "chat.postMessage": Method("chat:write", _post_message),
    "chat.update": Method("chat:write", _update_message),
    "conversations.open": Method("im:write", _open_conversation),
    "usergroups.users.list": Method("usergroups:read", _usergroup_members),
    "users.info": Method("users:read", _user_info),
    "users.lookupByEmail": Method(EMAIL_SCOPE, _lookup_by_email),
    "views.open": Method("", views.open_view),
    "views.publish": Method("", views.publish_view),
    "views.update": Method("", views.update_view),
}


def _writable(world: World, wanted: str) -> Channel:
    """Return the channel to post to; a user's id stands for the conversation with them."""
    if wanted in world.users:
        return world.direct_channel(wanted)
    channel = world.channels.get(wanted)
    if channel is None:
        raise Refused("channel_not_found")
    if world.bot.id not in channel.members:
        raise Refused("not_in_channel")
    return channel


def _message(world: World, channel: str, ts: str) -> Message:
    for message in world.messages:
        if (message.only_for, message.channel, message.ts) == (None, channel, ts):
            return message
    raise Refused("message_not_found")


def _content(world: World, args: Payload) -> tuple[str, list[Payload]]:
    text = str(args.get("text") or "")
    blocks = args.get("blocks") or []
    if not text and not blocks:
        raise Refused("no_text")
    if len(text) > MAX_TEXT:
        raise Refused("msg_too_long")
    if not isinstance(blocks, list):
        raise Refused("invalid_blocks_format")
    if wrong := world.wrong_with({"text": text, "blocks": blocks}):
        raise Refused("invalid_blocks", response_metadata={"messages": wrong})
    return text, blocks


def respond(world: World, key: str, said: Payload) -> tuple[int, str]:
    """Carry out a request to a response URL; return the status and the body of the response."""
    with world.changed:
        world.note("call response_url", plain(said))
        url = world.response_urls.get(key)
        if url is None or world.clock() - url.at > RESPONSE_URL_LIFE:
            return HTTPStatus.NOT_FOUND, plain({"ok": False, "error": "expired_url"})
        if url.uses >= RESPONSE_URL_USES:
            return HTTPStatus.NOT_FOUND, plain({"ok": False, "error": "used_url"})
        url.uses += 1
        if not said.get("text") and not said.get("blocks"):
            return HTTPStatus.BAD_REQUEST, "no_text"
        if show(world, url, said):
            return HTTPStatus.BAD_REQUEST, "invalid_blocks"
        return HTTPStatus.OK, "ok"


def show(world: World, url: ResponseUrl, said: Payload) -> list[str]:
    """Show the app's answer to an interaction; return what is invalid in it."""
    text, blocks = str(said.get("text") or ""), said.get("blocks") or []
    if wrong := world.wrong_with({"text": text, "blocks": blocks}):
        return wrong
    only_for = None if said.get("response_type") == "in_channel" else url.user
    world.post(url.channel, world.edition(text, blocks), only_for=only_for)
    return []
