# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A reverse proxy on loopback that writes down what passes, forbids writes, and holds things up.

    with recording(service.url) as recorder:
        with recorder.forbidding_writes():
            converge_in_check_mode(recorder.url)
        recorder.take()
        with recorder.holding("PATCH") as gate:
            begin_a_converge(recorder.url)
            gate.wait()

Uses the standard library only.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException, HTTPResponse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

READS = ("GET", "HEAD")
UPSTREAM_SECONDS = 60.0
#: Headers that speak of one connection and not of the message.
HOP_BY_HOP = frozenset({"connection", "keep-alive", "transfer-encoding", "host"})


@dataclass(frozen=True)
class Exchange:
    """One request and the status it was answered with; None where no answer came.

    :param began: when it came, by the monotonic clock
    :param ended: when its answer was there
    """

    method: str
    path: str
    status: int | None
    began: float = field(default=0.0, compare=False)
    ended: float = field(default=0.0, compare=False)

    @property
    def is_write(self) -> bool:
        """Whether the request could change something."""
        return self.method not in READS


class Gate:
    """Holds up all requests of a method until it is opened.

    :param after: whether the service has done its part by then, and only the answer is held up
    """

    def __init__(self, method: str, *, after: bool) -> None:
        self._held = (method, after)
        self._passes = True
        self._opened = threading.Event()
        self._arrived = threading.Semaphore(0)

    def wait(self, seconds: float = 60.0) -> None:
        """Wait until one request more is held up."""
        if not self._arrived.acquire(timeout=seconds):
            raise AssertionError(f"no {self._held[0]} came in {seconds:g} s")

    def open(self, *, passes: bool = True) -> None:
        """Let everything pass from now on.

        :param passes: whether what is held up passes, too, or is cut off
        """
        if not self._opened.is_set():
            self._passes = passes
            self._opened.set()

    def let(self, method: str, *, after: bool) -> bool:
        """Hold a request up if it is one of those, and tell whether it passes."""
        if (method, after) != self._held or self._opened.is_set():
            return True
        self._arrived.release()
        return self._opened.wait(UPSTREAM_SECONDS) and self._passes


class Recorder:
    """What has passed through the proxy."""

    def __init__(self, upstream: str) -> None:
        parts = urlsplit(upstream)
        self._upstream = (parts.hostname or "127.0.0.1", parts.port or 80)
        self._lock = threading.Lock()
        self._exchanges: list[Exchange] = []
        self._violations: list[Exchange] = []
        self._forbids_writes = False
        self._gate: Gate | None = None
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.recorder = self
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def violations(self) -> list[Exchange]:
        """Writes that came while they were forbidden; none of them was passed on."""
        with self._lock:
            return list(self._violations)

    def take(self) -> list[Exchange]:
        """Return what has passed since the last call."""
        with self._lock:
            taken, self._exchanges = self._exchanges, []
        return taken

    def take_writes(self) -> list[Exchange]:
        """Return the writes that have passed since the last call of either."""
        return [exchange for exchange in self.take() if exchange.is_write]

    @contextmanager
    def forbidding_writes(self) -> Iterator[None]:
        """Answer writes with 500 in place of passing them on, and fail at the end if one came."""
        before = len(self.violations)
        self._forbids_writes = True
        try:
            yield
        finally:
            self._forbids_writes = False
        came = self.violations[before:]
        if came:
            raise AssertionError(f"writes came while they were forbidden: {came}")

    @contextmanager
    def holding(self, method: str, *, after: bool = False) -> Iterator[Gate]:
        """Hold up all requests of a method until the gate, or the block's end, lets them pass.

        :param after: hold up the answer, and not the request
        """
        gate = self._gate = Gate(method, after=after)
        try:
            yield gate
        finally:
            self._gate = None
            gate.open()

    def lets(self, method: str, *, after: bool) -> bool:
        """Hold a request or its answer up as long as wanted, and tell whether it passes."""
        gate = self._gate
        return gate is None or gate.let(method, after=after)

    def forbids(self, method: str) -> bool:
        """Tell whether a request is not to be passed on."""
        return self._forbids_writes and method not in READS

    def note(self, exchange: Exchange, *, violation: bool = False) -> None:
        """Write an exchange down."""
        with self._lock:
            self._exchanges.append(exchange)
            if violation:
                self._violations.append(exchange)

    def connect(self) -> HTTPConnection:
        """Return a new connection to the service."""
        return HTTPConnection(*self._upstream, timeout=UPSTREAM_SECONDS)

    def start(self) -> None:
        """Serve, in a thread of its own."""
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def stop(self) -> None:
        """Stop serving and free the port."""
        self._server.shutdown()
        self._server.server_close()


@contextmanager
def recording(upstream: str) -> Iterator[Recorder]:
    """Run a recorder in front of the service at `upstream`."""
    recorder = Recorder(upstream)
    recorder.start()
    try:
        yield recorder
    finally:
        recorder.stop()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    recorder: Recorder


class _Handler(BaseHTTPRequestHandler):
    """One connection of a client, with one of its own to the service."""

    server: _Server
    protocol_version = "HTTP/1.1"
    # Headers and body leave in two pieces; Nagle's algorithm would hold the second one back.
    disable_nagle_algorithm = True
    timeout = UPSTREAM_SECONDS
    _connection: HTTPConnection | None = None

    def handle(self) -> None:
        # A client that went away is the client's business.
        with suppress(ConnectionError):
            super().handle()

    def finish(self) -> None:
        if self._connection is not None:
            self._connection.close()
        with suppress(ConnectionError):
            super().finish()

    def _pass_on(self) -> None:
        began = time.monotonic()
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        recorder = self.server.recorder
        if recorder.forbids(self.command):
            recorder.note(Exchange(self.command, self.path, 500), violation=True)
            self._answer(500, [("content-type", "text/plain")], b"writes are forbidden")
            return
        if not recorder.lets(self.command, after=False):
            self.close_connection = True
            return
        try:
            response, content = self._ask(body)
        except (OSError, HTTPException):
            recorder.note(Exchange(self.command, self.path, None, began, time.monotonic()))
            self.close_connection = True
            return
        status = response.status
        recorder.note(Exchange(self.command, self.path, status, began, time.monotonic()))
        if not recorder.lets(self.command, after=True):
            self.close_connection = True
            return
        self._answer(response.status, response.getheaders(), content)

    do_GET = do_HEAD = do_POST = do_PATCH = do_DELETE = _pass_on  # noqa: N815 - as http.server calls them

    def _ask(self, body: bytes) -> tuple[HTTPResponse, bytes]:
        if self._connection is None:
            self._connection = self.server.recorder.connect()
        headers = {k: v for k, v in self.headers.items() if k.lower() not in HOP_BY_HOP}
        self._connection.request(self.command, self.path, body or None, headers)
        response = self._connection.getresponse()
        return response, response.read()

    def _answer(self, status: int, headers: list[tuple[str, str]], content: bytes) -> None:
        self.send_response_only(status)
        for key, value in headers:
            if key.lower() not in HOP_BY_HOP | {"content-length"}:
                self.send_header(key, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)
