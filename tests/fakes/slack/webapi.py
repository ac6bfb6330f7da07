# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The Web API: who may call which method, and what is answered."""

from __future__ import annotations

import json
from collections.abc import Callable
from types import MappingProxyType
from typing import NamedTuple

from ansible_collections.postroom.email.tests.fakes.slack import chats, people, views
from ansible_collections.postroom.email.tests.fakes.slack.records import (
    Call,
    Payload,
    Refused,
    Token,
)
from ansible_collections.postroom.email.tests.fakes.slack.world import World, plain


class Method(NamedTuple):
    """A method of the Web API.

    :param scope: what the token has to be allowed; "" for nothing
    """

    scope: str
    work: Callable[[World, Payload, Token], Payload]
    kind: str = "bot"


def open_connection(world: World, args: Payload, token: Token) -> Payload:
    """Give the address of a Socket Mode connection, good for one."""
    return {"url": world.new_socket_url()}


METHODS = MappingProxyType(
    {
        "apps.connections.open": Method("connections:write", open_connection, "app"),
        "auth.test": Method("", people.auth_test),
        "bots.info": Method("users:read", people.bot_info),
        "chat.postEphemeral": Method("chat:write", chats.post_ephemeral),
        "chat.postMessage": Method("chat:write", chats.post_message),
        "chat.update": Method("chat:write", chats.update),
        "conversations.open": Method("im:write", chats.open_conversation),
        "usergroups.users.list": Method("usergroups:read", people.usergroup_members),
        "users.info": Method("users:read", people.user_info),
        "users.lookupByEmail": Method(people.EMAIL_SCOPE, people.lookup_by_email),
        "views.open": Method("", views.open_view),
        "views.publish": Method("", views.publish_view),
        "views.push": Method("", views.push_view),
        "views.update": Method("", views.update_view),
    }
)
#: Arguments that are JSON, also where the rest is a form.
JSON_ARGUMENTS = ("blocks", "view")


def call(world: World, name: str, token_value: str, args: Payload) -> Payload:
    """Carry out one call, write it down and return the answer."""
    with world.changed:
        token = world.tokens.get(token_value)
        kind = token.kind if token else "unknown" if token_value else "none"
        world.note(f"call {name}", plain(args))
        try:
            answer = {"ok": True, **_carry_out(world, name, _known(world, token_value), args)}
        except Refused as refusal:
            answer = {"ok": False, "error": refusal.code, **refusal.more}
        world.note(f"answer {name}", plain(answer))
        # What was answered must not change with the view or message that it tells of.
        frozen: Payload = json.loads(plain(answer))
        world.calls.append(Call(name, args, kind, frozen, world.clock()))
        world.changed.notify_all()
        return frozen


def unpacked(args: Payload) -> Payload:
    """Return a form's arguments with those read that are JSON."""
    read = dict(args)
    for name in JSON_ARGUMENTS:
        if isinstance(read.get(name), str):
            try:
                read[name] = json.loads(read[name])
            except ValueError:
                # The method says itself what it wants in this place.
                continue
    return read


def _carry_out(world: World, name: str, token: Token, args: Payload) -> Payload:
    """Call a method with a token that is known."""
    method = METHODS.get(name)
    if method is None:
        raise Refused("unknown_method", req_method=name)
    if token.kind != method.kind:
        raise Refused("not_allowed_token_type")
    if method.scope and method.scope not in token.scopes:
        provided = ",".join(sorted(token.scopes))
        raise Refused("missing_scope", needed=method.scope, provided=provided)
    return method.work(world, args, token)


def _known(world: World, value: str) -> Token:
    """Return the token that was shown."""
    if not value:
        raise Refused("not_authed")
    token = world.tokens.get(value)
    if token is None:
        raise Refused("invalid_auth")
    if token.is_revoked:
        raise Refused("token_revoked")
    return token
