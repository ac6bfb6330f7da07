# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A relay of TCP connections that can fall silent, as a network does that just loses everything."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field


@dataclass
class _Pair:
    """One connection through the relay."""

    near: socket.socket
    far: socket.socket
    seen: bytearray
    silent: threading.Event = field(default_factory=threading.Event)

    def copy(self, source: socket.socket, target: socket.socket) -> None:
        """Pass on what comes until one side hangs up; then hang up on the other one, too.

        In silence, nobody near hears that the far side has hung up.
        """
        with suppress(OSError):
            while content := source.recv(65536):
                if not self.silent.is_set():
                    target.sendall(content)
                    self.seen.extend(content)
        if source is self.near or not self.silent.is_set():
            self.close()

    def close(self) -> None:
        """Hang up on both sides."""
        for end in (self.near, self.far):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


class Relay:
    """Passes connections on to an address."""

    def __init__(self, upstream: tuple[str, int]) -> None:
        self._upstream = upstream
        self._pairs: list[_Pair] = []
        #: What was passed on, in both directions; Slack's side does not mask what it sends.
        self.seen = bytearray()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]

    def fall_silent(self) -> None:
        """Pass nothing more on over the connections that there are, without a word."""
        for pair in self._pairs:
            pair.silent.set()

    def serve(self) -> None:
        """Take connections until the relay is closed."""
        with suppress(OSError):
            while True:
                near, _peer = self._listener.accept()
                pair = _Pair(near, socket.create_connection(self._upstream), self.seen)
                self._pairs.append(pair)
                for ends in ((pair.near, pair.far), (pair.far, pair.near)):
                    threading.Thread(target=pair.copy, args=ends, daemon=True).start()

    def close(self) -> None:
        """End everything."""
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for pair in self._pairs:
            pair.close()
            pair.near.close()
            pair.far.close()


@contextmanager
def relaying(upstream: tuple[str, int]) -> Iterator[Relay]:
    """Relay for the length of a block."""
    relay = Relay(upstream)
    thread = threading.Thread(target=relay.serve)
    thread.start()
    try:
        yield relay
    finally:
        relay.close()
        thread.join()
