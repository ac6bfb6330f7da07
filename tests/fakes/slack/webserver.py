# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Slack's side of HTTP: the Web API and response URLs, on a loopback port."""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, HTTPServer
from socketserver import ThreadingMixIn
from urllib.parse import parse_qsl, urlsplit

from ansible_collections.postroom.email.tests.fakes.slack import responses, webapi
from ansible_collections.postroom.email.tests.fakes.slack.faults import Fault, Faults
from ansible_collections.postroom.email.tests.fakes.slack.records import Payload
from ansible_collections.postroom.email.tests.fakes.slack.world import World

API = "/api/"
RESPONSES = "/response/"


#: Takes a method, its arguments and the answer to it.
SecondOpinion = Callable[[str, Payload, Payload], str]


class WebServer(ThreadingMixIn, HTTPServer):
    """An HTTP server whose threads are waited for when it is closed."""

    daemon_threads = False
    request_queue_size = 128

    def __init__(self, world: World, faults: Faults) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.world = world
        self.faults = faults
        #: Gives a second opinion on an answer: "" where it is the same.
        self.second: SecondOpinion = _agree
        self.url = f"http://127.0.0.1:{self.server_address[1]}"


@contextmanager
def serving(world: World, faults: Faults) -> Iterator[WebServer]:
    """Answer for the length of a block."""
    server = WebServer(world, faults)
    # Waited for below; a program that is interrupted before that does not wait for it.
    thread = threading.Thread(
        target=server.serve_forever, args=(0.02,), name="slack-web", daemon=True
    )
    thread.start()
    try:
        yield server
    finally:
        faults.closing.set()
        server.shutdown()
        server.server_close()
        thread.join()


def _agree(method: str, args: Payload, answer: Payload) -> str:
    """Have no second opinion."""
    return ""


class _Handler(BaseHTTPRequestHandler):
    """One call: each has a connection of its own."""

    server: WebServer
    # A client that stops in the middle does not hold a thread for longer.
    timeout = 30

    def do_GET(self) -> None:
        """Answer a call whose arguments are in the query."""
        self._answer(dict(parse_qsl(urlsplit(self.path).query)))

    def do_POST(self) -> None:
        """Answer a call whose arguments are a form or JSON."""
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        kind = self.headers.get_content_type()
        text = raw.decode("utf-8")
        try:
            args = json.loads(text or "{}") if kind == "application/json" else dict(parse_qsl(text))
        except ValueError:
            self._send(HTTPStatus.OK, '{"ok":false,"error":"invalid_json"}')
            return
        self._answer(args)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: the workspace has its own transcript."""

    def _answer(self, args: Payload) -> None:
        """Carry out a call, unless a fault is to happen to it."""
        path = urlsplit(self.path).path
        method = path.removeprefix(API) if path.startswith(API) else "response_url"
        fault = self.server.faults.take(method)
        if fault is not None and not fault.after_effect:
            self._go_wrong(method, fault)
            return
        status, body = self._carry_out(path, args)
        if fault is not None:
            self._go_wrong(method, fault)
            return
        self._send(status, body)

    def _carry_out(self, path: str, args: Payload) -> tuple[int, str]:
        """Return status and body of the answer."""
        world = self.server.world
        if path.startswith(RESPONSES):
            return responses.respond(world, path.removeprefix(RESPONSES), args)
        if not path.startswith(API):
            return HTTPStatus.NOT_FOUND, "not found"
        scheme, _space, token = self.headers.get("Authorization", "").partition(" ")
        shown = token if scheme == "Bearer" else str(args.pop("token", ""))
        method, read = path.removeprefix(API), webapi.unpacked(args)
        answer = webapi.call(world, method, shown, read)
        if shown == world.bot_token and (contrary := self.server.second(method, read, answer)):
            world.complain(contrary)
        return HTTPStatus.OK, json.dumps(answer)

    def _go_wrong(self, method: str, fault: Fault) -> None:
        """Do to a call what was wished."""
        self.server.world.note(f"fault {method}", f"{fault.status or 'connection cut'}")
        self.server.faults.closing.wait(fault.seconds)
        if fault.status:
            self._send(fault.status, fault.body, fault.headers)
        else:
            self._cut()

    def _cut(self) -> None:
        """Close the connection so that the other side sees a reset."""
        self.close_connection = True
        with suppress(OSError):
            linger = struct.pack("ii", 1, 0)
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            self.connection.close()

    def _send(self, status: int, body: str, headers: dict[str, str] | None = None) -> None:
        """Send an answer, if anybody is still there to take it."""
        data = body.encode("utf-8")
        kind = "application/json" if body.startswith("{") else "text/plain"
        with suppress(OSError):
            self.send_response(status)
            self.send_header("Content-Type", f"{kind}; charset=utf-8")
            self.send_header("Content-Length", str(len(data)))
            for name, value in (headers or {}).items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)
