# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The transports for Slack's requests: Socket Mode, or signed HTTP requests.

The Socket Mode transport uses internals of slack_sdk and websocket-client to work around three
observed problems: a dead connection may go undetected for 15 minutes, closing a connection waits
for the thread that reads from it, and a client still accepts requests while it is being stopped.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from slack_bolt import App
from slack_bolt.adapter.socket_mode.websocket_client import SocketModeHandler
from slack_bolt.adapter.wsgi import SlackRequestHandler
from slack_sdk.errors import SlackClientError
from slack_sdk.socket_mode.interval_runner import IntervalRunner
from slack_sdk.socket_mode.request import SocketModeRequest
from slack_sdk.socket_mode.websocket_client import SocketModeClient

from postroom_bot.backends.slack_api import SOCKET_REJECTED
from postroom_bot.config import Settings
from postroom_bot.errors import StartError
from postroom_bot.ops.web_server import GRACE_SECONDS, Health, WebServer

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIEnvironment

#: The path for Slack's requests in HTTP mode.
PATH = "/slack/events"
#: The number of concurrent requests, of which `dependencies.MAX_WAITING` may wait for the mail API.
THREADS = 32

#: Slack's client pings every 10 seconds.
PONG_TIMEOUT = 5
CHECK_INTERVAL = 2

_CLOSE_TIMEOUT = 2.0


class SocketModeTransport(SocketModeHandler):
    """A Socket Mode connection that reconnects when it is lost.

    When the transport stops, it finishes the current requests and accepts no more. Slack resends
    unacknowledged requests over another connection.
    """

    def __init__(self, app: App, app_token: str) -> None:
        self._changed = threading.Condition()
        self._running = 0
        self._draining = False
        self._greeted: object = None
        self._checks = IntervalRunner(self._close_dead_connection, CHECK_INTERVAL)
        super().__init__(app, app_token, web_client=app.client, concurrency=THREADS)
        self.client.message_listeners.append(self._on_message)

    def start(self) -> str:
        """Connect to Slack. Return an empty string, because Socket Mode needs no URL."""
        try:
            self.connect()  # type: ignore[no-untyped-call]
        except (SlackClientError, OSError):
            self.close()  # type: ignore[no-untyped-call]
            raise StartError(SOCKET_REJECTED) from None
        self._checks.start()
        return ""

    def health(self) -> Health:
        """Return whether Slack has sent "hello" on the current connection."""
        if self._greeted is not None and self._greeted is self._socket():
            return Health(works=True)
        return Health(works=False, text="not connected to Slack")

    def stop(self) -> None:
        """Stop accepting requests, finish those in progress, and disconnect."""
        with self._changed:
            self._draining = True
            self._changed.wait_for(lambda: not self._running, GRACE_SECONDS)
        self._checks.shutdown()  # type: ignore[no-untyped-call]
        self.client.auto_reconnect_enabled = False
        # Otherwise, the client would restart the same session.
        self.client.current_session_runner.event.set()
        session = self.client.current_session
        if session is not None:
            session.keep_running = False
            # Closing the connection would not wake the thread that reads from it, but wait for it.
            self._shut_down_socket()
        # The client may still wait up to 10 s for its socket.
        closing = threading.Thread(target=self.close, daemon=True)
        closing.start()
        closing.join(_CLOSE_TIMEOUT)

    def handle(self, client: SocketModeClient, req: SocketModeRequest) -> None:  # type: ignore[override]
        """Handle a request, unless the transport is being stopped."""
        with self._changed:
            if self._draining:
                return
            self._running += 1
        try:
            super().handle(client, req)
        finally:
            with self._changed:
                self._running -= 1
                self._changed.notify_all()

    def _close_dead_connection(self) -> None:
        """Close a connection that does not respond to pings, so that the client reconnects.

        Slack's client sends pings, but does not check for responses.
        """
        session = self.client.current_session
        if session is None or session.last_pong_tm >= session.last_ping_tm:
            return
        if time.time() - session.last_ping_tm > PONG_TIMEOUT:
            self._shut_down_socket()

    def _on_message(self, _client: object, message: dict[str, Any], _raw: str | None) -> None:
        if message.get("type") == "hello":
            self._greeted = self._socket()

    def _socket(self) -> Any:
        # The client reuses the session when it reconnects, but not its socket.
        session = self.client.current_session
        return None if session is None else session.sock

    def _shut_down_socket(self) -> None:
        sock = self._socket()
        connection = sock.sock if sock is not None else None
        if connection is not None:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


class HttpTransport:
    """An HTTP server for Slack's requests, behind a proxy that terminates TLS."""

    def __init__(self, app: App, host: str, port: int) -> None:
        self._slack = SlackRequestHandler(app, path=PATH)
        self._server = WebServer(self._answer, host, port, threads=THREADS)

    def start(self) -> str:
        """Start listening. Return the URL for Slack's requests."""
        return self._server.start() + PATH

    def health(self) -> Health:
        """Return whether the server accepts requests."""
        if self._server.is_serving:
            return Health(works=True)
        return Health(works=False, text="not listening for requests from Slack")

    def stop(self) -> None:
        """Finish the current requests, and stop listening."""
        self._server.stop()

    def _answer(self, environ: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
        try:
            return self._slack(environ, start)
        except ValueError:
            # The body can't be decoded, so it isn't from Slack.
            start("400 Bad Request", [("content-type", "text/plain"), ("content-length", "0")])
            return []


Transport = SocketModeTransport | HttpTransport


def create_transport(settings: Settings, app: App) -> Transport:
    """Return the transport that the settings select."""
    if settings.mode == "http" or settings.slack_app_token is None:
        return HttpTransport(app, settings.http_host, settings.http_port)
    return SocketModeTransport(app, settings.slack_app_token.get_secret_value())
