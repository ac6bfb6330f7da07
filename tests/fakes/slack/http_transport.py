# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Delivery over HTTP, with Slack's signature."""

from __future__ import annotations

import hashlib
import hmac
import json
import time
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from typing import NamedTuple
from urllib.parse import urlencode, urlsplit

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
        return self.post(self.signed(parcel, retry, at=at), seconds)

    def signed(
        self, parcel: Parcel, retry: Retry = FIRST, *, at: float, secret: str | None = None
    ) -> Sent:
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
            "User-Agent": "Slackbot 1.0",
            "X-Slack-Request-Timestamp": stamp,
            "X-Slack-Signature": f"v0={digest}",
        }
        if retry.number:
            headers["X-Slack-Retry-Num"] = str(retry.number)
            headers["X-Slack-Retry-Reason"] = retry.reason
        return Sent(body, headers)

    def post(self, request: Sent, seconds: float) -> Answer:
        """Send a request and return the response; a text comes under `text`."""
        self.sent.append(request)
        parts = urlsplit(self.url)
        connection = HTTPConnection(parts.hostname or "", parts.port, timeout=seconds)
        try:
            connection.request("POST", parts.path, request.body, request.headers)
            response = connection.getresponse()
            text = response.read().decode("utf-8", "replace").strip()
        except TimeoutError:
            return Answer(0, {}, TIMEOUT)
        except (HTTPException, OSError):
            return Answer(0, {}, FAILED)
        finally:
            connection.close()
        try:
            read = json.loads(text or "{}")
        except ValueError:
            read = text
        body = read if isinstance(read, dict) else {"text": text}
        return Answer(response.status, body, "" if response.status == HTTPStatus.OK else FAILED)

    def verify_address(self, seconds: float = 3.0) -> bool:
        """Return True if the app answers the challenge of `url_verification`."""
        challenge = hashlib.sha256(self.url.encode()).hexdigest()
        payload = {"token": "verification-token", "type": "url_verification"}
        parcel = Parcel(EVENTS, {**payload, "challenge": challenge})
        answer = self.send(parcel, FIRST, seconds, at=time.time())
        return challenge in (answer.body.get("challenge"), answer.body.get("text"))
