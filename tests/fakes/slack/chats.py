# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The Web API's methods for messages."""

from __future__ import annotations

from ansible_collections.postroom.email.tests.fakes.slack.records import (
    Channel,
    Message,
    Payload,
    Refused,
    Token,
)
from ansible_collections.postroom.email.tests.fakes.slack.world import World

TEXT_LIMIT = 40_000


def post_message(world: World, args: Payload, token: Token) -> Payload:
    """Post to a channel, or to somebody's direct messages where a user id is given."""
    channel = _writable(world, args)
    message = world.post(channel.id, world.edition(*_content(world, args)))
    return {"channel": channel.id, "ts": message.ts, "message": message.as_slack()}


def post_ephemeral(world: World, args: Payload, token: Token) -> Payload:
    """Show something to one member of a channel."""
    channel = _writable(world, args)
    user = str(args.get("user", ""))
    if user not in channel.members:
        raise Refused("user_not_in_channel")
    message = world.post(channel.id, world.edition(*_content(world, args)), only_for=user)
    return {"message_ts": message.ts}


def update(world: World, args: Payload, token: Token) -> Payload:
    """Make a message of the app say something else."""
    channel = world.channels.get(str(args.get("channel", "")))
    if channel is None:
        raise Refused("channel_not_found")
    message = _message(world, channel.id, str(args.get("ts", "")))
    if message.author != world.bot.id:
        raise Refused("cant_update_message")
    # Without a word about blocks, those that are there stay.
    text, blocks = _content(world, {"blocks": message.blocks, **args})
    message.editions.append(world.edition(text, blocks))
    world.changed.notify_all()
    said = message.as_slack()
    return {"channel": channel.id, "ts": message.ts, "text": message.text, "message": said}


def open_conversation(world: World, args: Payload, token: Token) -> Payload:
    """Return the conversation of the app with one person."""
    user = world.users.get(str(args.get("users", "")))
    if user is None:
        raise Refused("user_not_found")
    if user.deleted:
        raise Refused("user_disabled")
    if user.is_bot:
        raise Refused("cannot_dm_bot")
    return {"channel": {"id": world.direct_channel(user.id).id}}


def _writable(world: World, args: Payload) -> Channel:
    """Return the channel that is meant, if the app may write there."""
    wanted = str(args.get("channel", ""))
    if wanted in world.users:
        return world.direct_channel(wanted)
    channel = world.channels.get(wanted)
    if channel is None:
        raise Refused("channel_not_found")
    if channel.is_archived:
        raise Refused("is_archived")
    if world.bot.id not in channel.members:
        raise Refused("not_in_channel")
    return channel


def _message(world: World, channel: str, ts: str) -> Message:
    """Return the message of a channel that others can see, too."""
    for message in world.messages:
        is_there = not message.deleted and message.only_for is None
        if is_there and (message.channel, message.ts) == (channel, ts):
            return message
    raise Refused("message_not_found")


def _content(world: World, args: Payload) -> tuple[str, list[Payload]]:
    """Return text and blocks, checked."""
    text = str(args.get("text") or "")
    blocks = args.get("blocks") or []
    if not text and not blocks:
        raise Refused("no_text")
    if len(text) > TEXT_LIMIT:
        raise Refused("msg_too_long")
    if not isinstance(blocks, list):
        raise Refused("invalid_blocks_format")
    if wrong := world.wrong_with({"text": text, "blocks": blocks}):
        raise Refused("invalid_blocks", response_metadata={"messages": wrong})
    return text, blocks
