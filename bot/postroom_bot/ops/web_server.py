# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The web server, and its endpoints for operators and their tools."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, NamedTuple

from prometheus_client import generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from waitress import wasyncore
from waitress.server import TcpWSGIServer
from waitress.task import ThreadedTaskDispatcher

from postroom_bot.errors import StartError
from postroom_bot.ops import definition_page
from postroom_bot.ops.metrics import Metrics

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIEnvironment

#: The maximum size of a request body, which is far larger than Slack's largest payload: a submitted
#: modal with its complete view.
BODY_BYTES = 512 * 1024
HEADER_BYTES = 32 * 1024
#: How many seconds a client may be silent. Slack waits only 3 seconds for a response.
CLIENT_SECONDS = 5
#: How many seconds a client may take to send a request.
REQUEST_SECONDS = 10
#: The maximum number of connections. More clients wait until one of them ends.
CONNECTIONS = 500
GRACE_SECONDS = 10

Application = Callable[..., Iterable[bytes]]


class Health(NamedTuple):
    """The state of one component.

    :param works: whether the bot counts as ready while the component is in this state
    :param text: the component's state, for `/readyz`
    """

    works: bool
    text: str = "ok"


class AdminApp:
    """The WSGI application that serves ``/healthz``, ``/readyz``, ``/metrics`` and a definition.

    :param checks: the health check of each component, keyed by the component's name in ``/readyz``
    :param definition: the page with the definition, or None to serve no definition
    """

    def __init__(
        self,
        checks: Mapping[str, Callable[[], Health]],
        metrics: Metrics,
        definition: definition_page.DefinitionPage | None = None,
    ) -> None:
        self._checks = checks
        self._metrics = metrics
        self._definition = definition

    def __call__(self, environ: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
        """Respond to a request."""
        status, kind, added = HTTPStatus.OK, "text/plain", tuple[tuple[str, str], ...]()
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
            case definition_page.PATH if self._definition is not None:
                status, kind, body, added = self._definition(environ)
            case _:
                status = HTTPStatus.NOT_FOUND
                body = b"use /healthz, /readyz or /metrics\n"
        length = ("content-length", str(len(body)))
        headers = [("content-type", kind), length, ("cache-control", "no-store"), *added]
        start(f"{status.value} {status.phrase}", headers)
        return [body]


class WebServer:
    """A server for a WSGI application, which finishes current requests before it stops.

    One thread receives all requests and sends all responses, so slow clients occupy no threads of
    the application.
    """

    def __init__(self, application: Application, host: str, port: int, *, threads: int) -> None:
        self._host, self._port = host, port
        self._application, self._threads = application, threads
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="web", daemon=True)
        self._server: _Server | None = None

    def start(self) -> str:
        """Start listening, and return the URL."""
        files: dict[int, Any] = {}
        tasks = ThreadedTaskDispatcher()
        try:
            self._server = _Server(
                self._application,
                files,
                dispatcher=tasks,
                host=self._host,
                port=self._port,
                ident=None,
                connection_limit=CONNECTIONS,
                asyncore_use_poll=True,
                channel_timeout=CLIENT_SECONDS,
                cleanup_interval=1,
                max_request_body_size=BODY_BYTES,
                max_request_header_size=HEADER_BYTES,
            )
        except (OSError, ValueError) as error:
            # Waitress leaves its socket and its trigger open.
            wasyncore.close_all(files)
            reason = getattr(error, "strerror", None) or error
            text = f"can't listen on {self._host} port {self._port} ({reason})"
            raise StartError(text) from None
        tasks.set_thread_count(self._threads)
        self._thread.start()
        host, port = self._server.effective_host, self._server.effective_port
        return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

    @property
    def is_serving(self) -> bool:
        """Whether the server accepts requests."""
        return self._thread.is_alive() and not self._stopping.is_set()

    def stop(self) -> None:
        """Stop accepting requests, and finish those in progress."""
        self._stopping.set()
        if self._server is not None and self._thread.is_alive():
            self._server.pull_trigger()
            self._thread.join(GRACE_SECONDS + 1)

    def _run(self) -> None:
        server = self._server
        assert server is not None  # noqa: S101 - for mypy
        while not self._stopping.is_set():
            server.poll()
        server.stop_listening()
        deadline = time.monotonic() + GRACE_SECONDS
        while server.is_busy and time.monotonic() < deadline:
            server.poll()
        server.disconnect()


class _Server(TcpWSGIServer):  # type: ignore[misc]
    """Waitress, with a deadline for receiving a request."""

    #: When each incomplete request was noticed.
    _noticed: Mapping[Any, float] = {}

    @property
    def is_busy(self) -> bool:
        """Whether a request is in progress, or a response has not been sent yet."""
        channels = self.active_channels.values()
        return any(channel.requests or channel.total_outbufs_len for channel in channels)

    def maintenance(self, now: float) -> None:
        """Close connections that were silent, or whose request is incomplete, for too long."""
        super().maintenance(now)
        noticed = {}
        for channel in self.active_channels.values():
            if (request := channel.request) is not None:
                noticed[request] = self._noticed.get(request, now)
                if noticed[request] < now - REQUEST_SECONDS:
                    channel.will_close = True
        self._noticed = noticed

    def poll(self) -> None:
        """Receive and send what is ready now, or wait for up to a second."""
        wasyncore.loop(timeout=1, use_poll=True, map=self._map, count=1)

    def stop_listening(self) -> None:
        """Refuse new connections."""
        wasyncore.dispatcher.close(self)

    def disconnect(self) -> None:
        """Close all connections, and end the threads of the application."""
        for channel in list(self.active_channels.values()):
            channel.handle_close()
        self.task_dispatcher.shutdown(timeout=1)
        self.trigger.close()


# Waitress warns about each request that has to wait for a thread.
logging.getLogger("waitress.queue").setLevel(logging.ERROR)
