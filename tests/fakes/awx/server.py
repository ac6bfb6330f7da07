# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""An HTTP server for the AWX API on a loopback port, with optional faults."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple
from urllib.parse import parse_qs, unquote, urlencode, urlsplit

from ansible_collections.postroom.email.tests.fakes import http_server

PREFIX = "/api/v2/"
MAX_PAGE_SIZE = 200
_PRODUCT = {"X-API-Product-Name": "AWX", "X-API-Product-Version": "24.6.1"}

#: A response's status and body.
Answer = tuple[int, Any]
NOT_FOUND: Answer = (404, {"detail": "Not found."})
DENIED: Answer = (403, {"detail": "You do not have permission to perform this action."})


class Refused(Exception):
    """Raised to refuse a request with this response."""

    def __init__(self, status: int, body: Any) -> None:
        super().__init__(f"status {status}")
        self.answer = (status, body)


class Request(NamedTuple):
    """A request. `path` is below `/api/v2/`, and `query` contains the last value of each key."""

    method: str
    path: tuple[str, ...]
    query: Mapping[str, str] = {}
    body: Any = None
    authorization: str = ""


class Fault(NamedTuple):
    """A fault that affects one request.

    :param part: a part of the request's method and path, such as `POST` or `launch`
    :param status: the status of the response, or None to reset the connection
    :param after: whether to execute the request first
    """

    part: str
    status: int | None
    after: bool = False
    headers: Mapping[str, str] = {}


def page_of(shown: Sequence[Any], request: Request) -> Answer:
    """Return a page of a list, or an error if the page does not exist."""
    query = request.query
    page = int(query.get("page", "1"))
    size = min(int(query.get("page_size", "25")), MAX_PAGE_SIZE)
    start = (page - 1) * size
    if page > 1 and start >= len(shown):
        return 404, {"detail": "Invalid page."}

    def link(number: int) -> str:
        return f"{PREFIX}{'/'.join(request.path)}/?{urlencode({**query, 'page': number})}"

    return 200, {
        "count": len(shown),
        "next": link(page + 1) if start + size < len(shown) else None,
        "previous": link(page - 1) if page > 1 else None,
        "results": list(shown[start : start + size]),
    }


@contextmanager
def serving(
    answer_to: Callable[[Request], Answer],
    fault_for: Callable[[str], Fault | None] = lambda _line: None,
) -> Iterator[str]:
    """Serve an application, and yield its URL.

    :param fault_for: a function that records a request's method and path and returns its fault
    """

    def handle(received: http_server.Request) -> http_server.Reply:
        fault = fault_for(received.line)
        if fault is None or fault.after:
            answer = answer_to(_read(received))
        if fault is None:
            return _reply(*answer)
        if fault.status is None:
            raise ConnectionAbortedError
        return _reply(fault.status, {"detail": "A fault."}, fault.headers)

    with http_server.serving(handle) as server:
        yield server.url


def _read(received: http_server.Request) -> Request:
    parts = urlsplit(received.target)
    path = parts.path.removeprefix(PREFIX).strip("/").split("/")
    query = parse_qs(parts.query, keep_blank_values=True)
    return Request(
        received.method,
        tuple(unquote(part) for part in path),
        {key: values[-1] for key, values in query.items()},
        received.json,
        received.headers.get("authorization", ""),
    )


def _reply(status: int, body: Any, headers: Mapping[str, str] | None = None) -> http_server.Reply:
    reply = http_server.Reply(status) if body is None else http_server.json_reply(body, status)
    return reply.having(**_PRODUCT, **(headers or {}))
