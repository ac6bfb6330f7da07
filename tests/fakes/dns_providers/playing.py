# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A JSON API played on the loopback, for providers that nobody can run by themselves.

It is reached directly, or by its true name through the proxy that it is as well.
"""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple, Protocol
from urllib.parse import parse_qsl, urlsplit

IDLE_SECONDS = 20.0


class Asked(NamedTuple):
    """One request: the parts of its path, its query, and its body out of JSON."""

    method: str
    path: tuple[str, ...]
    query: dict[str, str]
    body: Any


class Api(Protocol):
    """What answers the requests."""

    #: What the header `Authorization` has to be.
    authorization: str

    def answer(self, asked: Asked) -> tuple[int, Any]:
        """Return the status and what becomes JSON."""

    def refuse(self) -> tuple[int, Any]:
        """Return the same for whoever has another token."""


class Player:
    """Plays an API until its block ends.

    :param url: where it is, without a path
    :param writes: every request that could change something, as `METHOD /path`
    """

    def __init__(self, api: Api, context: ssl.SSLContext | None) -> None:
        self.api = api
        self.context = context
        self.writes: list[str] = []
        self.server = _Server(("127.0.0.1", 0), _Handler)
        self.server.player = self
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def take_writes(self) -> list[str]:
        """Return the writes since the last call."""
        taken, self.writes = self.writes, []
        return taken


@contextmanager
def played(api: Api, context: ssl.SSLContext | None = None) -> Iterator[Player]:
    """Play an API.

    :param context: for TLS behind the proxy
    """
    player = Player(api, context)
    thread = threading.Thread(target=player.server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield player
    finally:
        player.server.shutdown()
        thread.join()
        player.server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    player: Player


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = IDLE_SECONDS
    server: _Server

    def do_CONNECT(self) -> None:
        """Be the host that the client wants to reach through us."""
        context = self.server.player.context
        assert context is not None, "there is no certificate to be somebody else with"
        self.send_response(200)
        self.end_headers()
        self.connection = context.wrap_socket(self.connection, server_side=True)
        self.rfile = self.connection.makefile("rb")
        self.wfile = self.connection.makefile("wb", buffering=0)
        self.close_connection = False

    def finish(self) -> None:
        """Close what TLS was put around; the server closes what it has opened itself."""
        super().finish()
        if self.connection is not self.request:
            self.connection.close()

    def do_GET(self) -> None:
        """Answer a request of any method."""
        player = self.server.player
        parts = urlsplit(self.path)
        content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path = tuple(parts.path.strip("/").split("/"))
        body = json.loads(content) if content else None
        if self.command != "GET":
            player.writes.append(f"{self.command} {parts.path}")
        asked = Asked(self.command, path, dict(parse_qsl(parts.query)), body)
        if self.headers.get("Authorization") == player.api.authorization:
            self._send(*player.api.answer(asked))
        else:
            self._send(*player.api.refuse())

    do_POST = do_PUT = do_DELETE = do_GET  # noqa: N815 - the base class names them

    def _send(self, status: int, answer: Any) -> None:
        content = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """Keep the output of the tests clean."""
