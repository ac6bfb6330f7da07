# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The state of a Slack workspace: who and what is in it, and all that has happened."""

from __future__ import annotations

import copy
import itertools
import json
import secrets
import threading
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from ansible_collections.postroom.email.tests.fakes.slack.records import (
    Ack,
    Block,
    Call,
    CannotDo,
    Channel,
    Edition,
    Line,
    Message,
    Refused,
    ResponseUrl,
    Token,
    Trigger,
    User,
    View,
)

Checker = Callable[[Mapping[str, Any]], list[str]]
Clock = Callable[[], datetime]
T = TypeVar("T")

BOT_SCOPES = frozenset(
    {"commands", "chat:write", "im:write", "users:read", "users:read.email", "usergroups:read"}
)
TRIGGER_LIFE = timedelta(seconds=3)
#: Seconds after which what does not happen is a failure, however busy the machine is.
PATIENCE = 60.0
#: How often a waiting thread looks again without being woken.
TICK = 0.02


def now() -> datetime:
    """Return the time; the clock where none is injected."""
    return datetime.now(UTC)


def product_checker(payload: Mapping[str, Any]) -> list[str]:
    """Return what the bot's own check of messages and views says."""
    from postroom_bot.words.check import problems

    return list(problems(payload))


class World:
    """Everything in a workspace with one app.

    All is read and changed while holding ``changed``, which wakes those that wait.
    """

    def __init__(self, *, clock: Clock = now, checker: Checker = product_checker) -> None:
        self.changed = threading.Condition(threading.RLock())
        self.clock = clock
        self.checker = checker
        self.team = "T0000HOME"
        self.domain = "example"
        self.enterprise: str | None = None
        self.app = "A0000POST"
        self.bot_id = "B0000POST"
        self.bot = User("U0000BOT", "postroom", "Postroom", self.team, is_bot=True)
        self.signing_secret = secrets.token_hex(16)
        self.bot_token = f"xoxb-{secrets.token_hex(20)}"
        self.app_token = f"xapp-{secrets.token_hex(20)}"
        self.tokens = {
            self.bot_token: Token(self.bot_token, "bot", BOT_SCOPES),
            self.app_token: Token(self.app_token, "app", frozenset({"connections:write"})),
        }
        self.users: dict[str, User] = {self.bot.id: self.bot}
        self.channels: dict[str, Channel] = {}
        self.usergroups: dict[str, list[str]] = {}
        self.messages: list[Message] = []
        self.modals: dict[str, list[View]] = {}
        #: All modals that there ever were, oldest first.
        self.past_modals: list[View] = []
        self.homes: dict[str, View] = {}
        self.triggers: dict[str, Trigger] = {}
        self.response_urls: dict[str, ResponseUrl] = {}
        #: What Slack itself told a person: operation_timeout, dispatch_failed.
        self.errors: dict[str, list[str]] = {}
        self.calls: list[Call] = []
        self.acks: list[Ack] = []
        #: What was wrong with messages and views, however they came.
        self.problems: list[str] = []
        self.transcript: list[Line] = []
        #: Tickets of Socket Mode connections that have not been made yet.
        self.tickets: set[str] = set()
        #: How long a modal may be opened after what somebody did.
        self.trigger_life = TRIGGER_LIFE
        self.web_address = ""
        self.socket_address = ""
        self._numbers = itertools.count(1)

    def fresh_id(self, letter: str) -> str:
        """Return an id like Slack's, that begins with a letter for the kind."""
        return f"{letter}{next(self._numbers):08d}"

    def fresh_ts(self) -> str:
        """Return a new message's timestamp, which is its id in the channel."""
        return f"{int(self.clock().timestamp())}.{next(self._numbers):06d}"

    def fresh_hash(self) -> str:
        """Return a new hash of a view."""
        return f"{int(self.clock().timestamp())}.{secrets.token_hex(4)}"

    def note(self, what: str, text: str) -> None:
        """Write down what went over the wire."""
        with self.changed:
            self.transcript.append(Line(what, text))
            self.changed.notify_all()

    def trigger(self, user: str, *, in_modal: bool = False) -> str:
        """Return a new right to open a modal."""
        with self.changed:
            trigger = f"{next(self._numbers)}.{self.team}.{secrets.token_hex(8)}"
            self.triggers[trigger] = Trigger(trigger, user, self.clock(), in_modal)
            return trigger

    def exchange(self, trigger_id: str) -> Trigger:
        """Use up a trigger and return it."""
        trigger = self.triggers.get(trigger_id)
        if trigger is None:
            raise Refused("invalid_trigger_id")
        if trigger.is_used:
            raise Refused("exchanged_trigger_id")
        if self.clock() - trigger.at > self.trigger_life:
            raise Refused("expired_trigger_id")
        trigger.is_used = True
        return trigger

    def new_response_url(self, user: str, channel: str, message: Message | None = None) -> str:
        """Return a new response URL."""
        with self.changed:
            key = secrets.token_hex(16)
            self.response_urls[key] = ResponseUrl(user, channel, self.clock(), message)
            return f"{self.web_address}/response/{key}"

    def new_socket_url(self) -> str:
        """Return the address of a Socket Mode connection, good for one."""
        ticket = secrets.token_hex(8)
        self.tickets.add(ticket)
        return f"{self.socket_address}/link/?ticket={ticket}&app_id={self.app}"

    def direct_channel(self, user: str) -> Channel:
        """Return the conversation of the bot with somebody, made when first wanted."""
        for channel in self.channels.values():
            if channel.user == user:
                return channel
        channel = Channel(self.fresh_id("D"), "directmessage", {user, self.bot.id}, user=user)
        self.channels[channel.id] = channel
        return channel

    def wrong_with(self, content: Mapping[str, Any]) -> list[str]:
        """Return what is wrong with a message or a view, and remember it."""
        found = self.checker(content)
        self.problems.extend(found)
        return found

    def complain(self, problem: str) -> None:
        """Remember that something was wrong."""
        with self.changed:
            self.problems.append(problem)
            self.changed.notify_all()

    def edition(self, text: str, blocks: list[Block]) -> Edition:
        """Return what a message is to say from now on."""
        return Edition(text, self.with_block_ids(blocks), self.clock())

    def post(self, channel: str, edition: Edition, *, only_for: str | None = None) -> Message:
        """Add a message of the app."""
        message = Message(
            channel, self.fresh_ts(), self.bot.id, self.app, [edition], only_for=only_for
        )
        self.messages.append(message)
        self.changed.notify_all()
        return message

    def with_block_ids(self, blocks: list[Block]) -> list[Block]:
        """Return a copy in which every block has an id, as Slack gives one to those without."""
        copied = copy.deepcopy(blocks)
        for block in copied:
            block.setdefault("block_id", secrets.token_urlsafe(4)[:5])
        return copied

    def stack(self, user: str) -> list[View]:
        """Return somebody's open modals, the topmost last."""
        return self.modals.setdefault(user, [])

    def find_view(self, view_id: str) -> View | None:
        """Return an open modal or a home."""
        views = itertools.chain(*self.modals.values(), self.homes.values())
        return next((view for view in views if view.id == view_id), None)

    def wait_for(self, predicate: Callable[[], T], timeout: float = PATIENCE) -> T:
        """Wait until something is truthy and return it.

        :param predicate: CannotDo from it means not yet; nobody waits for it, whatever it asks
        :raises AssertionError: it was not in time; tells what happened last
        """
        deadline = time.monotonic() + timeout
        while not (found := _unless_too_early(predicate)):
            if time.monotonic() > deadline:
                raise AssertionError(f"waited {timeout:g} s in vain; last:\n{self._last()}")
            with self.changed:
                self.changed.wait(TICK)
        return found

    def _last(self, lines: int = 20) -> str:
        """Return the end of the transcript, cut to what fits a screen."""
        with self.changed:
            last = self.transcript[-lines:]
        return "\n".join(f"{line.what}: {line.text[:300]}" for line in last)


def _unless_too_early(predicate: Callable[[], T]) -> T | None:
    """Return what is asked for, or None while people cannot see it."""
    try:
        return predicate()
    except CannotDo:
        return None


def plain(data: Any) -> str:
    """Return data as one line of JSON."""
    return json.dumps(data, ensure_ascii=False, sort_keys=True)
