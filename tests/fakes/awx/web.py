# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""AWX's interface as HTTP on the loopback: requests to an application, and faults in between."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple, Protocol
from urllib.parse import parse_qs, unquote, urlsplit

PREFIX = "/api/v2/"
_SECONDS = 120.0

#: Status and what the body says.
Answer = tuple[int, Any]


class Request(NamedTuple):
    """A request.

    :param path: below ``/api/v2/``, in parts
    :param query: the last value of each key
    :param body: what its JSON says; None where there is none
    """

    method: str
    path: tuple[str, ...]
    query: Mapping[str, str] = {}
    body: Any = None
    authorization: str = ""


class Fault(NamedTuple):
    """What befalls one request.

    :param part: of the request's method and path, such as ``POST`` or ``launch``
    :param status: what it is answered with; None resets the connection
    :param after: whether it is carried out first
    """

    part: str
    status: int | None
    after: bool = False
    headers: Mapping[str, str] = {}


class Application(Protocol):
    """What answers."""

    def fault_for(self, line: str) -> Fault | None:
        """Take note of a request, as method and path; return the fault that befalls it."""

    def answer(self, request: Request) -> Answer:
        """Carry a request out."""


@contextmanager
def serving(application: Application) -> Iterator[str]:
    """Let an application answer at the address that is yielded."""
    server = _Server(("127.0.0.1", 0), _Handler)
    server.application = application
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    application: Application


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    timeout = _SECONDS

    def handle(self) -> None:
        # A client that went away is the client's business.
        with suppress(ConnectionError):
            super().handle()

    def log_message(self, *_arguments: object) -> None:
        """Stay silent."""

    def _serve(self) -> None:
        content = self.rfile.read(int(self.headers.get("content-length") or 0))
        fault = self.server.application.fault_for(f"{self.command} {self.path}")
        if fault is None or fault.after:
            answer = self.server.application.answer(self._request(content))
        if fault is None:
            self._send(*answer)
        elif fault.status is None:
            self.close_connection = True
        else:
            self._send(fault.status, {"detail": "A fault."}, fault.headers)

    do_GET = do_POST = do_PATCH = do_DELETE = _serve  # noqa: N815 - as http.server calls them

    def _request(self, content: bytes) -> Request:
        parts = urlsplit(self.path)
        path = parts.path.removeprefix(PREFIX).strip("/").split("/")
        query = parse_qs(parts.query, keep_blank_values=True)
        return Request(
            self.command,
            tuple(unquote(part) for part in path),
            {key: values[-1] for key, values in query.items()},
            json.loads(content) if content else None,
            self.headers.get("authorization", ""),
        )

    def _send(self, status: int, body: Any, headers: Mapping[str, str] | None = None) -> None:
        content = b"" if body is None else json.dumps(body).encode()
        self.send_response(status)
        ours = {"X-API-Product-Name": "AWX", "X-API-Product-Version": "24.6.1"}
        for key, value in {"Content-Type": "application/json", **ours, **(headers or {})}.items():
            self.send_header(key, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
