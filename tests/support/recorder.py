# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A reverse proxy on loopback that records exchanges, forbids writes, and holds requests up.

with recording(service.url) as recorder:
with recorder.forbidding_writes():
converge_in_check_mode(recorder.url)
recorder.take()
with recorder.holding("PATCH") as gate:
begin_a_converge(recorder.url)
gate.wait()
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.client import HTTPException

from ansible_collections.postroom.email.tests.fakes.http_server import (
    Reply,
    Request,
    pass_on,
    serving,
)

READS = ("GET", "HEAD")
GATE_SECONDS = 60.0


@dataclass(frozen=True)
class Exchange:
    """One request and the status of its answer, or None without one."""

    method: str
    path: str
    status: int | None

    @property
    def is_write(self) -> bool:
        """Whether the request could change something."""
        return self.method not in READS


class Gate:
    """Holds up all requests of a method until it is opened.

    :param after: let the service carry the request out, and hold up only the answer
    """

    def __init__(self, method: str, *, after: bool) -> None:
        self._held = (method, after)
        self._passes = True
        self._opened = threading.Event()
        self._arrived = threading.Semaphore(0)

    def wait(self, seconds: float = 60.0) -> None:
        """Wait until another request is held up."""
        if not self._arrived.acquire(timeout=seconds):
            raise AssertionError(f"no {self._held[0]} came in {seconds:g} s")

    def open(self, *, passes: bool = True) -> None:
        """Let everything pass from now on.

        :param passes: whether the requests held up so far pass, too, or are cut off
        """
        if not self._opened.is_set():
            self._passes = passes
            self._opened.set()

    def let(self, method: str, *, after: bool) -> bool:
        """Hold a matching request up, and return whether it passes."""
        if (method, after) != self._held or self._opened.is_set():
            return True
        self._arrived.release()
        return self._opened.wait(GATE_SECONDS) and self._passes


class Recorder:
    """The proxy and the exchanges that passed through it."""

    def __init__(self, upstream: str) -> None:
        self.upstream = upstream
        self.exchanges: list[Exchange] = []
        self.violations: list[Exchange] = []
        self.forbids_writes = False
        self.gate: Gate | None = None
        self.url = ""

    def take(self) -> list[Exchange]:
        """Return what has passed since the last call."""
        # Handlers may append meanwhile.
        taken = self.exchanges[:]
        del self.exchanges[: len(taken)]
        return taken

    def take_writes(self) -> list[Exchange]:
        """Return the writes that have passed since the last call of either."""
        return [exchange for exchange in self.take() if exchange.is_write]

    @contextmanager
    def forbidding_writes(self) -> Iterator[None]:
        """Answer writes with 500 instead of passing them on, and fail at the end if one came."""
        self.violations.clear()
        self.forbids_writes = True
        try:
            yield
        finally:
            self.forbids_writes = False
        if self.violations:
            raise AssertionError(f"writes came while they were forbidden: {self.violations}")

    @contextmanager
    def holding(self, method: str, *, after: bool = False) -> Iterator[Gate]:
        """Hold up all requests of a method until the gate, or the block's end, lets them pass.

        :param after: hold up the answer, and not the request
        """
        gate = self.gate = Gate(method, after=after)
        try:
            yield gate
        finally:
            self.gate = None
            gate.open()

    def __call__(self, request: Request) -> Reply:
        """Pass a request on, or cut the connection."""
        if self.forbids_writes and request.method not in READS:
            refused = Exchange(request.method, request.target, 500)
            self.exchanges.append(refused)
            self.violations.append(refused)
            return Reply(500, b"writes are forbidden", {"Content-Type": "text/plain"})
        self._hold(request.method, after=False)
        reply: Reply | None = None
        with suppress(OSError, HTTPException):
            reply = pass_on(request, self.upstream)
        status = reply.status if reply else None
        self.exchanges.append(Exchange(request.method, request.target, status))
        if reply is None:
            raise ConnectionAbortedError
        self._hold(request.method, after=True)
        return reply

    def _hold(self, method: str, *, after: bool) -> None:
        """Hold a request or its answer up as long as required, and cut it if it may not pass."""
        gate = self.gate
        if gate is not None and not gate.let(method, after=after):
            raise ConnectionAbortedError


@contextmanager
def recording(upstream: str) -> Iterator[Recorder]:
    """Run a recorder in front of the service at `upstream`."""
    recorder = Recorder(upstream)
    with serving(recorder) as server:
        recorder.url = server.url
        yield recorder
