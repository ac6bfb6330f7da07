# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Responses from mail APIs and proxies, and scripted exchanges with a server."""

from __future__ import annotations

import contextlib
import ssl
import threading
from collections.abc import Iterator

from ansible_collections.postroom.email.tests.fakes.http_server import (
    RESET,
    Handler,
    Reply,
    Request,
    ScriptedServer,
    json_reply,
)

__all__ = ["RESET", "Handler", "Reply", "Request", "ScriptedServer", "json_reply"]

HANG = Reply(hang=True)
NO_CONTENT = Reply(204)
EMPTY = Reply(200)
Exchange = tuple[str, str, Reply]


def problem(status: int, detail: str = "", title: str = "") -> Reply:
    """Return a problem document (RFC 9457)."""
    body = {"type": "about:blank", "title": title or f"Status {status}", "status": status}
    reply = json_reply({**body, "detail": detail} if detail else body, status)
    return reply.having(Content_Type="application/problem+json")


def text_reply(text: str, status: int = 200, kind: str = "text/plain") -> Reply:
    """Return a reply that is not JSON."""
    return Reply(status, text.encode(), {"Content-Type": kind})


def html(status: int, title: str = "Bad Gateway") -> Reply:
    """Return an error page of a proxy."""
    page = f"<html><head><title>{title}</title></head><body><h1>{title}</h1></body></html>"
    return text_reply(page, status, "text/html")


def redirect(to: str, status: int = 302) -> Reply:
    """Return a redirect."""
    return Reply(status, b"", {"Location": to})


class Script:
    """A handler that responds to the expected requests, in order, and records unexpected requests.

    :param exchanges: the method, target and reply of each request
    """

    def __init__(self, *exchanges: Exchange) -> None:
        self._exchanges = list(exchanges)
        self._lock = threading.Lock()
        self.surprises: list[str] = []

    def __call__(self, request: Request) -> Reply:
        """Respond to a request."""
        with self._lock:
            if self._exchanges and self._exchanges[0][:2] == (request.method, request.target):
                return self._exchanges.pop(0)[2]
            self.surprises.append(request.line)
        return problem(599, f"unexpected: {request.line}")

    def verify(self) -> None:
        """Raise AssertionError unless the requests were exactly the expected ones."""
        missing = [f"{method} {target}" for method, target, _reply in self._exchanges]
        if self.surprises or missing:
            raise AssertionError(f"unexpected: {self.surprises}; still expected: {missing}")


@contextlib.contextmanager
def scripted(handler: Handler, *, tls: ssl.SSLContext | None = None) -> Iterator[ScriptedServer]:
    """Run a server for a handler. If the handler is a Script, verify it at the end."""
    server = ScriptedServer(handler, tls=tls)
    try:
        yield server
    finally:
        server.stop()
    if isinstance(handler, Script):
        handler.verify()
