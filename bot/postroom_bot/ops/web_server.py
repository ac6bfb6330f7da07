# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The web server, and its endpoints for operators: liveness, readiness and metrics."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Iterable, Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, NamedTuple

from cheroot import wsgi
from prometheus_client import generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

from postroom_bot.errors import StartError
from postroom_bot.ops.metrics import Metrics

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIEnvironment

#: The maximum size of a request body, which is far larger than Slack's largest payload: a submitted
#: modal with its complete view.
BODY_BYTES = 512 * 1024
HEADER_BYTES = 32 * 1024
#: The timeout of a client's connection. Slack waits only 3 seconds for a response.
CLIENT_SECONDS = 5
GRACE_SECONDS = 10

Application = Callable[..., Iterable[bytes]]

log = logging.getLogger(__name__)


class Health(NamedTuple):
    """The state of one component.

    :param works: whether the bot counts as ready while the component is in this state
    :param text: the component's state, for `/readyz`
    """

    works: bool
    text: str = "ok"


class HealthApp:
    """The WSGI application that serves ``/healthz``, ``/readyz`` and ``/metrics``.

    :param checks: the health check of each component, keyed by the component's name in ``/readyz``
    """

    def __init__(self, checks: Mapping[str, Callable[[], Health]], metrics: Metrics) -> None:
        self._checks = checks
        self._metrics = metrics

    def __call__(self, environ: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
        """Respond to a request."""
        status, kind = HTTPStatus.OK, "text/plain"
        match environ.get("PATH_INFO"):
            case "/healthz":
                body = b"ok\n"
            case "/readyz":
                found = {name: check() for name, check in self._checks.items()}
                ready = all(health.works for health in found.values())
                status = HTTPStatus.OK if ready else HTTPStatus.SERVICE_UNAVAILABLE
                texts = {name: health.text for name, health in found.items()}
                kind = "application/json"
                body = json.dumps({"ready": ready, **texts}).encode() + b"\n"
            case "/metrics":
                kind, body = CONTENT_TYPE_PLAIN_0_0_4, generate_latest(self._metrics.registry)
            case _:
                status = HTTPStatus.NOT_FOUND
                body = b"use /healthz, /readyz or /metrics\n"
        length = ("content-length", str(len(body)))
        headers = [("content-type", kind), length, ("cache-control", "no-store")]
        start(f"{status.value} {status.phrase}", headers)
        return [body]


class WebServer:
    """A threaded server for a WSGI application, which finishes current requests before it stops."""

    def __init__(self, application: Application, host: str, port: int, *, threads: int) -> None:
        self._host, self._port = host, port
        self._server = wsgi.Server(
            (host, port),
            application,
            numthreads=threads,
            server_name="postroom-bot",
            request_queue_size=128,
            timeout=CLIENT_SECONDS,
            shutdown_timeout=GRACE_SECONDS,
        )
        self._server.max_request_body_size = BODY_BYTES
        self._server.max_request_header_size = HEADER_BYTES
        # cheroot expects its log function to be replaced by assignment.
        self._server.error_log = _log_message  # type: ignore[method-assign]
        self._thread = threading.Thread(target=self._server.serve, name="web", daemon=True)

    def start(self) -> str:
        """Start listening, and return the URL."""
        try:
            self._server.prepare()
        except OSError as error:
            raise StartError(
                f"can't listen on {self._host} port {self._port} ({error.strerror or error})"
            ) from None
        self._thread.start()
        host, port = self._server.bind_addr[:2]
        return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

    @property
    def is_serving(self) -> bool:
        """Whether the server accepts requests."""
        return self._thread.is_alive() and bool(self._server.ready)

    def stop(self) -> None:
        """Stop accepting requests, and finish those in progress."""
        self._server.stop()
        if self._thread.is_alive():
            self._thread.join(GRACE_SECONDS)


def _log_message(msg: str = "", level: int = logging.INFO, traceback: Any = False) -> None:  # noqa: FBT002
    """Log a message that the server would otherwise print."""
    log.log(level, "web server: %s", msg, exc_info=bool(traceback))
