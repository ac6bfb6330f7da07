# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A load on an HTTP server: a fixed number of requests over a few connections, with raw sockets.

An HTTP library would cost more than what it measures.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle, islice
from typing import Any
from urllib.parse import urlsplit

CONNECTIONS = 4
LONGEST_ANSWER = 30.0


def request(service_url: str, token: str, method: str, path: str, body: Any = None) -> bytes:
    """Return a request as it goes over the wire."""
    content = b"" if body is None else json.dumps(body).encode()
    head = (
        f"{method} {path} HTTP/1.1\r\nhost: {urlsplit(service_url).netloc}\r\n"
        f"authorization: Bearer {token}\r\ncontent-type: application/json\r\n"
        f"content-length: {len(content)}\r\n\r\n"
    )
    return head.encode() + content


def drive(url: str, requests: Sequence[Sequence[bytes]], count: int) -> None:
    """Send `count` requests, each connection its own ones over and over, and read every answer.

    :raises RuntimeError: an answer is none of success
    """
    share = -(-count // len(requests))
    send(url, [islice(cycle(mine), share) for mine in requests])


def shares(requests: Sequence[bytes], connections: int) -> list[Sequence[bytes]]:
    """Divide requests among connections, as evenly as they go."""
    return [mine for number in range(connections) if (mine := requests[number::connections])]


def send(url: str, shares_of_all: Sequence[Iterable[bytes]]) -> None:
    """Send requests, each connection its share in turn, and read every answer.

    :raises RuntimeError: an answer is none of success
    """
    parts = urlsplit(url)
    address = (str(parts.hostname), int(parts.port or 80))
    with ThreadPoolExecutor(max(len(shares_of_all), 1)) as pool:
        list(pool.map(lambda mine: _one_connection(address, mine), shares_of_all))


def _one_connection(address: tuple[str, int], requests: Iterable[bytes]) -> None:
    with socket.create_connection(address, LONGEST_ANSWER) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for request_bytes in requests:
            connection.sendall(request_bytes)
            _read_answer(connection)


def _read_answer(connection: socket.socket) -> None:
    received = b""
    while b"\r\n\r\n" not in received:
        received += _more(connection)
    head, _blank, body = received.partition(b"\r\n\r\n")
    status, *lines = head.lower().split(b"\r\n")
    if status.split()[1] not in (b"200", b"201"):
        raise RuntimeError(f"the server answered {status.decode()}: {body[:200]!r}")
    length = next(int(line[15:]) for line in lines if line.startswith(b"content-length:"))
    missing = length - len(body)
    while missing > 0:
        missing -= len(_more(connection))


def _more(connection: socket.socket) -> bytes:
    part = connection.recv(65536)
    if not part:
        raise RuntimeError("the server closed the connection before its answer")
    return part
