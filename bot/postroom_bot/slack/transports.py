# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The two ways in which Slack reaches the bot: Socket Mode, and signed HTTP requests."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol

from slack_bolt import App
from slack_bolt.adapter.socket_mode.websocket_client import SocketModeHandler
from slack_bolt.adapter.wsgi import SlackRequestHandler
from slack_sdk.errors import SlackClientError
from slack_sdk.socket_mode.interval_runner import IntervalRunner
from slack_sdk.socket_mode.request import SocketModeRequest
from slack_sdk.socket_mode.websocket_client import SocketModeClient
from websocket import WebSocketApp

from postroom_bot.errors import StartError
from postroom_bot.ops.health import Health
from postroom_bot.ops.web_server import GRACE_SECONDS, WebServer

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIEnvironment

#: Where Slack posts to in HTTP mode.
PATH = "/slack/events"
#: How many of Slack's calls are answered at the same time, of which `deps.MAX_WAITING` may wait.
THREADS = 32

#: Slack's client pings every ten seconds. So late an answer is none, and so often we look for one.
PONG_SECONDS = 5
LOOK_SECONDS = 2

#: What is told where Slack refuses the app-level token.
NO_SOCKET = (
    "Slack refuses the Socket Mode connection: check slack_app_token and its scope"
    " connections:write, and that Socket Mode is on in the app's settings"
)

_CLOSE_SECONDS = 2.0


class Transport(Protocol):
    """A way to the bot."""

    def start(self) -> str:
        """Let Slack in, and return the address where it comes in, or "" for Socket Mode."""

    def health(self) -> Health:
        """Tell whether Slack can reach the bot now."""

    def stop(self) -> None:
        """Take nothing more, and let what is under way be answered."""


class SocketModeTransport:
    """A connection to Slack, made anew whenever it is lost."""

    def __init__(self, app: App, app_token: str) -> None:
        self._handler = _Handler(app, app_token)
        self._looks = IntervalRunner(self._handler.cut_silence, LOOK_SECONDS)

    def start(self) -> str:
        """Connect."""
        try:
            self._handler.connect()  # type: ignore[no-untyped-call]
        except (SlackClientError, OSError):
            self._handler.close()  # type: ignore[no-untyped-call]
            raise StartError(NO_SOCKET) from None
        self._looks.start()
        return ""

    def health(self) -> Health:
        """Tell whether there is a connection."""
        if self._handler.is_greeted():
            return Health(works=True)
        return Health(works=False, text="there is no connection to Slack")

    def stop(self) -> None:
        """Answer what is under way, and disconnect."""
        self._handler.drain(GRACE_SECONDS)
        self._looks.shutdown()  # type: ignore[no-untyped-call]
        self._handler.hang_up()
        # Should Slack's client wait for its socket all the same, it does so for up to 10 s.
        closing = threading.Thread(target=self._handler.close, daemon=True)
        closing.start()
        closing.join(_CLOSE_SECONDS)


class HttpTransport:
    """A port to which Slack, or a proxy that adds TLS, posts."""

    def __init__(self, app: App, host: str, port: int) -> None:
        self._slack = SlackRequestHandler(app, path=PATH)
        self._server = WebServer(self._answer, host, port, threads=THREADS)

    def start(self) -> str:
        """Listen."""
        return self._server.start() + PATH

    def health(self) -> Health:
        """Tell whether the port is served."""
        if self._server.is_serving:
            return Health(works=True)
        return Health(works=False, text="the port for Slack is not served")

    def stop(self) -> None:
        """Answer what is under way, and listen no more."""
        self._server.stop()

    def _answer(self, environ: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
        try:
            return self._slack(environ, start)
        except ValueError:
            # Not even readable; whoever sent it, it was not Slack.
            start("400 Bad Request", [("content-type", "text/plain"), ("content-length", "0")])
            return []


class _Handler(SocketModeHandler):
    """Bolt's own, that can take in nothing more and wait for what it is at.

    What is not taken in is not acknowledged either, and Slack delivers it to the next connection.
    """

    def __init__(self, app: App, app_token: str) -> None:
        self._changed = threading.Condition()
        self._under_way = 0
        self._draining = False
        super().__init__(app, app_token, web_client=app.client, concurrency=THREADS)
        self._greeted: object = None
        self.client.message_listeners.append(self._heard)

    def handle(self, client: SocketModeClient, req: SocketModeRequest) -> None:  # type: ignore[override]
        with self._changed:
            if self._draining:
                return
            self._under_way += 1
        try:
            super().handle(client, req)
        finally:
            with self._changed:
                self._under_way -= 1
                self._changed.notify_all()

    def is_greeted(self) -> bool:
        """Tell whether Slack has said hello on the connection that there is."""
        return self._greeted is not None and self._greeted is self._socket()

    def cut_silence(self) -> None:
        """Cut a connection that does not answer pings, so that Slack's client makes another.

        The client sends them and never looks: a peer that is gone without a word would be trusted
        until TCP gives up, in a quarter of an hour.
        """
        session = self.client.current_session
        if session is None or session.last_pong_tm >= session.last_ping_tm:
            return
        if time.time() - session.last_ping_tm > PONG_SECONDS:
            _shut(session)

    def hang_up(self) -> None:
        """End the connection for good.

        Closing it would not wake the thread that waits for it, which then is waited for itself.
        """
        self.client.auto_reconnect_enabled = False
        # Else it runs the same session once more.
        self.client.current_session_runner.event.set()
        session = self.client.current_session
        if session is not None:
            session.keep_running = False
            _shut(session)

    def drain(self, seconds: float) -> None:
        """Take nothing more in, and wait for what is under way."""
        with self._changed:
            self._draining = True
            self._changed.wait_for(lambda: not self._under_way, seconds)

    def _heard(self, _client: object, message: dict[str, Any], _raw: str | None) -> None:
        if message.get("type") == "hello":
            self._greeted = self._socket()

    def _socket(self) -> object:
        # The session stays the same when it is tried again, the socket in it does not.
        session = self.client.current_session
        return None if session is None else session.sock


def _shut(session: WebSocketApp) -> None:
    """Have whoever reads from a connection see its end."""
    connection = session.sock.sock if session.sock is not None else None
    if connection is not None:
        with suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)
