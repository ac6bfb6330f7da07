# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Delivery of payloads to the app, and its acknowledgements."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from .payloads import Parcel
from .records import Ack
from .world import World, plain

TIMEOUT = "operation_timeout"
FAILED = "dispatch_failed"

Answer = Ack


class Retry(NamedTuple):
    """The number of Slack's own retry, from 1, and Slack's name for the reason."""

    number: int = 0
    reason: str = ""


FIRST = Retry()


class Transport(Protocol):
    """A way to deliver: HTTP or Socket Mode."""

    def send(self, parcel: Parcel, retry: Retry, seconds: float, *, at: float) -> Answer:
        """Deliver a payload, signed at `at`, and wait up to `seconds` for the response."""


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
        ack = self.transport.send(parcel, FIRST, self.options.seconds, at=at)
        with self.world.changed:
            self.world.acks.append(ack)
            self.world.note(f"ack {parcel.kind}", f"{ack.status} {ack.error} {plain(ack.body)}")
        return ack
