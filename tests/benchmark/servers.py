# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The servers to measure, and a sender that writes prepared requests to raw sockets.

An HTTP library would take longer than the code that is measured.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import sys
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from ansible_collections.postroom.email.tests.support.service import (
    PATHS,
    RunningService,
    running_service,
)
from ansible_collections.postroom.email.tests.support.tenant import Api

LATENCY = 30
LONGEST_ANSWER = 30.0
SEEDING_CONNECTIONS = 32


class Server(NamedTuple):
    """A server with the mail API and a tenant.

    :param latency: the delay of each response in milliseconds
    """

    kind: str
    url: str
    token: str
    latency: int = 0

    @property
    def label(self) -> str:
        """The server's name in a table."""
        return f"{self.kind}, {self.latency} ms"

    def clear(self) -> None:
        """Delete everything in the tenant."""
        with contextlib.closing(Api(self.url, self.token)) as api:
            api.clear()

    def fill(self, bodies: Sequence[dict[str, Any]]) -> None:
        """Create principals, starting with the domains."""
        for are_domains, connections in ((True, 1), (False, SEEDING_CONNECTIONS)):
            chosen = [body for body in bodies if (body["type"] == "domain") is are_domains]
            send(self.url, shares(self.posts(chosen), connections))

    def posts(self, bodies: Sequence[dict[str, Any]]) -> list[bytes]:
        """Return the encoded requests that create principals."""
        head = (
            f"POST /api/principal HTTP/1.1\r\nhost: {urlsplit(self.url).netloc}\r\n"
            f"authorization: Bearer {self.token}\r\ncontent-type: application/json\r\n"
        )
        contents = [json.dumps(body).encode() for body in bodies]
        return [f"{head}content-length: {len(c)}\r\n\r\n".encode() + c for c in contents]


@contextlib.contextmanager
def program(folder: Path, name: str, *arguments: str) -> Iterator[str]:
    """Run one of this directory's servers, and yield its URL."""
    folder.mkdir()
    folder.joinpath("token").touch()
    file = Path(__file__).with_name(name)
    command = [sys.executable, str(file), str(folder / "ready.json"), *arguments]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(PATHS), "POSTROOM_SERVICE_DATABASE": "none"}
    server = RunningService(folder, command, env)
    try:
        yield server.url
    finally:
        server.stop()


@contextlib.contextmanager
def with_and_without_latency(service: RunningService, folder: Path) -> Iterator[list[Server]]:
    """Run the reference service and the minimal server, each with and without latency."""
    faults = f"latency={LATENCY}ms"
    with (
        running_service(folder / "late-service", faults=faults) as late,
        program(folder / "bare", "minimal_server.py", "0") as bare_url,
        program(folder / "late-bare", "minimal_server.py", str(LATENCY)) as late_bare_url,
    ):
        yield [
            Server("service", service.url, service.token),
            Server("service", late.url, late.token, LATENCY),
            Server("bare", bare_url, "none"),
            Server("bare", late_bare_url, "none", LATENCY),
        ]


def shares(requests: Sequence[bytes], connections: int) -> list[Sequence[bytes]]:
    """Split the requests among the connections."""
    return [mine for number in range(connections) if (mine := requests[number::connections])]


def send(url: str, shares_of_all: Sequence[Iterable[bytes]]) -> None:
    """Send requests over several connections, and read each response before the next request.

    :raises RuntimeError: if a response is not a success
    """
    parts = urlsplit(url)
    address = (str(parts.hostname), int(parts.port or 80))
    with ThreadPoolExecutor(max(len(shares_of_all), 1)) as pool:
        list(pool.map(lambda mine: _one_connection(address, mine), shares_of_all))


def _one_connection(address: tuple[str, int], requests: Iterable[bytes]) -> None:
    with socket.create_connection(address, LONGEST_ANSWER) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for request in requests:
            connection.sendall(request)
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
