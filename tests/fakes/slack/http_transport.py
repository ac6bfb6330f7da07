# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Delivery by signed HTTP requests, and the same requests again for attacks."""

from __future__ import annotations

import hashlib
import hmac
import json
import time
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from typing import NamedTuple
from urllib.parse import urlencode, urlsplit

from ansible_collections.postroom.email.tests.fakes.slack.delivery import (
    FAILED,
    FIRST,
    TIMEOUT,
    Answer,
    Retry,
)
from ansible_collections.postroom.email.tests.fakes.slack.payloads import COMMANDS, EVENTS, Parcel
from ansible_collections.postroom.email.tests.fakes.slack.records import Payload


class Sent(NamedTuple):
    """A request as it went out."""

    body: bytes
    headers: dict[str, str]


class HttpTransport:
    """Posts to the one address that an app has for commands, interactions and events.

    :param url: such as ``http://127.0.0.1:3000/slack/events``
    :param secret: what signatures are made with
    """

    def __init__(self, url: str, secret: str) -> None:
        self.url = url
        self._secret = secret
        #: All requests, for exact replays.
        self.sent: list[Sent] = []

    def send(self, parcel: Parcel, retry: Retry, seconds: float, *, at: float) -> Answer:
        """Deliver and wait so long for the answer."""
        return self.post(self.signed(parcel, retry, at=at), seconds)

    def signed(
        self, parcel: Parcel, retry: Retry = FIRST, *, at: float, secret: str | None = None
    ) -> Sent:
        """Return a request that a secret, by default the right one, has signed."""
        body, kind = encoded(parcel)
        stamp = str(int(at))
        headers = {
            "Content-Type": kind,
            "User-Agent": "Slackbot 1.0",
            "X-Slack-Request-Timestamp": stamp,
            "X-Slack-Signature": signature(secret or self._secret, stamp, body),
        }
        if retry.number:
            headers["X-Slack-Retry-Num"] = str(retry.number)
            headers["X-Slack-Retry-Reason"] = retry.reason
        return Sent(body, headers)

    def post(self, request: Sent, seconds: float) -> Answer:
        """Send a request and return what came back."""
        self.sent.append(request)
        parts = urlsplit(self.url)
        connection = HTTPConnection(parts.hostname or "", parts.port, timeout=seconds)
        try:
            connection.request("POST", parts.path, request.body, request.headers)
            response = connection.getresponse()
            error = "" if response.status == HTTPStatus.OK else FAILED
            return Answer(response.status, _read(response.read()), error)
        except TimeoutError:
            return Answer(0, {}, TIMEOUT)
        except (HTTPException, OSError):
            return Answer(0, {}, FAILED)
        finally:
            connection.close()

    def verify_address(self, seconds: float = 3.0) -> bool:
        """Ask the app, as Slack does when an address is set up, to prove that it is the one."""
        challenge = hashlib.sha256(self.url.encode()).hexdigest()
        payload = {"token": "verification-token", "type": "url_verification"}
        parcel = Parcel(EVENTS, {**payload, "challenge": challenge})
        answer = self.send(parcel, FIRST, seconds, at=time.time())
        return challenge in (answer.body.get("challenge"), answer.body.get("text"))


def encoded(parcel: Parcel) -> tuple[bytes, str]:
    """Return body and content type of what Slack sends."""
    if parcel.kind == EVENTS:
        return json.dumps(parcel.payload).encode(), "application/json"
    fields = parcel.payload
    if parcel.kind != COMMANDS:
        fields = {"payload": json.dumps(parcel.payload)}
    return urlencode(fields).encode(), "application/x-www-form-urlencoded"


def signature(secret: str, stamp: str, body: bytes) -> str:
    """Return Slack's signature, version 0, of a request."""
    digest = hmac.new(secret.encode(), b"v0:" + stamp.encode() + b":" + body, hashlib.sha256)
    return f"v0={digest.hexdigest()}"


def _read(raw: bytes) -> Payload:
    """Return what an app answered; text stands for a message that says it."""
    text = raw.decode("utf-8", "replace").strip()
    if not text:
        return {}
    try:
        read = json.loads(text)
    except ValueError:
        read = text
    return read if isinstance(read, dict) else {"text": text}
