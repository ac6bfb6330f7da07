# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The transports for Slack's requests: Socket Mode, or signed HTTP requests."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from slack_bolt import App
from slack_bolt.adapter.socket_mode import SocketModeHandler
from slack_bolt.adapter.wsgi import SlackRequestHandler
from slack_sdk.errors import SlackClientError
from slack_sdk.socket_mode import SocketModeClient
from slack_sdk.socket_mode.request import SocketModeRequest

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

#: The seconds between pings. The client replaces a connection after four missed responses, and
#: waits this long between attempts to connect.
PING_SECONDS = 1
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
        super().__init__(
            app, app_token, web_client=app.client, ping_interval=PING_SECONDS, concurrency=THREADS
        )
        self.client.message_listeners.append(self._on_message)

    def start(self) -> str:
        """Connect to Slack. Return an empty string, because Socket Mode needs no URL."""
        try:
            self.connect()  # type: ignore[no-untyped-call]
        except (SlackClientError, OSError):
            self.close()  # type: ignore[no-untyped-call]
            raise StartError(SOCKET_REJECTED) from None
        return ""

    def health(self) -> Health:
        """Return whether Slack has sent "hello" on the current connection."""
        session = self.client.current_session
        if session is not None and session.is_active() and session is self._greeted:
            return Health(works=True)
        return Health(works=False, text="not connected to Slack")

    def stop(self) -> None:
        """Stop accepting requests, finish those in progress, and disconnect."""
        with self._changed:
            self._draining = True
            self._changed.wait_for(lambda: not self._running, GRACE_SECONDS)
        # The client waits for requests that are still in progress.
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

    def _on_message(self, _client: object, message: dict[str, Any], _raw: str | None) -> None:
        if message.get("type") == "hello":
            self._greeted = self.client.current_session


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
