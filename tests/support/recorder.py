# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A reverse proxy on loopback that records exchanges, forbids, spoils and holds up requests."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from ansible_collections.postroom.email.tests.fakes.http_server import (
    RESET,
    Reply,
    Request,
    pass_on,
    serving,
)

READS = ("GET", "HEAD")
GATE_SECONDS = 60.0

#: The response, or a function of the request; if that returns None, the service answers.
Instead = Reply | Callable[[Request], Reply | None]


@dataclass(frozen=True)
class Exchange:
    """One request and the status of the service's answer, or None without one."""

    method: str
    path: str
    status: int | None

    @property
    def is_write(self) -> bool:
        """Whether the request could change something."""
        return self.method not in READS


@dataclass
class _Spoil:
    """A fault of the requests that have ``part`` in their method and target."""

    instead: Instead
    part: str
    left: int
    skip: int
    after: bool


class Gate:
    """Holds requests up until it is opened."""

    def __init__(self) -> None:
        self._passes = True
        self._opened = threading.Event()
        self._arrived = threading.Semaphore(0)

    def wait(self, seconds: float = GATE_SECONDS) -> None:
        """Wait until another request is held up."""
        if not self._arrived.acquire(timeout=seconds):
            raise AssertionError(f"no request came in {seconds:g} s")

    def open(self, *, passes: bool = True) -> None:
        """Let everything pass from now on.

        :param passes: whether the requests held up so far pass, too, or are cut off
        """
        if not self._opened.is_set():
            self._passes = passes
            self._opened.set()

    def __call__(self, _request: Request) -> Reply | None:
        """Hold a request up, and cut it off unless it may pass."""
        if self._opened.is_set():
            return None
        self._arrived.release()
        return None if self._opened.wait(GATE_SECONDS) and self._passes else RESET


class Recorder:
    """The proxy and the exchanges that passed through it."""

    def __init__(self, upstream: str) -> None:
        self.upstream = upstream
        self.exchanges: list[Exchange] = []
        self.violations: list[Exchange] = []
        self.forbids_writes = False
        self.url = ""
        self._lock = threading.Lock()
        self._spoils: list[_Spoil] = []

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

    def spoil(
        self,
        instead: Instead,
        *,
        part: str = "",
        times: int = 1,
        skip: int = 0,
        after: bool = False,
    ) -> None:
        """Spoil the next requests that have a part in their method and target.

        :param skip: how many of them to pass on first
        :param after: True to have the service carry them out first
        """
        with self._lock:
            self._spoils.append(_Spoil(instead, part, times, skip, after))

    def heal(self) -> None:
        """Remove all faults."""
        with self._lock:
            self._spoils.clear()

    @property
    def is_spent(self) -> bool:
        """True if no fault waits for a request."""
        with self._lock:
            return not self._spoils

    @contextmanager
    def holding(self, method: str, *, after: bool = False) -> Iterator[Gate]:
        """Hold up all requests of a method until the gate, or the block's end, lets them pass.

        :param after: hold up the answer, and not the request
        """
        gate = Gate()
        self.spoil(gate, part=f"{method} ", times=1_000_000, after=after)
        try:
            yield gate
        finally:
            self.heal()
            gate.open()

    def __call__(self, request: Request) -> Reply:
        """Answer a request."""
        if self.forbids_writes and request.method not in READS:
            self.violations.append(self._note(request, 500))
            return Reply(500, b"writes are forbidden", {"Content-Type": "text/plain"})
        spoil = self._spoil_for(request.line)
        if spoil is None:
            return self._pass_on(request)
        answer = self._pass_on(request) if spoil.after else None
        instead = spoil.instead if isinstance(spoil.instead, Reply) else spoil.instead(request)
        if instead is not None and answer is None:
            self._note(request, None)
        return instead or answer or self._pass_on(request)

    def _pass_on(self, request: Request) -> Reply:
        status = None
        try:
            reply = pass_on(request, self.upstream)
            status = reply.status
        finally:
            self._note(request, status)
        return reply

    def _note(self, request: Request, status: int | None) -> Exchange:
        exchange = Exchange(request.method, request.target, status)
        self.exchanges.append(exchange)
        return exchange

    def _spoil_for(self, line: str) -> _Spoil | None:
        with self._lock:
            spoil = next((one for one in self._spoils if one.part in line), None)
            if spoil is None:
                return None
            if spoil.skip:
                spoil.skip -= 1
                return None
            spoil.left -= 1
            self._spoils = [one for one in self._spoils if one.left > 0]
            return spoil


@contextmanager
def recording(upstream: str) -> Iterator[Recorder]:
    """Run a recorder in front of the service at `upstream`."""
    recorder = Recorder(upstream)
    with serving(recorder) as server:
        recorder.url = server.url
        yield recorder
