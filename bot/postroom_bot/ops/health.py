# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""For operators and their machines: is it alive, is it ready, how much does it do."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING, NamedTuple

from postroom_bot.ops import metrics as measuring
from postroom_bot.ops.metrics import Metrics

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIEnvironment


class Health(NamedTuple):
    """How one thing stands.

    :param works: whether the bot is of use as far as this goes
    """

    works: bool
    text: str = "ok"


Check = Callable[[], Health]


class HealthApp:
    """The WSGI application with ``/healthz``, ``/readyz`` and ``/metrics``.

    :param checks: what has to be right for the bot to be of use, by name
    """

    def __init__(self, checks: Mapping[str, Check], metrics: Metrics) -> None:
        self._checks = checks
        self._metrics = metrics

    def __call__(self, environ: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
        """Answer one request."""
        status, kind, body = self._answer(str(environ.get("PATH_INFO")))
        headers = [
            ("content-type", kind),
            ("content-length", str(len(body))),
            ("cache-control", "no-store"),
        ]
        start(f"{status.value} {status.phrase}", headers)
        return [body]

    def _answer(self, path: str) -> tuple[HTTPStatus, str, bytes]:
        if path == "/healthz":
            return HTTPStatus.OK, "text/plain", b"ok\n"
        if path == "/readyz":
            return self._readiness()
        if path == "/metrics":
            return HTTPStatus.OK, measuring.CONTENT_TYPE, self._metrics.page()
        return HTTPStatus.NOT_FOUND, "text/plain", b"there is /healthz, /readyz and /metrics\n"

    def _readiness(self) -> tuple[HTTPStatus, str, bytes]:
        found = {name: check() for name, check in self._checks.items()}
        ready = all(health.works for health in found.values())
        texts = {name: health.text for name, health in found.items()}
        body = json.dumps({"ready": ready, **texts}).encode() + b"\n"
        status = HTTPStatus.OK if ready else HTTPStatus.SERVICE_UNAVAILABLE
        return status, "application/json", body
