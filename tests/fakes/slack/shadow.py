# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A second opinion: each call of the bot is made at an independent emulator, too.

    with Workspace() as slack, emulating(place, slack.world, folder) as emulator:
        slack.ask_too(Shadow(slack.world, emulator).follow)

The stand-in answers; where the emulator would have answered something else, that is a problem of
the workspace. Ids differ on both sides, so each is translated.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from types import MappingProxyType

from ansible_collections.postroom.email.tests.fakes.slack.emulate import ADMIN_TOKEN, Emulator
from ansible_collections.postroom.email.tests.fakes.slack.records import Payload
from ansible_collections.postroom.email.tests.fakes.slack.world import World

METHODS = frozenset(
    {
        "auth.test",
        "bots.info",
        "chat.postEphemeral",
        "chat.postMessage",
        "chat.update",
        "conversations.open",
        "users.info",
        "views.open",
        "views.publish",
        "views.push",
        "views.update",
    }
)
#: Refusals for reasons that the emulator does not know: it looks into no blocks, has its own
#: clock, and nobody can close a modal or leave there.
UNKNOWN = frozenset(
    {
        "cannot_dm_bot",
        "expired_trigger_id",
        "invalid_arguments",
        "invalid_blocks",
        "is_archived",
        "not_found",
        "user_disabled",
    }
)
#: In which arguments there are ids.
IDS = ("channel", "ts", "user", "users", "user_id", "view_id", "hash", "trigger_id")


class Shadow:
    """Follows the stand-in's calls at the emulator."""

    def __init__(self, world: World, emulator: Emulator) -> None:
        self._world = world
        self._emulator = emulator
        self._lock = threading.Lock()
        self._ids: dict[str, str] = {world.bot.id: world.bot.id}
        self._spare = emulator.spare_people()
        self._finders: Mapping[str, Callable[[str, Payload], str]] = MappingProxyType(
            {
                "channel": self._channel,
                "trigger_id": self._trigger,
                "user": self._person,
                "user_id": self._person,
                "users": self._person,
            }
        )

    def follow(self, method: str, args: Payload, answer: Payload) -> str:
        """Make a call that has been answered; return what the emulator says to the contrary."""
        if method not in METHODS or answer.get("error") in UNKNOWN:
            return ""
        with self._lock:
            other = self._emulator.call(
                method, self._world.bot_token, self._translated(args, answer)
            )
            self._learn(answer, other)
        said, contrary = answer.get("error", "ok"), other.get("error", "ok")
        return "" if said == contrary else f"{method}: {said} here, {contrary} at the emulator"

    def _translated(self, args: Payload, answer: Payload) -> Payload:
        """Return the arguments with the ids that are valid there."""
        translated = dict(args)
        for name in IDS:
            if args.get(name):
                translated[name] = self._id(name, str(args[name]), answer)
        return translated

    def _id(self, name: str, own: str, answer: Payload) -> str:
        """Return what an id is there; what is unknown on both sides stays."""
        if own not in self._ids and name in self._finders:
            self._ids[own] = self._finders[name](own, answer)
        return self._ids.get(own, own)

    def _learn(self, answer: Payload, other: Payload) -> None:
        """Remember which new ids are the same thing."""
        for name in ("ts", "message_ts"):
            if name in answer and name in other:
                self._ids[answer[name]] = other[name]
        for name in ("channel", "view"):
            own, theirs = answer.get(name), other.get(name)
            if isinstance(own, dict) and isinstance(theirs, dict):
                self._ids[own["id"]] = theirs["id"]
                if "hash" in own:
                    self._ids[own["hash"]] = theirs["hash"]

    def _person(self, own: str, answer: Payload) -> str:
        """Let somebody who is nobody yet be this person."""
        return self._spare.pop() if own in self._world.users else own

    def _channel(self, own: str, answer: Payload) -> str:
        """Make a channel like ours, or begin a conversation."""
        if own in self._world.users:
            return self._id("user", own, answer)
        channel = self._world.channels.get(own)
        if channel is None:
            return own
        if channel.user is not None:
            return self._converse(self._id("user", channel.user, answer))
        # A private one: in others, the emulator lets those write who are not members.
        wanted = {"name": f"copy-{own.lower()}", "is_private": True}
        made = self._admin("conversations.create", wanted)["channel"]["id"]
        members = [self._id("user", member, answer) for member in sorted(channel.members)]
        if members:
            self._admin("conversations.invite", {"channel": made, "users": ",".join(members)})
        return str(made)

    def _converse(self, person: str) -> str:
        """Return the bot's conversation with somebody."""
        return str(self._bot("conversations.open", {"users": person})["channel"]["id"])

    def _trigger(self, own: str, answer: Payload) -> str:
        """Get a trigger of the same person, on top of the modal that is in front for them."""
        trigger = self._world.triggers.get(own)
        if trigger is None:
            return own
        wanted = {"user_id": self._id("user", trigger.user, answer)}
        below = answer.get("view", {}).get("previous_view_id")
        if below in self._ids:
            wanted["view_id"] = self._ids[below]
        return str(self._bot("views.generateTriggerId", wanted)["trigger_id"])

    def _admin(self, method: str, args: Payload) -> Payload:
        return self._sure(method, ADMIN_TOKEN, args)

    def _bot(self, method: str, args: Payload) -> Payload:
        return self._sure(method, self._world.bot_token, args)

    def _sure(self, method: str, token: str, args: Payload) -> Payload:
        """Make a call that has to succeed."""
        answer = self._emulator.call(method, token, args)
        if not answer.get("ok"):
            raise RuntimeError(f"the emulator refuses {method}: {answer}")
        return answer
