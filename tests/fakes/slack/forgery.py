# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Requests that Slack never sends: wrong signatures, replays and changed payloads."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

from . import payloads, views
from .delivery import Answer, Postman
from .http_transport import HttpTransport, Sent
from .payloads import INTERACTIVE, Parcel
from .person import Person
from .records import Ack, Message
from .world import World

#: Signatures are valid for five minutes.
TOO_OLD = 60 * 6


class Forger:
    """An attacker. Changed payloads have a valid signature; other forgeries need HTTP."""

    def __init__(self, world: World, postman: Postman) -> None:
        self._world = world
        self._postman = postman

    def wrong_signature(self, person: Person, text: str) -> Answer:
        """Send a command that is signed with another secret."""
        command = self._command(person, text)
        return self.replay(self._http.signed(command, at=time.time(), secret="0" * 32))

    def unsigned(self, person: Person, text: str) -> Answer:
        """Send a command without a signature."""
        sent = self._http.signed(self._command(person, text), at=time.time())
        kept = {name: value for name, value in sent.headers.items() if "X-Slack" not in name}
        return self.replay(Sent(sent.body, kept))

    def too_old(self, person: Person, text: str) -> Answer:
        """Send a command whose valid signature has expired."""
        command = self._command(person, text)
        return self.replay(self._http.signed(command, at=time.time() - TOO_OLD))

    def changed_body(self, sent: Sent, before: bytes, after: bytes) -> Answer:
        """Send a request again with a part of its body replaced."""
        if before not in sent.body:
            raise ValueError(f"the request does not contain {before!r}")
        return self.replay(Sent(sent.body.replace(before, after), sent.headers))

    def replay(self, sent: Sent) -> Answer:
        """Send a request again."""
        return self._http.post(sent, self._postman.options.seconds)

    def press(
        self,
        person: Person,
        message: Message,
        action_id: str,
        /,
        *,
        value: str | None = None,
        channel: str | None = None,
        ts: str | None = None,
        **payload: Any,
    ) -> Ack:
        """Press a button with other values, even one that the person does not see.

        :param payload: replaces fields at the top of the payload, such as `api_app_id`
        """
        with self._world.changed:
            block, element = views.find(message.blocks, action_id)
            if value is not None:
                element = {**element, "value": value}
            action = views.pressed(block, element, None, self._world.fresh_ts())
            pressed = replace(message, ts=ts or message.ts)
            forged = payloads.press(self._world, person.user, pressed, action).payload | payload
            if channel is not None:
                forged["channel"] = {**forged["channel"], "id": channel}
                forged["container"] = {**forged["container"], "channel_id": channel}
        return self._postman.deliver(Parcel(INTERACTIVE, forged))

    def _command(self, person: Person, text: str) -> Parcel:
        channel = self._world.channels[person.channel]
        return payloads.command(self._world, person.user, channel, text)

    @property
    def _http(self) -> HttpTransport:
        if not isinstance(self._postman.transport, HttpTransport):
            raise TypeError("signatures can be forged over HTTP only")
        return self._postman.transport
