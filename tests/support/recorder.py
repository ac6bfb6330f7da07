# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A reverse proxy on loopback that writes down what passes, and forbids writes when told to.

    with recording(service.url) as recorder:
        with recorder.forbidding_writes():
            converge_in_check_mode(recorder.url)
        recorder.take()

Uses the standard library only.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPResponse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

READS = ("GET", "HEAD")
UPSTREAM_SECONDS = 60.0
#: Headers that speak of one connection and not of the message.
HOP_BY_HOP = frozenset({"connection", "keep-alive", "transfer-encoding", "host"})


@dataclass(frozen=True)
class Exchange:
    """One request and the status it was answered with; None where no answer came."""

    method: str
    path: str
    status: int | None

    @property
    def is_write(self) -> bool:
        """Whether the request could change something."""
        return self.method not in READS


class Recorder:
    """What has passed through the proxy."""

    def __init__(self, upstream: str) -> None:
        parts = urlsplit(upstream)
        self._upstream = (parts.hostname or "127.0.0.1", parts.port or 80)
        self._lock = threading.Lock()
        self._exchanges: list[Exchange] = []
        self._violations: list[Exchange] = []
        self._forbids_writes = False
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
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        recorder = self.server.recorder
        if recorder.forbids(self.command):
            recorder.note(Exchange(self.command, self.path, 500), violation=True)
            self._answer(500, [("content-type", "text/plain")], b"writes are forbidden")
            return
        try:
            response, content = self._ask(body)
        except (OSError, HTTPException):
            recorder.note(Exchange(self.command, self.path, None))
            self.close_connection = True
            return
        recorder.note(Exchange(self.command, self.path, response.status))
        self._answer(response.status, response.getheaders(), content)

    do_GET = do_HEAD = do_POST = do_PATCH = do_DELETE = _pass_on  # noqa: N815

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
