# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The state of a workspace with one app, and the transcript of its traffic."""

from __future__ import annotations

import copy
import itertools
import json
import secrets
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple, TypeVar

Payload = dict[str, Any]
Block = dict[str, Any]
#: The scopes of a token.
Scopes = frozenset[str]


class Refused(Exception):
    """Raised to answer a Web API call with `ok: false` and an error code."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


class CannotDo(Exception):
    """Raised if Slack's client would not offer this action to the user."""


@dataclass
class User:
    """A Slack account. The flags are Slack's own."""

    id: str
    name: str
    real_name: str
    team: str
    email: str | None = None
    is_email_confirmed: bool = True
    deleted: bool = False
    is_bot: bool = False
    is_restricted: bool = False
    enterprise: str | None = None

    def as_slack(self, *, with_email: bool) -> Payload:
        """Return the user object. Including the email address requires a separate scope."""
        profile = {"real_name": self.real_name, "display_name": self.name, "team": self.team}
        if with_email and self.email:
            profile["email"] = self.email
        flags = ("deleted", "is_bot", "is_restricted", "is_email_confirmed")
        user = {
            "id": self.id,
            "team_id": self.team,
            "name": self.name,
            "real_name": self.real_name,
            **{name: getattr(self, name) for name in flags},
            "profile": profile,
        }
        if self.enterprise:
            user["enterprise_user"] = {"enterprise_id": self.enterprise}
        return user


@dataclass
class Channel:
    """A channel, or the bot's direct conversation with `user`."""

    id: str
    name: str
    members: set[str] = field(default_factory=set)
    user: str | None = None


@dataclass
class Message:
    """A message.

    :param only_for: the only person who sees an ephemeral message
    :param thread: the timestamp of the message to which this message replies
    """

    channel: str
    ts: str
    author: str
    app: str
    text: str
    blocks: list[Block]
    only_for: str | None = None
    is_edited: bool = False
    thread: str | None = None

    def as_slack(self) -> Payload:
        """Return the message object for responses and interaction payloads."""
        message: Payload = {
            "type": "message",
            "user": self.author,
            "app_id": self.app,
            "ts": self.ts,
            "text": self.text,
            "blocks": self.blocks,
        }
        if self.thread:
            message["thread_ts"] = self.thread
        if self.is_edited:
            message["edited"] = {"user": self.author, "ts": self.ts}
        return message


@dataclass
class View:
    """A modal or a Home tab.

    :param content: the content that the app sent
    :param hash: a hash that changes with the content
    :param values: the state of the inputs, keyed by block and action
    :param errors: the app's errors for the last submission, keyed by block
    """

    id: str
    user: str
    content: Payload
    hash: str
    values: dict[str, dict[str, Payload]] = field(default_factory=dict)
    errors: Mapping[str, str] = field(default_factory=dict)

    @property
    def blocks(self) -> list[Block]:
        """The current blocks."""
        blocks: list[Block] = self.content["blocks"]
        return blocks

    @property
    def callback_id(self) -> str:
        """The app's name for views of this kind."""
        return str(self.content.get("callback_id", ""))


@dataclass
class Trigger:
    """The permission to open one modal shortly after an interaction."""

    user: str
    at: datetime
    in_modal: bool = False
    is_used: bool = False


@dataclass
class ResponseUrl:
    """The permission to answer an interaction."""

    user: str
    channel: str
    at: datetime
    uses: int = 0


class Call(NamedTuple):
    """A Web API call and its response."""

    method: str
    args: Payload
    answer: Payload


class Ack(NamedTuple):
    """The app's response to a delivery.

    :param body: the JSON body, or a text under the key `text`
    :param error: `operation_timeout` or `dispatch_failed`, which Slack shows to the person
    """

    status: int
    body: Payload
    error: str

    @property
    def ok(self) -> bool:
        """Whether the app acknowledged in time."""
        return not self.error


class Line(NamedTuple):
    """A line of the transcript. `what` is, for example, `call chat.postMessage`."""

    what: str
    text: str


Clock = Callable[[], datetime]
T = TypeVar("T")

BOT_SCOPES = frozenset(
    {"commands", "chat:write", "im:write", "users:read", "users:read.email", "usergroups:read"}
)
#: The maximum time in seconds that tests wait for anything.
PATIENCE = 60.0
#: The seconds between evaluations of a predicate, which may depend on more than this workspace.
TICK = 0.02


def now() -> datetime:
    """Return the current time."""
    return datetime.now(UTC)


