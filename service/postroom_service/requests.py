# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Strict parsing of request bodies, and the request log, which never contains bodies."""

from __future__ import annotations

import json
import logging
import time
import uuid
from collections.abc import Mapping
from typing import Any, NoReturn

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from postroom_common.logs import failure

from .errors import Problem

MAX_BODY = 1024 * 1024
MAX_DEPTH = 8

log = logging.getLogger("postroom_service.requests")

_HEADERS = ((b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff"))


def note(scope: Scope, **fields: Any) -> None:
    """Add fields to the log line of a request."""
    scope.setdefault("postroom", {}).update(fields)


class RequestLog:
    """ASGI middleware that assigns request ids and logs each request and exception.

    :param paths: path templates, keyed by endpoint
    """

    def __init__(self, app: ASGIApp, paths: Mapping[Any, str]) -> None:
        self._app = app
        self._paths = paths

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle and log an HTTP request, or pass other scopes through."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        number = uuid.uuid4().hex
        extra = [*_HEADERS, (b"x-request-id", number.encode("ascii"))]
        method = scope["method"] if scope["method"].isalpha() else "?"
        note(scope, request_id=number, method=method)
        begin = time.perf_counter()

        async def noting(message: Message) -> None:
            if message["type"] == "http.response.start":
                note(scope, status=message["status"])
                message["headers"] = [*message["headers"], *extra]
            await send(message)

        try:
            await self._app(scope, receive, noting)
        except Exception as error:  # noqa: BLE001 the application has already responded with 500
            log.error("failure", extra={"fields": {"request_id": number, **failure(error)}})  # noqa: TRY400
        finally:
            path = self._paths.get(scope.get("endpoint"), "(unknown)")
            note(scope, path=path, ms=round((time.perf_counter() - begin) * 1000, 2))
            log.info("request", extra={"fields": scope["postroom"]})


async def read_body(request: Request) -> bytes:
    """Read the request's body, or raise a Problem if the body is larger than MAX_BODY."""
    declared = request.headers.get("content-length", "0")
    if declared.isdecimal() and int(declared) > MAX_BODY:
        _too_large()
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_BODY:
            _too_large()
    return bytes(body)


def parse_json(content_type: str | None, body: bytes) -> Any:
    """Parse a JSON body. Reject other media types, duplicate keys, deep nesting and NaN."""
    media, _, parameters = (content_type or "").partition(";")
    charset = parameters.strip().lower().replace('"', "")
    if media.strip().lower() != "application/json" or charset not in ("", "charset=utf-8"):
        raise Problem(
            "unsupported_media_type",
            "Send Content-Type: application/json.",
            headers={"Accept": "application/json"},
        )
    try:
        text = body.decode("utf-8")
        value = json.loads(text, object_pairs_hook=_object, parse_constant=_constant)
        _check_depth(value)
    except RecursionError:
        detail = f"The JSON is nested more than {MAX_DEPTH} levels deep."
        raise Problem("too_deep", detail) from None
    except ValueError:
        raise Problem("malformed_json", "The body can't be read as JSON in UTF-8.") from None
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise Problem("duplicate_key", "A JSON object has a duplicate key.")
    return value


def _constant(_name: str) -> NoReturn:
    raise ValueError("NaN and Infinity are not JSON")


def _check_depth(value: Any, level: int = 0) -> None:
    if level == MAX_DEPTH:
        raise RecursionError
    if isinstance(value, (dict, list)):
        for item in value.values() if isinstance(value, dict) else value:
            _check_depth(item, level + 1)


def _too_large() -> NoReturn:
    raise Problem("body_too_large", f"The body is larger than {MAX_BODY} bytes.")
