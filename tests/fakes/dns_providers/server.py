# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The HTTP server of a fake JSON API on a loopback port.

The server is also a proxy for every host, for clients that insist on the provider's host name.
"""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, Protocol
from urllib.parse import parse_qsl, urlsplit

from ansible_collections.postroom.email.tests.fakes.http_server import (
    Reply,
    Request,
    json_reply,
    serving,
)


class ApiRequest(NamedTuple):
    """A request with the parts of its path, its query and its JSON body."""

    method: str
    path: tuple[str, ...]
    query: dict[str, str]
    body: Any


class Api(Protocol):
    """An API. `authorization` is the required value of the Authorization header."""

    authorization: str

    def answer(self, asked: ApiRequest) -> tuple[int, Any]:
        """Return the status and the JSON body of the response."""

    def refuse(self) -> tuple[int, Any]:
        """Return the response to an invalid token."""


class ApiServer:
    """A running API.

    :param url: the URL without a path
    :param writes: `METHOD /path` of each request that is not a GET
    """

    def __init__(self, api: Api) -> None:
        self.api = api
        self.writes: list[str] = []
        self.url = ""

    def take_writes(self) -> list[str]:
        """Return the writes since the last call."""
        taken, self.writes = self.writes, []
        return taken

    def __call__(self, request: Request) -> Reply:
        """Respond to a request."""
        parts = urlsplit(request.target)
        if request.method != "GET":
            self.writes.append(f"{request.method} {parts.path}")
        if request.headers.get("authorization") != self.api.authorization:
            status, body = self.api.refuse()
        else:
            path = tuple(parts.path.strip("/").split("/"))
            asked = ApiRequest(request.method, path, dict(parse_qsl(parts.query)), request.json)
            status, body = self.api.answer(asked)
        return json_reply(body, status)


@contextmanager
def running_api(api: Api, context: ssl.SSLContext | None = None) -> Iterator[ApiServer]:
    """Run an API. `context` is the TLS context for the proxied host."""
    player = ApiServer(api)
    with serving(player, proxied=context) as server:
        player.url = server.url
        yield player
