# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What Slack would never send: requests by somebody who wants to be taken for it.

Those with a right signature go the way of all deliveries; the others need HTTP.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

from ansible_collections.postroom.email.tests.fakes.slack import inputs, payloads
from ansible_collections.postroom.email.tests.fakes.slack.delivery import Answer, Postman
from ansible_collections.postroom.email.tests.fakes.slack.http_transport import (
    HttpTransport,
    Sent,
)
from ansible_collections.postroom.email.tests.fakes.slack.payloads import INTERACTIVE, Parcel
from ansible_collections.postroom.email.tests.fakes.slack.person import Person
from ansible_collections.postroom.email.tests.fakes.slack.records import Ack, Message, Payload
from ansible_collections.postroom.email.tests.fakes.slack.world import World

#: Slack's signatures are good for five minutes.
TOO_OLD = 60 * 6


class Forger:
    """Somebody who sends what Slack would not."""

    def __init__(self, world: World, postman: Postman) -> None:
        self._world = world
        self._postman = postman

    def wrong_signature(self, person: Person, text: str) -> Answer:
        """Send a command that is signed with another secret."""
        http = self._http()
        command = self._command(person, text)
        return http.post(http.signed(command, at=time.time(), secret="0" * 32), self._seconds)

    def unsigned(self, person: Person, text: str) -> Answer:
        """Send a command without a signature."""
        sent = self._http().signed(self._command(person, text), at=time.time())
        kept = {name: value for name, value in sent.headers.items() if "X-Slack" not in name}
        return self._http().post(Sent(sent.body, kept), self._seconds)

    def too_old(self, person: Person, text: str) -> Answer:
        """Send a command that was rightly signed six minutes ago."""
        http = self._http()
        command = self._command(person, text)
        return http.post(http.signed(command, at=time.time() - TOO_OLD), self._seconds)

    def changed_body(self, sent: Sent, before: bytes, after: bytes) -> Answer:
        """Send a request again, with something in its body replaced."""
        if before not in sent.body:
            raise ValueError(f"the request does not say {before!r}")
        return self._http().post(
            Sent(sent.body.replace(before, after), sent.headers), self._seconds
        )

    def replay(self, sent: Sent) -> Answer:
        """Send a request again as it was."""
        return self._http().post(sent, self._seconds)

    def again(self) -> Ack:
        """Deliver what was delivered last a second time, signed anew where it is signed."""
        return self._postman.deliver(self._postman.delivered[-1])

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
        """Press a button, with another value, in another place, or of another app or team.

        Nothing of what the person could really see and do is checked.

        :param payload: what to replace at the payload's top, such as ``api_app_id`` or ``message``
        """
        with self._world.changed:
            block, element = inputs.find(message.blocks, action_id)
            if value is not None:
                element = {**element, "value": value}
            action = inputs.pressed(block, element, None, self._world.fresh_ts())
            pressed = replace(message, ts=ts or message.ts)
            parcel = payloads.press(self._world, person.user, pressed, action)
            forged: Payload = {**parcel.payload, **payload}
            if channel is not None:
                forged["channel"] = {**forged["channel"], "id": channel}
                forged["container"] = {**forged["container"], "channel_id": channel}
        return self._postman.deliver(Parcel(INTERACTIVE, forged))

    @property
    def _seconds(self) -> float:
        return self._postman.options.seconds

    def _command(self, person: Person, text: str) -> Parcel:
        """Return a command as Slack would send it."""
        channel = self._world.channels[person.channel]
        return payloads.command(self._world, person.user, channel, text)

    def _http(self) -> HttpTransport:
        """Return the way over HTTP."""
        if not isinstance(self._postman.transport, HttpTransport):
            raise TypeError("signatures are forged over HTTP only: call deliver_over_http first")
        return self._postman.transport
