# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""How what people do gets to the app: how often, how patiently, and what became of it."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from ansible_collections.postroom.email.tests.fakes.slack.payloads import Parcel
from ansible_collections.postroom.email.tests.fakes.slack.records import Ack, Payload
from ansible_collections.postroom.email.tests.fakes.slack.world import World, plain

TIMEOUT = "operation_timeout"
FAILED = "dispatch_failed"
#: Slack's own words for the reason of a retry.
RETRY_REASONS = {TIMEOUT: "http_timeout", FAILED: "http_error"}


class Retry(NamedTuple):
    """The number and the reason of one of Slack's own retries."""

    number: int = 0
    reason: str = ""


#: What has not been tried before.
FIRST = Retry()


class Answer(NamedTuple):
    """What came back on one way; ``error`` is "" where the app said yes."""

    status: int
    body: Payload
    error: str


class Transport(Protocol):
    """A way to the app."""

    def send(self, parcel: Parcel, retry: Retry, seconds: float, *, at: float) -> Answer:
        """Deliver and wait so long for the answer.

        :param at: the moment of the signature, in seconds since 1970
        """


@dataclass
class Delivery:
    """How to deliver.

    :param copies: how often everything is delivered
    :param together: whether the copies go out at once and not one after another
    :param same_signature: whether copies are the same to the byte, as in a replay, and not signed
        anew
    :param retries: how often Slack tries again what failed
    :param seconds: how long the app has to answer; Slack gives it three
    """

    copies: int = 1
    together: bool = False
    same_signature: bool = False
    retries: int = 0
    seconds: float = 3.0


class Postman:
    """Delivers, and writes down how the app answered."""

    def __init__(self, world: World, transport: Transport) -> None:
        self.world = world
        self.transport = transport
        self.options = Delivery()
        #: All that was delivered, each once however many copies there were.
        self.delivered: list[Parcel] = []

    def deliver(self, parcel: Parcel) -> Ack:
        """Deliver as the options say; return the answer to the first copy."""
        self.delivered.append(parcel)
        self.world.note(f"deliver {parcel.kind}", plain(parcel.payload))
        moments = [time.time()] * self.options.copies
        if not self.options.same_signature:
            # A signature has a resolution of a second: earlier ones make the copies differ.
            moments = [at - number for number, at in enumerate(moments)]
        if not self.options.together:
            first, *_others = [self._deliver_copy(parcel, at) for at in moments]
            return first
        with ThreadPoolExecutor(len(moments)) as pool:
            first, *_others = pool.map(lambda at: self._deliver_copy(parcel, at), moments)
            return first

    def _deliver_copy(self, parcel: Parcel, at: float) -> Ack:
        """Deliver until the app answers well or Slack gives up; return the first answer."""
        first = ack = self._try(parcel, FIRST, at)
        for number in range(1, self.options.retries + 1):
            if ack.ok:
                break
            ack = self._try(parcel, Retry(number, RETRY_REASONS[ack.error]), at)
        return first

    def _try(self, parcel: Parcel, retry: Retry, at: float) -> Ack:
        """Deliver once."""
        begun = time.monotonic()
        answer = self.transport.send(parcel, retry, self.options.seconds, at=at)
        took = time.monotonic() - begun
        error = TIMEOUT if took > self.options.seconds else answer.error
        ack = Ack(parcel.kind, answer.status, answer.body, error, took, retry.number)
        with self.world.changed:
            self.world.acks.append(ack)
            self.world.note(f"ack {parcel.kind}", f"{ack.status} {ack.error} {plain(ack.body)}")
        return ack
