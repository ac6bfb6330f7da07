# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What there is in a Slack workspace, in the form in which Slack speaks of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

Payload = dict[str, Any]
Block = dict[str, Any]


class Refused(Exception):
    """Slack answers ``ok: false`` with this code.

    :param more: further fields of the answer
    """

    def __init__(self, code: str, **more: Any) -> None:
        super().__init__(code)
        self.code = code
        self.more = more


class CannotDo(Exception):
    """A person cannot do this with what Slack shows; the sentence says why."""


@dataclass
class User:
    """An account; the flags are Slack's own.

    :param team: the workspace that it belongs to
    :param enterprise: the organisation that it belongs to, where there is one
    :param is_stranger: somebody from elsewhere with whom only a channel is shared
    """

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
        """Return it as ``users.info`` does; the address only to those who may see it."""
        profile = {"real_name": self.real_name, "display_name": self.name, "team": self.team}
        if with_email and self.email:
            profile["email"] = self.email
        user = {
            "id": self.id,
            "team_id": self.team,
            "name": self.name,
            "real_name": self.real_name,
            "deleted": self.deleted,
            "is_bot": self.is_bot,
            "is_app_user": False,
            "is_restricted": self.is_restricted,
            "is_ultra_restricted": self.is_ultra_restricted,
            "is_stranger": self.is_stranger,
            "is_email_confirmed": self.is_email_confirmed,
            "tz": "Etc/UTC",
            "profile": profile,
        }
        if self.enterprise:
            user["enterprise_user"] = {"enterprise_id": self.enterprise}
        return user


@dataclass
class Channel:
    """A channel, or a direct conversation with the bot (``user`` says whose)."""

    id: str
    name: str
    members: set[str] = field(default_factory=set)
    user: str | None = None
    is_archived: bool = False


class Edition(NamedTuple):
    """What a message said at one time."""

    text: str
    blocks: list[Block]
    at: datetime


@dataclass
class Message:
    """A message, with all that it has ever said.

    :param author: the user id of who posted it
    :param app: the app that posted it
    :param only_for: for an ephemeral one, the user id of the one who sees it
    """

    channel: str
    ts: str
    author: str
    app: str
    editions: list[Edition]
    only_for: str | None = None
    deleted: bool = False

    @property
    def text(self) -> str:
        """What a screen reader reads out now."""
        return self.editions[-1].text

    @property
    def blocks(self) -> list[Block]:
        """What is shown now."""
        return self.editions[-1].blocks

    def as_slack(self) -> Payload:
        """Return it as it stands in answers and in the payloads of presses."""
        said: Payload = {
            "type": "message",
            "user": self.author,
            "app_id": self.app,
            "ts": self.ts,
            "text": self.text,
            "blocks": self.blocks,
        }
        if len(self.editions) > 1:
            said["edited"] = {"user": self.author, "ts": self.ts}
        return said


@dataclass
class View:
    """A modal or somebody's home.

    :param content: what the app gave: type, title, blocks, callback_id ...
    :param hash: changes with the content
    :param root: the id of the modal at the bottom of its stack
    :param previous: the id of the modal below
    :param values: what has been filled in, by block and action
    :param shown: all that it has ever shown, the latest last
    :param errors: what the app said of the last submission, by block
    :param trouble: whether Slack says that it had trouble connecting to the app
    """

    id: str
    user: str
    content: Payload
    hash: str
    root: str
    previous: str | None = None
    values: dict[str, dict[str, Payload]] = field(default_factory=dict)
    shown: list[Payload] = field(default_factory=list)
    errors: Mapping[str, str] = field(default_factory=dict)
    trouble: bool = False
    is_open: bool = True

    @property
    def blocks(self) -> list[Block]:
        """What is shown."""
        blocks: list[Block] = self.content["blocks"]
        return blocks

    @property
    def callback_id(self) -> str:
        """What the app calls this kind of view."""
        return str(self.content.get("callback_id", ""))


@dataclass
class Token:
    """What an app shows to be let in.

    :param kind: ``bot`` or ``app``
    """

    value: str = field(repr=False)
    kind: str
    scopes: frozenset[str]
    is_revoked: bool = False


@dataclass
class Trigger:
    """The right to open one modal, shortly after a person did something.

    :param in_modal: whether they did it in a modal
    """

    id: str
    user: str
    at: datetime
    in_modal: bool = False
    is_used: bool = False


@dataclass
class ResponseUrl:
    """The right to answer an interaction a few times.

    :param message: the message that was interacted with, where there was one
    """

    user: str
    channel: str
    at: datetime
    message: Message | None = None
    uses: int = 0


class Call(NamedTuple):
    """One call of the Web API, and what it was answered."""

    method: str
    args: Payload
    token_kind: str
    answer: Payload
    at: datetime


class Ack(NamedTuple):
    """How the app answered to what was delivered to it.

    :param body: what it said, or an empty dict; text stands under ``text``
    :param error: ``operation_timeout`` or ``dispatch_failed`` where it did not, as Slack tells
        the person
    :param seconds: how long it took
    :param retry: which of Slack's own retries this was; 0 for the first
    """

    kind: str
    status: int
    body: Payload
    error: str
    seconds: float
    retry: int = 0

    @property
    def ok(self) -> bool:
        """Whether it came in time and was a success."""
        return not self.error


class Line(NamedTuple):
    """Something that went over the wire.

    :param what: such as ``call chat.postMessage``, ``answer ...``, ``deliver ...``, ``ack ...``
    """

    what: str
    text: str
