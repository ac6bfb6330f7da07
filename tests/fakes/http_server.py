# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The HTTP server of all fakes, which listens on a loopback port.

A handler function returns the reply to each request. A reply can be cut short or sent byte by byte,
reset the connection, or hang. If the handler raises an OSError, the connection is closed without a
response.
"""

from __future__ import annotations

import contextlib
import json
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from http.client import HTTPConnection, HTTPException, parse_headers
from typing import Any
from urllib.parse import urlsplit

_LONGEST_HANG = 30.0
UPSTREAM_SECONDS = 60.0
#: Headers that belong to the connection, not to the message.
_HOP_BY_HOP = frozenset({"connection", "keep-alive", "transfer-encoding", "content-length", "host"})


@dataclass(frozen=True)
class Request:
    """A request. ``target`` is not decoded, and header names are in lower case."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body as JSON, or None if it is empty."""
        return json.loads(self.body) if self.body else None

    @property
    def line(self) -> str:
        """The method and target."""
        return f"{self.method} {self.target}"


@dataclass(frozen=True)
class Reply:
    """A response.

    :param missing: the number of bytes by which to cut the body short
    :param drip: the seconds to pause after every byte
    :param drip_head: whether to pause after every byte of the head as well
    :param hang: whether to send no response until the server stops
    :param reset: whether to reset the connection
    :param close: whether to close the connection after the response
    """

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    missing: int = 0
    drip: float = 0.0
    drip_head: bool = False
    hang: bool = False
    reset: bool = False
    close: bool = False

    def having(self, **headers: str) -> Reply:
        """Return the reply with more headers. ``_`` in a name becomes ``-``."""
        more = {name.replace("_", "-"): value for name, value in headers.items()}
        return replace(self, headers={**self.headers, **more})

    def head(self) -> bytes:
        """Return the status line and the headers."""
        lines = [f"HTTP/1.1 {self.status} Scripted"]
        lines += [f"{name}: {value}" for name, value in self.headers.items()]
        if self.status != 204:
            lines.append(f"Content-Length: {len(self.body) + self.missing}")
        return "".join(f"{line}\r\n" for line in [*lines, ""]).encode("latin-1")


RESET = Reply(reset=True)

Handler = Callable[[Request], Reply]


def json_reply(value: Any, status: int = 200) -> Reply:
    """Return a reply with a JSON body."""
    body = json.dumps(value).encode()
    return Reply(status, body, {"Content-Type": "application/json"})


class ScriptedServer:
    """An HTTP server on a free loopback port, which calls a handler for each request.

    :param tls: the context for HTTPS, or None for HTTP
    :param proxied: the TLS context for the host of a CONNECT request
    :ivar requests: all requests, in the order of arrival
    :ivar connections: the number of accepted connections
    :ivar completed: the number of replies that were sent completely
    """

    def __init__(
        self,
        handler: Handler,
        *,
        tls: ssl.SSLContext | None = None,
        proxied: ssl.SSLContext | None = None,
    ) -> None:
        self.handler = handler
        self.requests: list[Request] = []
        self.connections = 0
        self.completed = 0
        self._tls = tls
        self._proxied = proxied
        self._refusals = 0
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port: int = self._listener.getsockname()[1]
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    @property
    def url(self) -> str:
        """The server's URL, without a trailing slash."""
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self.port}"

    @property
    def lines(self) -> list[str]:
        """The method and target of every request."""
        return [request.line for request in self.requests]

    @property
    def writes(self) -> list[str]:
        """The method and target of every request that is not a GET."""
        return [request.line for request in self.requests if request.method != "GET"]

    def reset_connections(self, count: int) -> None:
        """Reset the next connections before reading from them."""
        with self._lock:
            self._refusals = count

    def stop(self) -> None:
        """Close all connections, and wait for the threads."""
        self._stopping.set()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        with self._lock:
            for connection in self._open:
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(10)

    def _accept(self) -> None:
        while not self._stopping.is_set():
            try:
                connection, _peer = self._listener.accept()
            except OSError:
                return
            if self._is_refused():
                _reset(connection)
                continue
            thread = threading.Thread(target=self._serve, args=(connection, self._tls), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _is_refused(self) -> bool:
        with self._lock:
            self.connections += 1
            self._refusals -= 1
            return self._refusals >= 0

    def _serve(self, connection: socket.socket, tls: ssl.SSLContext | None) -> None:
        try:
            if tls is not None:
                connection.settimeout(10)
                connection = tls.wrap_socket(connection, server_side=True)
                connection.settimeout(None)
            with self._lock:
                self._open.add(connection)
            for request in _requests(connection):
                if request.method == "CONNECT":
                    connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
                    self._serve(connection, self._proxied)
                    break
                if not self._answer(connection, request):
                    break
        except (OSError, ValueError, HTTPException):
            pass  # The client or the handler has closed the connection, or TLS failed.
        finally:
            with self._lock:
                self._open.discard(connection)
            connection.close()

    def _answer(self, connection: socket.socket, request: Request) -> bool:
        """Respond to a request, and return False if the connection ends."""
        with self._lock:
            self.requests.append(request)
        reply = self.handler(request)
        if reply.hang:
            self._stopping.wait(_LONGEST_HANG)
            return False
        if reply.reset:
            _reset(connection)
            return False
        if not reply.drip:
            connection.sendall(reply.head() + reply.body)
        else:
            self._drip(connection, reply.head(), reply.drip if reply.drip_head else 0.0)
            self._drip(connection, reply.body, reply.drip)
        with self._lock:
            self.completed += 1
        return not (reply.missing or reply.close)

    def _drip(self, connection: socket.socket, content: bytes, pause: float) -> None:
        for number in range(len(content)):
            connection.sendall(content[number : number + 1])
            if self._stopping.wait(pause):
                raise ConnectionAbortedError


@contextlib.contextmanager
def serving(handler: Handler, **contexts: ssl.SSLContext | None) -> Iterator[ScriptedServer]:
    """Run a server until the block ends."""
    server = ScriptedServer(handler, **contexts)
    try:
        yield server
    finally:
        server.stop()


def pass_on(request: Request, upstream: str) -> Reply:
    """Send a request to another server, and return its response."""
    connection = HTTPConnection(urlsplit(upstream).netloc, timeout=UPSTREAM_SECONDS)
    try:
        headers = {k: v for k, v in request.headers.items() if k not in _HOP_BY_HOP}
        connection.request(request.method, request.target, request.body or None, headers)
        response = connection.getresponse()
        kept = {k: v for k, v in response.getheaders() if k.lower() not in _HOP_BY_HOP}
        return Reply(response.status, response.read(), kept)
    finally:
        connection.close()


def _requests(connection: socket.socket) -> Iterator[Request]:
    """Yield the requests on a connection."""
    stream = connection.makefile("rb")
    with stream:
        while True:
            line = stream.readline().decode("latin-1").split()
            if len(line) != 3:
                return
            headers = {name.lower(): value for name, value in parse_headers(stream).items()}
            body = stream.read(int(headers.get("content-length", "0")))
            yield Request(line[0], line[1], headers, body)


def _reset(connection: socket.socket) -> None:
    """Reset a connection."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()
