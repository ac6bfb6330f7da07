# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A name server that responds to each query with a chosen behavior, over UDP and TCP.

Names and types may be patterns, such as `*.example.com`. The first behavior that matches a query is
used. A query that matches no behavior is refused.
"""

from __future__ import annotations

import contextlib
import socket
import socketserver
import struct
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatch

import dns.message

from ansible_collections.postroom.email.tests.fakes.nameserver.behaviors import (
    LARGEST,
    Behavior,
    Piece,
    ReceivedQuery,
    frame,
    read,
    refused,
)
from ansible_collections.postroom.email.tests.support.loopback import free_port


@dataclass
class FakeNameserver:
    """A running server.

    :param asked: all queries that could be parsed, in order
    """

    address: str
    port: int
    behaviors: dict[tuple[str, str], Behavior]
    asked: list[ReceivedQuery] = field(default_factory=list)
    ending: threading.Event = field(default_factory=threading.Event)

    def __str__(self) -> str:
        """Return the server in the format of the collection's options."""
        return f"{self.address}:{self.port}"

    def pieces(self, wire: bytes, *, over_tcp: bool) -> list[Piece]:
        """Return the data to send in response to a query."""
        # Parse signed queries as well, even though this server has no TSIG keys.
        query = dns.message.from_wire(wire, continue_on_error=True)
        asked = ReceivedQuery(query, wire, over_tcp)
        self.asked.append(asked)
        for (name, kind), behavior in self.behaviors.items():
            if fnmatch(asked.name, name.lower()) and fnmatch(asked.kind, kind):
                return behavior(asked)
        return refused(asked)


@contextlib.contextmanager
def fake_nameserver(
    behaviors: Mapping[tuple[str, str], Behavior],
    *,
    address: str = "127.0.0.1",
    port: int | None = None,
    tcp: bool = True,
) -> Iterator[FakeNameserver]:
    """Run a server.

    :param behaviors: the behaviors, keyed by name and type
    :param tcp: whether to listen on TCP as well
    """
    server = FakeNameserver(address, port or free_port(address), dict(behaviors))
    at = (address, server.port)
    with contextlib.ExitStack() as stack:
        stack.enter_context(serving(_Datagrams(at, _datagram_handler(server))))
        if tcp:
            stack.enter_context(serving(_Streams(at, _stream_handler(server))))
        stack.callback(server.ending.set)
        yield server


class _Datagrams(socketserver.ThreadingUDPServer):
    daemon_threads = True
    max_packet_size = LARGEST


class _Streams(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True


@contextlib.contextmanager
def serving(server: socketserver.BaseServer) -> Iterator[None]:
    """Run a server of the standard library until the block ends."""
    with server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield
        finally:
            server.shutdown()
            thread.join()


def _datagram_handler(server: FakeNameserver) -> type[socketserver.BaseRequestHandler]:
    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            wire, here = self.request
            for piece in server.pieces(wire, over_tcp=False):
                if server.ending.wait(piece.after):
                    return
                with contextlib.ExitStack() as stack:
                    way = here
                    if piece.elsewhere:
                        way = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
                    way.sendto(piece.data, self.client_address)

    return Handler


def _stream_handler(server: FakeNameserver) -> type[socketserver.BaseRequestHandler]:
    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            # The client may disconnect at any time.
            with contextlib.suppress(OSError, struct.error):
                for piece in server.pieces(read(self.rfile), over_tcp=True):
                    if server.ending.wait(piece.after):
                        return
                    self.wfile.write(frame(piece.data) if piece.framed else piece.data)

    return Handler
