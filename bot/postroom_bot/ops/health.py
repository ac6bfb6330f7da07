# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The HTTP endpoints for operators: liveness, readiness and metrics."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING, NamedTuple

from postroom_bot.ops.metrics import CONTENT_TYPE, Metrics

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIEnvironment


class Health(NamedTuple):
    """The state of one component.

    :param works: whether the bot is ready as far as this component is concerned
    """

    works: bool
    text: str = "ok"


Check = Callable[[], Health]


class HealthApp:
    """The WSGI application with ``/healthz``, ``/readyz`` and ``/metrics``.

    :param checks: the components of readiness, by name
    """

    def __init__(self, checks: Mapping[str, Check], metrics: Metrics) -> None:
        self._checks = checks
        self._metrics = metrics

    def __call__(self, environ: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
        """Answer one request."""
        status, kind = HTTPStatus.OK, "text/plain"
        match environ.get("PATH_INFO"):
            case "/healthz":
                body = b"ok\n"
            case "/readyz":
                status, kind, body = self._readiness()
            case "/metrics":
                kind, body = CONTENT_TYPE, self._metrics.page()
            case _:
                status = HTTPStatus.NOT_FOUND
                body = b"use /healthz, /readyz or /metrics\n"
        headers = [
            ("content-type", kind),
            ("content-length", str(len(body))),
            ("cache-control", "no-store"),
        ]
        start(f"{status.value} {status.phrase}", headers)
        return [body]

    def _readiness(self) -> tuple[HTTPStatus, str, bytes]:
        found = {name: check() for name, check in self._checks.items()}
        ready = all(health.works for health in found.values())
        texts = {name: health.text for name, health in found.items()}
        body = json.dumps({"ready": ready, **texts}).encode() + b"\n"
        status = HTTPStatus.OK if ready else HTTPStatus.SERVICE_UNAVAILABLE
        return status, "application/json", body
