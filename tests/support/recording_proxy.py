# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A reverse proxy that records requests, and that can forbid, break or hold them."""

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

#: A response, or a function that takes a request and returns a response, or None to let the service
#: respond.
Instead = Reply | Callable[[Request], Reply | None]


@dataclass(frozen=True)
class Exchange:
    """A request, and the status of the service's response, or None if there was no response."""

    method: str
    path: str
    status: int | None

    @property
    def is_write(self) -> bool:
        """Whether the request may have changed something."""
        return self.method not in READS


@dataclass
class _Spoil:
    """A fault for requests whose method and target contain ``part``."""

    instead: Instead
    part: str
    left: int
    skip: int
    after: bool


class Gate:
    """A gate that holds requests until it is opened."""

    def __init__(self) -> None:
        self._passes = True
        self._opened = threading.Event()
        self._arrived = threading.Semaphore(0)

    def wait(self, seconds: float = GATE_SECONDS) -> None:
        """Wait until another request is being held."""
        if not self._arrived.acquire(timeout=seconds):
            raise AssertionError(f"no request arrived within {seconds:g} s")

    def open(self, *, passes: bool = True) -> None:
        """Let all further requests pass.

        :param passes: whether the requests held so far also pass; otherwise they are reset
        """
        if not self._opened.is_set():
            self._passes = passes
            self._opened.set()

    def __call__(self, _request: Request) -> Reply | None:
        """Hold a request until the gate opens, then let it pass or reset its connection."""
        if self._opened.is_set():
            return None
        self._arrived.release()
        return None if self._opened.wait(GATE_SECONDS) and self._passes else RESET


class Recorder:
    """The proxy, and the exchanges that it recorded."""

    def __init__(self, upstream: str) -> None:
        self.upstream = upstream
        self.exchanges: list[Exchange] = []
        self.violations: list[Exchange] = []
        self.forbids_writes = False
        self.url = ""
        self._lock = threading.Lock()
        self._spoils: list[_Spoil] = []

    def take(self) -> list[Exchange]:
        """Return the exchanges since the last call."""
        # Handlers may append to the list at the same time.
        taken = self.exchanges[:]
        del self.exchanges[: len(taken)]
        return taken

    def take_writes(self) -> list[Exchange]:
        """Return the writes since the last call to this method or `take`."""
        return [exchange for exchange in self.take() if exchange.is_write]

    @contextmanager
    def forbidding_writes(self) -> Iterator[None]:
        """Answer writes with 500 instead of forwarding them. Fail on exit if any write arrived."""
        self.violations.clear()
        self.forbids_writes = True
        try:
            yield
        finally:
            self.forbids_writes = False
        if self.violations:
            raise AssertionError(f"writes arrived while they were forbidden: {self.violations}")

    def spoil(
        self,
        instead: Instead,
        *,
        part: str = "",
        times: int = 1,
        skip: int = 0,
        after: bool = False,
    ) -> None:
        """Break the next requests whose method and target contain `part`.

        :param skip: the number of matching requests to forward first
        :param after: whether to forward a request to the service before breaking its response
        """
        with self._lock:
            self._spoils.append(_Spoil(instead, part, times, skip, after))

    def heal(self) -> None:
        """Remove all faults."""
        with self._lock:
            self._spoils.clear()

    @property
    def is_spent(self) -> bool:
        """Whether all faults have been used."""
        with self._lock:
            return not self._spoils

    @contextmanager
    def holding(self, method: str, *, after: bool = False) -> Iterator[Gate]:
        """Hold all requests with a method until the gate is opened or the block ends.

        :param after: whether to hold the response instead of the request
        """
        gate = Gate()
        self.spoil(gate, part=f"{method} ", times=1_000_000, after=after)
        try:
            yield gate
        finally:
            self.heal()
            gate.open()

    def __call__(self, request: Request) -> Reply:
        """Respond to a request."""
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
