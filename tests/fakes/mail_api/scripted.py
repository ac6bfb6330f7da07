# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A small HTTP server on the loopback that answers whatever a test tells it to.

    with scripted(Script(("GET", "/api/principal", json_reply([])))) as server:
        fetch(server.url)
    assert server.requests[0].headers["authorization"] == "Bearer ..."

It can answer as no proper server would: cut a body short, drip it a byte at a time, reset the
connection, hang. What answers is any function of a Request; ``Script`` is one for fixed
exchanges, ``quirky.QuirkyService`` one with a memory. Uses the standard library only.
"""

from __future__ import annotations

import contextlib
import json
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

_LONGEST_HANG = 30.0


@dataclass(frozen=True)
class Request:
    """A request as it came: ``target`` is raw, header names are lower-case."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body as JSON, None where there is no body."""
        return json.loads(self.body) if self.body else None

    @property
    def line(self) -> str:
        """Method and target."""
        return f"{self.method} {self.target}"


@dataclass(frozen=True)
class Reply:
    """What to answer.

    :param missing: how many bytes less than promised to send, before the connection is closed
    :param drip: seconds of pause after every byte
    :param drip_head: drip the status line and the headers too
    :param hang: say nothing until the server is stopped
    :param reset: reset the connection in place of an answer
    :param close: end the connection after the answer
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
        """Return the reply with headers more; ``_`` in a name stands for ``-``."""
        more = {name.replace("_", "-"): value for name, value in headers.items()}
        return replace(self, headers={**self.headers, **more})

    def head(self) -> bytes:
        """Return the status line and the headers."""
        lines = [f"HTTP/1.1 {self.status} Scripted"]
        lines += [f"{name}: {value}" for name, value in self.headers.items()]
        if self.status != 204:
            lines.append(f"Content-Length: {len(self.body) + self.missing}")
        return "".join(f"{line}\r\n" for line in [*lines, ""]).encode("latin-1")


Handler = Callable[[Request], Reply]
Exchange = tuple[str, str, Reply]


def json_reply(value: Any, status: int = 200) -> Reply:
    """Return a reply with a JSON body."""
    body = json.dumps(value).encode()
    return Reply(status, body, {"Content-Type": "application/json"})


def problem(status: int, detail: str = "", title: str = "") -> Reply:
    """Return a problem document (RFC 9457)."""
    body = {"type": "about:blank", "title": title or f"Status {status}", "status": status}
    reply = json_reply({**body, "detail": detail} if detail else body, status)
    return reply.having(Content_Type="application/problem+json")


def wire_error(word: str, **more: Any) -> Reply:
    """Return an error as servers of this family report it: under status 200."""
    return json_reply({"error": word, **more})


def text_reply(text: str, status: int = 200, kind: str = "text/plain") -> Reply:
    """Return a reply that is not JSON."""
    return Reply(status, text.encode(), {"Content-Type": kind})


def html(status: int, title: str = "Bad Gateway") -> Reply:
    """Return the page of a proxy."""
    page = f"<html><head><title>{title}</title></head><body><h1>{title}</h1></body></html>"
    return text_reply(page, status, "text/html")


def redirect(to: str, status: int = 302) -> Reply:
    """Return a redirect."""
    return Reply(status, b"", {"Location": to})


RESET = Reply(reset=True)
HANG = Reply(hang=True)
NO_CONTENT = Reply(204)
EMPTY = Reply(200)


class Script:
    """Answers the requests that it expects, in their order, and remembers what it did not expect.

    :param exchanges: method, target and reply, one for each request
    """

    def __init__(self, *exchanges: Exchange) -> None:
        self._exchanges = list(exchanges)
        self._lock = threading.Lock()
        self.surprises: list[str] = []

    def __call__(self, request: Request) -> Reply:
        """Answer one request."""
        with self._lock:
            if self._exchanges and self._exchanges[0][:2] == (request.method, request.target):
                return self._exchanges.pop(0)[2]
            self.surprises.append(request.line)
        return problem(599, f"The script does not go on with {request.line}")

    @property
    def unsent(self) -> list[str]:
        """What was expected and did not come."""
        return [f"{method} {target}" for method, target, _reply in self._exchanges]

    def verify(self) -> None:
        """Fail where another request came than expected, or one did not come."""
        if self.surprises or self.unsent:
            raise AssertionError(f"unexpected: {self.surprises}; still expected: {self.unsent}")


class ScriptedServer:
    """Serves a handler on a free port of the loopback until it is stopped.

    :param tls: serve HTTPS with this context
    :ivar requests: every request that was read, in the order of arrival
    :ivar connections: how many connections were accepted
    :ivar completed: how many replies were sent to their end
    """

    def __init__(self, handler: Handler, *, tls: ssl.SSLContext | None = None) -> None:
        self.handler = handler
        self.requests: list[Request] = []
        self.connections = 0
        self.completed = 0
        self._tls = tls
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
        """The server's address, without a slash at its end."""
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self.port}"

    @property
    def lines(self) -> list[str]:
        """Method and target of every request."""
        return [request.line for request in self.requests]

    @property
    def writes(self) -> list[str]:
        """Method and target of every request that is no read."""
        return [request.line for request in self.requests if request.method != "GET"]

    def reset_connections(self, count: int) -> None:
        """Reset the next connections before anything is read from them."""
        with self._lock:
            self._refusals = count

    def stop(self) -> None:
        """End every connection and wait for the threads."""
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
            thread = threading.Thread(target=self._serve, args=(connection,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _is_refused(self) -> bool:
        with self._lock:
            self.connections += 1
            self._refusals -= 1
            return self._refusals >= 0

    def _serve(self, connection: socket.socket) -> None:
        try:
            if self._tls is not None:
                connection.settimeout(10)
                connection = self._tls.wrap_socket(connection, server_side=True)
                connection.settimeout(None)
            with self._lock:
                self._open.add(connection)
            for request in _requests(connection):
                if not self._answer(connection, request):
                    break
        except (OSError, ValueError):
            pass  # the client went away, or never wanted to speak TLS: nothing to answer
        finally:
            with self._lock:
                self._open.discard(connection)
            connection.close()

    def _answer(self, connection: socket.socket, request: Request) -> bool:
        """Answer a request and tell whether the connection goes on."""
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
def scripted(handler: Handler, *, tls: ssl.SSLContext | None = None) -> Iterator[ScriptedServer]:
    """Serve for the length of a ``with``; a Script is held to its word at its end."""
    server = ScriptedServer(handler, tls=tls)
    try:
        yield server
    finally:
        server.stop()
    if isinstance(handler, Script):
        handler.verify()


def _requests(connection: socket.socket) -> Iterator[Request]:
    """Yield the requests that come over a connection."""
    stream = connection.makefile("rb")
    with stream:
        while True:
            line = stream.readline().decode("latin-1").split()
            if len(line) != 3:
                return
            headers = dict(_headers(iter(stream.readline, b"")))
            body = stream.read(int(headers.get("content-length", "0")))
            yield Request(line[0], line[1], headers, body)


def _headers(lines: Iterable[bytes]) -> Iterator[tuple[str, str]]:
    for line in lines:
        name, colon, value = line.decode("latin-1").strip().partition(":")
        if not colon:
            return
        yield name.lower(), value.strip()


def _reset(connection: socket.socket) -> None:
    """Close a connection so that the other end sees a reset."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()
