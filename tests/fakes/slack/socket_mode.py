# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Delivery in Socket Mode: envelopes over WebSockets that the app has opened."""

from __future__ import annotations

import json
import socket
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http import HTTPStatus
from urllib.parse import parse_qs, urlsplit

from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response
from websockets.sync.server import ServerConnection, serve

from .delivery import EVENTS, FAILED, TIMEOUT, SlackRequest
from .webapi import Faults
from .workspace_state import Ack, Payload, WorkspaceState, plain


@dataclass
class Envelope:
    """An envelope, the connection that last carried it, and its acknowledgement."""

    content: Payload
    carrier: ServerConnection | None = None
    ack: Payload | None = None


class Sockets:
    """The app's connections, and the envelopes that were sent over them."""

    def __init__(self, workspace: WorkspaceState, faults: Faults) -> None:
        self._state = workspace
        self._faults = faults
        self._open: list[ServerConnection] = []
        #: The open connections that still receive envelopes. The first one is used next.
        self._connections: list[ServerConnection] = []
        self._envelopes: dict[str, Envelope] = {}

    @property
    def count(self) -> int:
        """The number of connections that get envelopes."""
        with self._state.changed:
            return len(self._connections)

    def send(self, slack_request: SlackRequest, seconds: float, *, at: float) -> Ack:
        """Deliver a payload over the next connection, and wait for the acknowledgement."""
        content: Payload = {
            "envelope_id": str(uuid.uuid4()),
            "type": slack_request.kind,
            "payload": slack_request.payload,
            "accepts_response_payload": slack_request.kind != EVENTS,
        }
        envelope = Envelope(content)
        with self._state.changed:
            self._envelopes[content["envelope_id"]] = envelope
        if not self._push(envelope):
            return Ack(0, {}, FAILED)
        with self._state.changed:
            acked = self._state.changed.wait_for(lambda: envelope.ack is not None, seconds)
        return Ack(200, envelope.ack or {}, "") if acked else Ack(0, {}, TIMEOUT)

    def refresh(self) -> None:
        """Ask the app to reconnect, as Slack does every few hours."""
        with self._state.changed:
            leaving, self._connections = self._connections, []
        for connection in leaving:
            with suppress(ConnectionClosed):
                connection.send(plain({"type": "disconnect", "reason": "refresh_requested"}))

    def drop(self) -> None:
        """Cut all connections."""
        with self._state.changed:
            leaving, self._connections = list(self._open), []
        for connection in leaving:
            with suppress(OSError):
                connection.socket.shutdown(socket.SHUT_RDWR)

    def admit(self, connection: ServerConnection, request: Request) -> Response | None:
        """Refuse a connection without a valid ticket. Each ticket is valid for one connection."""
        ticket = parse_qs(urlsplit(request.path).query).get("ticket", [""])[0]
        if self._faults.is_down:
            return connection.respond(HTTPStatus.SERVICE_UNAVAILABLE, "down")
        with self._state.changed:
            if ticket not in self._state.tickets:
                return connection.respond(HTTPStatus.FORBIDDEN, "no such ticket")
            self._state.tickets.remove(ticket)
        return None

    def serve(self, connection: ServerConnection) -> None:
        """Serve a connection until it ends."""
        with suppress(ConnectionClosed):
            with self._state.changed:
                self._open.append(connection)
                connection.send(plain({"type": "hello"}))
                self._connections.append(connection)
                self._state.note("socket", "connected")
            self._redeliver()
            for message in connection:
                self._take(str(message))
        with self._state.changed:
            self._open.remove(connection)
            self._connections = [one for one in self._connections if one is not connection]
            self._state.note("socket", "disconnected")
        self._redeliver()

    def _push(self, envelope: Envelope) -> bool:
        """Send an envelope over the next connection. Return False if there is no connection."""
        with self._state.changed:
            if not self._connections:
                return False
            envelope.carrier = self._connections.pop(0)
            self._connections.append(envelope.carrier)
        # If a connection has just ended, its own thread redelivers the envelope.
        with suppress(ConnectionClosed):
            envelope.carrier.send(plain(envelope.content))
        return True

    def _redeliver(self) -> None:
        """Redeliver the unacknowledged envelopes of a connection that has ended."""
        with self._state.changed:
            lost = [
                envelope
                for envelope in self._envelopes.values()
                if envelope.ack is None and envelope.carrier not in self._open
            ]
        for envelope in lost:
            self._state.note(f"redeliver {envelope.content['type']}", plain(envelope.content))
            self._push(envelope)

    def _take(self, message: str) -> None:
        read = json.loads(message)
        self._state.note("socket ack", message)
        with self._state.changed:
            envelope = self._envelopes.get(read.get("envelope_id", ""))
            if envelope is not None and envelope.ack is None:
                said = read.get("payload") or {}
                envelope.ack = said if isinstance(said, dict) else {"text": str(said)}
            self._state.changed.notify_all()


@contextmanager
def serving(sockets: Sockets) -> Iterator[str]:
    """Accept connections until the block ends, and yield the URL."""
    # Disable pings: each connection's thread would use `random` for them, and hypothesis fails a
    # test if another thread uses `random` in the meantime.
    with serve(
        sockets.serve,
        "127.0.0.1",
        0,
        process_request=sockets.admit,
        ping_interval=None,
        close_timeout=1,
    ) as server:
        # A daemon thread lets an interrupted program exit without waiting for it.
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"ws://127.0.0.1:{server.socket.getsockname()[1]}"
        finally:
            # Skip the closing handshake, to which a hanging app would not respond.
            sockets.drop()
            server.shutdown()
            thread.join()
