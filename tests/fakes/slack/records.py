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
#: The scopes of a token.
Scopes = frozenset[str]


class Refused(Exception):
    """A Web API error: `ok: false` with this code."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


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
    enterprise: str | None = None

    def as_slack(self, *, with_email: bool) -> Payload:
        """Return the user object; the address needs a scope of its own."""
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
    """A message; `only_for` is the only reader of an ephemeral one."""

    channel: str
    ts: str
    author: str
    app: str
    text: str
    blocks: list[Block]
    only_for: str | None = None
    is_edited: bool = False

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
        if self.is_edited:
            message["edited"] = {"user": self.author, "ts": self.ts}
        return message


@dataclass
class View:
    """A modal or a Home tab.

    :param content: what the app sent
    :param hash: changes with the content
    :param values: the inputs' state, by block and action
    :param errors: the app's errors about the last submission, by block
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
        """The app's name for this kind of view."""
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
    """One call of the Web API with its response."""

    method: str
    args: Payload
    answer: Payload


class Ack(NamedTuple):
    """The app's response to a delivery.

    :param body: a text comes under `text`
    :param error: `operation_timeout` or `dispatch_failed`, which Slack shows to the person
    """

    status: int
    body: Payload
    error: str

    @property
    def ok(self) -> bool:
        """True if the app acknowledged in time."""
        return not self.error


class Line(NamedTuple):
    """A line of the transcript; `what` is such as `call chat.postMessage` or `ack interactive`."""

    what: str
    text: str