class WorkspaceState:
    """The state of a workspace. Hold `changed` while reading or writing it."""

    def __init__(self, clock: Clock = now) -> None:
        self.changed = threading.Condition(threading.RLock())
        self.clock = clock
        self.team = "T0000HOME"
        self.domain = "example"
        self.app = "A0000POST"
        self.bot_id = "B0000POST"
        self.bot = User("U0000BOT", "postroom", "Postroom", self.team, is_bot=True)
        self.signing_secret = secrets.token_hex(16)
        self.bot_token = f"xoxb-{secrets.token_hex(20)}"
        self.app_token = f"xapp-{secrets.token_hex(20)}"
        app_scopes = frozenset({"connections:write"})
        self.tokens = {self.bot_token: BOT_SCOPES, self.app_token: app_scopes}
        self.users: dict[str, User] = {self.bot.id: self.bot}
        self.channels: dict[str, Channel] = {}
        self.usergroups: dict[str, list[str]] = {}
        self.messages: list[Message] = []
        #: The open modal of each user. The bot never pushes a second modal onto it.
        self.modals: dict[str, View] = {}
        self.homes: dict[str, View] = {}
        self.triggers: dict[str, Trigger] = {}
        self.response_urls: dict[str, ResponseUrl] = {}
        self.calls: list[Call] = []
        self.acks: list[Ack] = []
        #: Everything that Slack would reject in messages, views and answers.
        self.problems: list[str] = []
        self.transcript: list[Line] = []
        #: Tickets of Socket Mode connections that the app has not opened yet.
        self.tickets: set[str] = set()
        self.trigger_life = timedelta(seconds=3)
        #: Whether calls above the rate limits are rejected, and the times of recent calls.
        self.limits_rates = False
        self.called_at: defaultdict[str, list[datetime]] = defaultdict(list)
        self.web_address = ""
        self.socket_address = ""
        self._numbers = itertools.count(1)

    def fresh_id(self, letter: str) -> str:
        """Return a new ID, which begins with the letter for its type."""
        return f"{letter}{next(self._numbers):08d}"

    def fresh_ts(self) -> str:
        """Return a new timestamp, which identifies a message within its channel."""
        return f"{int(self.clock().timestamp())}.{next(self._numbers):06d}"

    def note(self, what: str, text: str) -> None:
        """Add a line to the transcript."""
        with self.changed:
            self.transcript.append(Line(what, text))
            self.changed.notify_all()

    def trigger(self, user: str, *, in_modal: bool = False) -> str:
        """Return a new trigger ID."""
        with self.changed:
            trigger = f"{next(self._numbers)}.{self.team}.{secrets.token_hex(8)}"
            self.triggers[trigger] = Trigger(user, self.clock(), in_modal)
            return trigger

    def exchange(self, trigger_id: str) -> Trigger:
        """Return a trigger and mark it as used."""
        trigger = self.triggers.get(trigger_id)
        if trigger is None:
            raise Refused("invalid_trigger_id")
        if trigger.is_used:
            raise Refused("exchanged_trigger_id")
        if self.clock() - trigger.at > self.trigger_life:
            raise Refused("expired_trigger_id")
        trigger.is_used = True
        return trigger

    def new_response_url(self, user: str, channel: str) -> str:
        """Return a new response URL."""
        with self.changed:
            key = secrets.token_hex(16)
            self.response_urls[key] = ResponseUrl(user, channel, self.clock())
            return f"{self.web_address}/response/{key}"

    def direct_channel(self, user: str) -> Channel:
        """Return the bot's conversation with a user."""
        for channel in self.channels.values():
            if channel.user == user:
                return channel
        channel = Channel(self.fresh_id("D"), "directmessage", {user, self.bot.id}, user=user)
        self.channels[channel.id] = channel
        return channel

    def wrong_with(self, content: Mapping[str, Any]) -> list[str]:
        """Return the problems in a message or a view, and add them to `problems`.

        Slack's own block models in slack_sdk check most limits. block_validation checks the rest.
        """
        from ansible_collections.postroom.email.tests.fakes.slack.block_validation import problems

        found = list(problems(content))
        self.problems.extend(found)
        return found

    def post(
        self, channel: str, text: str, blocks: list[Block], *, only_for: str | None = None
    ) -> Message:
        """Add a message from the app."""
        about = (channel, self.fresh_ts(), self.bot.id, self.app)
        message = Message(*about, text, with_block_ids(blocks), only_for)
        self.messages.append(message)
        self.changed.notify_all()
        return message

    def wait_for(self, predicate: Callable[[], T], timeout: float = PATIENCE) -> T:
        """Wait until a predicate is truthy and does not raise CannotDo, and return its value.

        :raises AssertionError: if the wait times out; the message shows the end of the transcript
        """
        deadline = time.monotonic() + timeout
        while not (found := _value_of(predicate)):
            if time.monotonic() > deadline:
                last = "\n".join(
                    f"{line.what}: {line.text[:300]}" for line in self.transcript[-20:]
                )
                raise AssertionError(f"timed out after {timeout:g} s; last:\n{last}")
            with self.changed:
                self.changed.wait(TICK)
        return found


def with_block_ids(blocks: list[Block]) -> list[Block]:
    """Return a copy of blocks in which every block has an ID, as in Slack."""
    copied = copy.deepcopy(blocks)
    for block in copied:
        block.setdefault("block_id", secrets.token_urlsafe(4)[:5])
    return copied


def plain(data: Any) -> str:
    """Return data as one line of JSON."""
    return json.dumps(data, ensure_ascii=False, sort_keys=True)


def _value_of(predicate: Callable[[], T]) -> T | None:
    try:
        return predicate()
    except CannotDo:
        return None
