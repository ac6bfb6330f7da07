# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The objects of a Slack workspace, as the Web API represents them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

Payload = dict[str, Any]
Block = dict[str, Any]


class Refused(Exception):
    """A Web API error: `ok: false` with this code, and further fields of the response."""

    def __init__(self, code: str, **more: Any) -> None:
        super().__init__(code)
        self.code = code
        self.more = more


class CannotDo(Exception):
    """Slack's client does not offer this action to the person."""


@dataclass
class User:
    """An account; the flags are Slack's own."""

    id: str
    name: str
    real_name: str
    team: str
    email: str | None = None
    is_email_confirmed: bool = True
    deleted: bool = False
    is_bot: bool = False
    is_restricted: bool = False
    is_ultra_restricted: bool = False
    is_stranger: bool = False
    enterprise: str | None = None

    def as_slack(self, *, with_email: bool) -> Payload:
        """Return the user object; the address needs a scope of its own."""
        profile = {"real_name": self.real_name, "display_name": self.name, "team": self.team}
        if with_email and self.email:
            profile["email"] = self.email
        flags = ("deleted", "is_bot", "is_restricted", "is_ultra_restricted", "is_stranger")
        user = {
            "id": self.id,
            "team_id": self.team,
            "name": self.name,
            "real_name": self.real_name,
            **{name: getattr(self, name) for name in flags},
            "is_app_user": False,
            "is_email_confirmed": self.is_email_confirmed,
            "tz": "Etc/UTC",
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


class Edition(NamedTuple):
    """One version of a message."""

    text: str
    blocks: list[Block]
    at: datetime


@dataclass
class Message:
    """A message with all its versions; `only_for` is the only reader of an ephemeral one."""

    channel: str
    ts: str
    author: str
    app: str
    editions: list[Edition]
    only_for: str | None = None

    @property
    def text(self) -> str:
        """The current text."""
        return self.editions[-1].text

    @property
    def blocks(self) -> list[Block]:
        """The current blocks."""
        return self.editions[-1].blocks

    def as_slack(self) -> Payload:
        """Return the message object of responses and interaction payloads."""
        message: Payload = {
            "type": "message",
            "user": self.author,
            "app_id": self.app,
            "ts": self.ts,
            "text": self.text,
            "blocks": self.blocks,
        }
        if len(self.editions) > 1:
            message["edited"] = {"user": self.author, "ts": self.ts}
        return message


@dataclass
class View:
    """A modal or a Home tab.

    :param content: what the app sent
    :param hash: changes with the content
    :param values: the inputs' state, by block and action
    :param shown: every content so far, the latest last
    :param errors: the app's errors about the last submission, by block
    :param trouble: True if Slack shows that the submission failed
    """

    id: str
    user: str
    content: Payload
    hash: str
    values: dict[str, dict[str, Payload]] = field(default_factory=dict)
    shown: list[Payload] = field(default_factory=list)
    errors: Mapping[str, str] = field(default_factory=dict)
    trouble: bool = False

    @property
    def blocks(self) -> list[Block]:
        """The current blocks."""
        blocks: list[Block] = self.content["blocks"]
        return blocks

    @property
    def callback_id(self) -> str:
        """The app's name for this kind of view."""
        return str(self.content.get("callback_id", ""))


@dataclass
class Token:
    """A token of the app; `kind` is `bot` or `app`."""

    value: str = field(repr=False)
    kind: str
    scopes: frozenset[str]


@dataclass
class Trigger:
    """The permission to open one modal shortly after an interaction."""

    id: str
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
    """One call of the Web API with its response."""

    method: str
    args: Payload
    answer: Payload
    at: datetime


class Ack(NamedTuple):
    """The app's response to a delivery.

    :param body: a text comes under `text`
    :param error: `operation_timeout` or `dispatch_failed`, which Slack shows to the person
    """

    kind: str
    status: int
    body: Payload
    error: str
    seconds: float

    @property
    def ok(self) -> bool:
        """True if the app acknowledged in time."""
        return not self.error


class Line(NamedTuple):
    """A line of the transcript; `what` is such as `call chat.postMessage` or `ack interactive`."""

    what: str
    text: str
