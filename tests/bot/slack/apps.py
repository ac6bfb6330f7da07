# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Apps of slack_bolt, connected to the stand-in as to Slack."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from socketserver import ThreadingMixIn
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from slack_bolt import App
from slack_bolt.adapter.socket_mode.websocket_client import SocketModeHandler
from slack_bolt.adapter.wsgi import SlackRequestHandler
from slack_sdk import WebClient
from websockets.sync.client import ClientConnection

from ansible_collections.postroom.email.tests.fakes.slack.http_transport import HttpTransport
from ansible_collections.postroom.email.tests.fakes.slack.workspace import Workspace

PATH = "/slack/events"
SECONDS = 60.0


def app_of(slack: Workspace) -> App:
    """Return an app without listeners."""
    client = WebClient(slack.bot_token, base_url=slack.base_url, timeout=5)
    return App(client=client, signing_secret=slack.signing_secret)


@contextmanager
def over_http(slack: Workspace, app: App) -> Iterator[HttpTransport]:
    """Serve an app for the length of a block, and have everything delivered to it."""
    handler = SlackRequestHandler(app, path=PATH)
    server = make_server("127.0.0.1", 0, handler, _Server, _Quiet)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield slack.deliver_over_http(f"http://127.0.0.1:{server.server_port}{PATH}")
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
        app.listener_runner.listener_executor.shutdown()


@contextmanager
def over_sockets(slack: Workspace, app: App) -> Iterator[SocketModeHandler]:
    """Connect an app by Socket Mode for the length of a block."""
    handler = SocketModeHandler(app, slack.app_token)
    # Slack's client asks Slack itself for the address, unless it is told where Slack is.
    handler.client.web_client = WebClient(base_url=slack.base_url)
    handler.connect()  # type: ignore[no-untyped-call]
    try:
        slack.wait_for_connection()
        yield handler
    finally:
        _hang_up(slack, handler)
        handler.close()  # type: ignore[no-untyped-call]
        app.listener_runner.listener_executor.shutdown()


def received(connection: ClientConnection) -> dict[str, Any]:
    """Return what comes next over a bare Socket Mode connection."""
    content: dict[str, Any] = json.loads(connection.recv(SECONDS))
    return content


def _hang_up(slack: Workspace, handler: SocketModeHandler) -> None:
    """End the connection from Slack's side.

    Where Slack's client does it, it can wait for ten seconds; where Slack does it, the client
    forgets to close the socket.
    """
    handler.client.auto_reconnect_enabled = False
    session = handler.client.current_session
    connection = session.sock if session else None
    slack.sockets.drop()
    slack.wait_for(lambda: session is None or session.sock is None)
    if connection is not None and connection.sock is not None:
        connection.sock.close()


class _Server(ThreadingMixIn, WSGIServer):
    """One thread for each request, waited for at the end."""

    daemon_threads = False


class _Quiet(WSGIRequestHandler):
    """Serves without a log."""

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""
