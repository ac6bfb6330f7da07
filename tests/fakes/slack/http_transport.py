# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Delivery over HTTP, with Slack's signature."""

from __future__ import annotations

import hashlib
import hmac
import json
import time
from typing import NamedTuple
from urllib.parse import urlencode

import httpx

from .delivery import FAILED, FIRST, TIMEOUT, Answer, Retry
from .payloads import COMMANDS, EVENTS, Parcel


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

    def send(self, parcel: Parcel, retry: Retry, seconds: float, *, at: float) -> Answer:
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

    def post(self, request: Sent, seconds: float) -> Answer:
        """Send a request and return the response; a text comes under `text`."""
        self.sent.append(request)
        try:
            with httpx.Client(trust_env=False, timeout=seconds) as client:
                response = client.post(self.url, content=request.body, headers=request.headers)
        except httpx.HTTPError as error:
            return Answer(0, {}, TIMEOUT if isinstance(error, httpx.ReadTimeout) else FAILED)
        try:
            read = json.loads(response.text or "{}")
        except ValueError:
            read = response.text.strip()
        body = read if isinstance(read, dict) else {"text": read}
        return Answer(response.status_code, body, "" if response.is_success else FAILED)

    def verify_address(self, seconds: float = 3.0) -> bool:
        """Return True if the app answers the challenge of `url_verification`."""
        challenge = hashlib.sha256(self.url.encode()).hexdigest()
        parcel = Parcel(EVENTS, {"type": "url_verification", "challenge": challenge})
        answer = self.send(parcel, FIRST, seconds, at=time.time())
        return challenge in (answer.body.get("challenge"), answer.body.get("text"))
