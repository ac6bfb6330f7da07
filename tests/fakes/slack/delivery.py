# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Delivery of payloads to the app, by default over HTTP with Slack's signature."""

from __future__ import annotations

import hashlib
import hmac
import json
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple, Protocol
from urllib.parse import urlencode

import httpx

from .payloads import COMMANDS, EVENTS, Parcel
from .records import Ack
from .world import World, plain

TIMEOUT = "operation_timeout"
FAILED = "dispatch_failed"


class Transport(Protocol):
    """A way to deliver: HTTP or Socket Mode."""

    def send(self, parcel: Parcel, seconds: float, *, at: float) -> Ack:
        """Deliver a payload, signed at `at`, and wait up to `seconds` for the response."""


class Sent(NamedTuple):
    """A request as it was sent."""

    body: bytes
    headers: dict[str, str]


class HttpTransport:
    """Posts everything to the app's one address, such as `http://127.0.0.1:3000/slack/events`."""

    def __init__(self, url: str, secret: str) -> None:
        self.url = url
        self._secret = secret
        #: All requests, for exact replays.
        self.sent: list[Sent] = []

    def send(self, parcel: Parcel, seconds: float, *, at: float) -> Ack:
        """Deliver a payload and wait for the response."""
        return self.post(self.signed(parcel, at=at), seconds)

    def signed(self, parcel: Parcel, *, at: float, secret: str | None = None) -> Sent:
        """Return a request that is signed with a secret, by default the right one."""
        if parcel.kind == EVENTS:
            body, kind = json.dumps(parcel.payload).encode(), "application/json"
        else:
            is_command = parcel.kind == COMMANDS
            fields = parcel.payload if is_command else {"payload": json.dumps(parcel.payload)}
            body, kind = urlencode(fields).encode(), "application/x-www-form-urlencoded"
        stamp = str(int(at))
        text = b"v0:" + stamp.encode() + b":" + body
        digest = hmac.new((secret or self._secret).encode(), text, hashlib.sha256).hexdigest()
        headers = {
            "Content-Type": kind,
            "X-Slack-Request-Timestamp": stamp,
            "X-Slack-Signature": f"v0={digest}",
        }
        return Sent(body, headers)

    def post(self, request: Sent, seconds: float) -> Ack:
        """Send a request and return the response; a text comes under `text`."""
        self.sent.append(request)
        try:
            with httpx.Client(trust_env=False, timeout=seconds) as client:
                response = client.post(self.url, content=request.body, headers=request.headers)
        except httpx.HTTPError as error:
            return Ack(0, {}, TIMEOUT if isinstance(error, httpx.ReadTimeout) else FAILED)
        try:
            read = json.loads(response.text or "{}")
        except ValueError:
            read = response.text.strip()
        body = read if isinstance(read, dict) else {"text": read}
        return Ack(response.status_code, body, "" if response.is_success else FAILED)


@dataclass
class Delivery:
    """How Slack delivers.

    :param copies: how often it delivers everything, each copy with a signature of its own
    :param together: True to deliver the copies at the same time
    :param seconds: the app's time to answer
    """

    copies: int = 1
    together: bool = False
    seconds: float = 3.0


class Postman:
    """Delivers payloads and records the acknowledgements."""

    def __init__(self, world: World, transport: Transport) -> None:
        self.world = world
        self.transport = transport
        self.options = Delivery()

    def deliver(self, parcel: Parcel) -> Ack:
        """Deliver a payload and return the acknowledgement of its first copy."""
        self.world.note(f"deliver {parcel.kind}", plain(parcel.payload))
        # Signatures have a resolution of a second, so the copies are signed a second apart.
        moments = [time.time() - number for number in range(self.options.copies)]
        workers = len(moments) if self.options.together else 1
        with ThreadPoolExecutor(workers) as pool:
            first, *_others = pool.map(lambda at: self._deliver_copy(parcel, at), moments)
            return first

    def _deliver_copy(self, parcel: Parcel, at: float) -> Ack:
        ack = self.transport.send(parcel, self.options.seconds, at=at)
        with self.world.changed:
            self.world.acks.append(ack)
            self.world.note(f"ack {parcel.kind}", f"{ack.status} {ack.error} {plain(ack.body)}")
        return ack
