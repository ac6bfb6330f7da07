# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Structured logs: one line a request, with no body, no header and no name from the path."""

from __future__ import annotations

import json
import logging
import sys
import time
import traceback
import uuid
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

requests = logging.getLogger("postroom_service.requests")
errors = logging.getLogger("postroom_service.errors")

_HEADERS = ((b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff"))


def configure(*, style: str, level: str) -> None:
    """Send all logs of the process to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter() if style == "json" else TextFormatter())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)


def record(scope: Scope) -> dict[str, Any]:
    """Give the notes about a request that end up in its log line."""
    notes: dict[str, Any] = scope.setdefault("postroom", {})
    return notes


class RequestLog:
    """The outermost ASGI layer: numbers requests and writes a line about each and its failure."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run one request, or pass on what isn't one."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        number = uuid.uuid4().hex
        extra = [*_HEADERS, (b"x-request-id", number.encode("ascii"))]
        notes = record(scope)
        begin = time.perf_counter()

        async def noting(message: Message) -> None:
            if message["type"] == "http.response.start":
                notes["status"] = message["status"]
                message["headers"] = [*message["headers"], *extra]
            await send(message)

        try:
            await self._app(scope, receive, noting)
        except Exception as error:  # noqa: BLE001 the application has answered 500
            _log_failure(number, error)
        finally:
            _log_request(scope, number, (time.perf_counter() - begin) * 1000)


class JsonFormatter(logging.Formatter):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        """Render a record."""
        return json.dumps(
            {"time": _time(record), "level": record.levelname.lower(), **_fields(record)}
        )


class TextFormatter(logging.Formatter):
    """Words and key=value pairs, for people."""

    def format(self, record: logging.LogRecord) -> str:
        """Render a record."""
        fields = _fields(record)
        event = fields.pop("event")
        pairs = " ".join(f"{key}={value}" for key, value in fields.items())
        return f"{_time(record)} {record.levelname:7} {event} {pairs}".rstrip()


def _log_request(scope: Scope, number: str, milliseconds: float) -> None:
    notes = record(scope)
    fields = {
        "event": "request",
        "request_id": number,
        "method": scope["method"] if scope["method"].isalpha() else "?",
        "path": notes.get("route", "(unknown)"),
        "status": notes.get("status"),
        "ms": round(milliseconds, 2),
        "tenant": notes.get("tenant"),
    }
    if "fault" in notes:
        fields["fault"] = notes["fault"]
    requests.info("request", extra={"fields": fields})


def _log_failure(number: str, error: Exception) -> None:
    """Tell where the code failed, not with which values: an exception's text may quote them."""
    where = [
        f"{frame.filename}:{frame.lineno} {frame.name}"
        for frame in traceback.extract_tb(error.__traceback__)
    ]
    fields = {
        "event": "failure",
        "request_id": number,
        "exception": type(error).__name__,
        "where": where[-8:],
    }
    errors.error("failure", extra={"fields": fields})


def _fields(record: logging.LogRecord) -> dict[str, Any]:
    fields = getattr(record, "fields", None)
    if fields is not None:
        return dict(fields)
    plain: dict[str, Any] = {"event": record.getMessage(), "logger": record.name}
    if record.exc_info and record.exc_info[0] is not None:
        plain["exception"] = record.exc_info[0].__name__
    return plain


def _time(record: logging.LogRecord) -> str:
    whole = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
    return f"{whole}.{int(record.msecs):03d}Z"
