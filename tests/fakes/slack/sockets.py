# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Delivery by Socket Mode: envelopes over the WebSockets that the app has opened."""

from __future__ import annotations

import json
import socket
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from urllib.parse import parse_qs, urlsplit

from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response
from websockets.sync.server import ServerConnection, serve

from ansible_collections.postroom.email.tests.fakes.slack.delivery import (
    FAILED,
    TIMEOUT,
    Answer,
    Retry,
)
from ansible_collections.postroom.email.tests.fakes.slack.faults import Faults
from ansible_collections.postroom.email.tests.fakes.slack.payloads import EVENTS, Parcel
from ansible_collections.postroom.email.tests.fakes.slack.records import Payload
from ansible_collections.postroom.email.tests.fakes.slack.world import World, plain

CONNECTION_LIMIT = 10


@dataclass
class Envelope:
    """Something that is on its way.

    :param carrier: the connection that it was last sent over
    :param ack: what the app answered, once it has
    """

    content: Payload
    carrier: ServerConnection | None = None
    ack: Payload | None = field(default=None)


class Sockets:
    """The app's connections, and what has been sent over them."""

    def __init__(self, world: World, faults: Faults) -> None:
        self._world = world
        self._faults = faults
        #: Those that are open, and of them those that things are delivered over.
        self._open: list[ServerConnection] = []
        self._connections: list[ServerConnection] = []
        self._envelopes: dict[str, Envelope] = {}

    @property
    def count(self) -> int:
        """How many connections there are to deliver over."""
        with self._world.changed:
            return len(self._connections)

    def send(self, parcel: Parcel, retry: Retry, seconds: float, *, at: float) -> Answer:
        """Deliver to any one connection and wait so long for the ack."""
        content = _content(parcel, retry)
        envelope = Envelope(content)
        with self._world.changed:
            self._envelopes[content["envelope_id"]] = envelope
        if not self._push(envelope):
            return Answer(0, {}, FAILED)
        with self._world.changed:
            acked = self._world.changed.wait_for(lambda: envelope.ack is not None, seconds)
        return Answer(200, envelope.ack or {}, "") if acked else Answer(0, {}, TIMEOUT)

    def refresh(self) -> None:
        """Ask the app to connect anew, as Slack does every few hours; it hangs up itself."""
        with self._world.changed:
            leaving, self._connections = self._connections, []
        for connection in leaving:
            _say_goodbye(connection, "refresh_requested")

    def drop(self) -> None:
        """Cut all connections without a word."""
        with self._world.changed:
            leaving, self._connections = list(self._open), []
        for connection in leaving:
            with suppress(OSError):
                connection.socket.shutdown(socket.SHUT_RDWR)

    def admit(self, connection: ServerConnection, request: Request) -> Response | None:
        """Let a connection in that has a ticket; each is good for one."""
        ticket = parse_qs(urlsplit(request.path).query).get("ticket", [""])[0]
        if self._faults.is_down:
            return connection.respond(HTTPStatus.SERVICE_UNAVAILABLE, "down")
        with self._world.changed:
            if ticket not in self._world.tickets:
                return connection.respond(HTTPStatus.FORBIDDEN, "no such ticket")
            self._world.tickets.remove(ticket)
        return None

    def serve(self, connection: ServerConnection) -> None:
        """Speak with the app over one connection until it ends."""
        if self.count >= CONNECTION_LIMIT:
            _say_goodbye(connection, "too_many_websockets")
            return
        with suppress(ConnectionClosed):
            self._greet(connection)
            self._redeliver()
            for message in connection:
                self._take(str(message))
        with self._world.changed:
            self._open.remove(connection)
            self._world.note("socket", "disconnected")
        self._forget(connection)
        self._redeliver()

    def _greet(self, connection: ServerConnection) -> None:
        """Say hello, before anything is delivered, and begin to deliver."""
        with self._world.changed:
            self._open.append(connection)
            connection.send(plain(self._hello()))
            self._connections.append(connection)
            self._world.note("socket", "connected")

    def _push(self, envelope: Envelope) -> bool:
        """Send over the connection whose turn it is; tell whether there was one."""
        while (connection := self._next()) is not None:
            envelope.carrier = connection
            try:
                connection.send(plain(envelope.content))
            except ConnectionClosed:
                self._forget(connection)
                continue
            return True
        return False

    def _next(self) -> ServerConnection | None:
        """Return a connection, another one each time."""
        with self._world.changed:
            if not self._connections:
                return None
            connection = self._connections.pop(0)
            self._connections.append(connection)
            return connection

    def _forget(self, connection: ServerConnection) -> None:
        """No longer send over a connection."""
        with self._world.changed:
            if connection in self._connections:
                self._connections.remove(connection)

    def _redeliver(self) -> None:
        """Send again, if there is a connection, what was on its way over one that is gone."""
        with self._world.changed:
            lost = [
                envelope
                for envelope in self._envelopes.values()
                if envelope.ack is None and envelope.carrier not in self._open
            ]
            if not self._connections:
                return
        for envelope in lost:
            number = envelope.content.get("retry_attempt", 0) + 1
            envelope.content.update(retry_attempt=number, retry_reason="timeout")
            self._world.note(f"redeliver {envelope.content['type']}", plain(envelope.content))
            self._push(envelope)

    def _take(self, message: str) -> None:
        """Take an ack."""
        read = json.loads(message)
        self._world.note("socket ack", message)
        with self._world.changed:
            envelope = self._envelopes.get(read.get("envelope_id", ""))
            if envelope is not None and envelope.ack is None:
                said = read.get("payload") or {}
                envelope.ack = said if isinstance(said, dict) else {"text": str(said)}
            self._world.changed.notify_all()

    def _hello(self) -> Payload:
        """Return Slack's greeting."""
        return {
            "type": "hello",
            "num_connections": self.count + 1,
            "debug_info": {"host": "applink-1", "approximate_connection_time": 18060},
            "connection_info": {"app_id": self._world.app},
        }


@contextmanager
def serving(sockets: Sockets) -> Iterator[str]:
    """Take connections for the length of a block; give the address to connect to."""
    # Without pings of its own: a thread for each connection would draw them from `random`, and
    # hypothesis fails a test in whose draws somebody else does.
    with serve(
        sockets.serve,
        "127.0.0.1",
        0,
        process_request=sockets.admit,
        ping_interval=None,
        close_timeout=1,
    ) as server:
        # Waited for below; a program that is interrupted before that does not wait for it.
        thread = threading.Thread(target=server.serve_forever, name="slack-sockets", daemon=True)
        thread.start()
        try:
            yield f"ws://127.0.0.1:{server.socket.getsockname()[1]}"
        finally:
            # Not by the closing handshake: an app that hangs does not take part in it.
            sockets.drop()
            server.shutdown()
            thread.join()


def _say_goodbye(connection: ServerConnection, reason: str) -> None:
    """Say why a connection is to end."""
    with suppress(ConnectionClosed):
        connection.send(plain({"type": "disconnect", "reason": reason, "debug_info": {}}))


def _content(parcel: Parcel, retry: Retry) -> Payload:
    """Return what goes over the wire."""
    content = {
        "envelope_id": str(uuid.uuid4()),
        "type": parcel.kind,
        "payload": parcel.payload,
        "accepts_response_payload": parcel.kind != EVENTS,
    }
    if retry.number or parcel.kind == EVENTS:
        content.update(retry_attempt=retry.number, retry_reason=retry.reason)
    return content
