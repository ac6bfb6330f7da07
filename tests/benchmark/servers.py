# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The servers to measure against, each a process of its own."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ansible_collections.postroom.email.tests.benchmark import load
from ansible_collections.postroom.email.tests.support.service import (
    SERVICE_PATH,
    RunningService,
    running_service,
)
from ansible_collections.postroom.email.tests.support.site import Api

LATENCY = 30
SEEDING_CONNECTIONS = 32


class Server(NamedTuple):
    """A server that has the interface, with a tenant in it.

    :param latency: milliseconds that each answer waits
    """

    kind: str
    url: str
    token: str
    latency: int = 0

    @property
    def label(self) -> str:
        """What to call it in a table."""
        return f"{self.kind}, {self.latency} ms"

    def clear(self) -> None:
        """Delete all that the tenant holds."""
        with contextlib.closing(Api(self.url, self.token)) as api:
            api.clear()

    def fill(self, bodies: Sequence[dict[str, Any]]) -> None:
        """Create principals, each domain before the rest."""
        domains = [body for body in bodies if body["type"] == "domain"]
        others = [body for body in bodies if body["type"] != "domain"]
        load.send(self.url, load.shares(self.posts(domains), 1))
        load.send(self.url, load.shares(self.posts(others), SEEDING_CONNECTIONS))

    def posts(self, bodies: Sequence[dict[str, Any]]) -> list[bytes]:
        """Return the requests that create principals, as they go over the wire."""
        return [self.request("POST", "/api/principal", body) for body in bodies]

    def request(self, method: str, path: str, body: Any = None) -> bytes:
        """Return a request as it goes over the wire."""
        return load.request(self.url, self.token, method, path, body)

    def names(self) -> set[str]:
        """Return the names of all that the tenant holds."""
        with contextlib.closing(Api(self.url, self.token)) as api:
            return set(api.listing())


@contextlib.contextmanager
def program(folder: Path, name: str, *arguments: str) -> Iterator[str]:
    """Run a server that lies beside this file, and give its address."""
    folder.mkdir()
    folder.joinpath("token").touch()
    file = Path(__file__).with_name(name)
    command = [sys.executable, str(file), str(folder / "ready.json"), *arguments]
    env = {**os.environ, "PYTHONPATH": str(SERVICE_PATH), "POSTROOM_SERVICE_DATABASE": "none"}
    server = RunningService(folder, command, env)
    try:
        yield server.url
    finally:
        server.stop()


@contextlib.contextmanager
def with_and_without_latency(service: RunningService, folder: Path) -> Iterator[list[Server]]:
    """Give the reference service and the bare server, each answering at once and late."""
    faults = f"latency={LATENCY}ms"
    with (
        running_service(folder / "late-service", faults=faults) as late,
        program(folder / "bare", "contract.py", "0") as bare_url,
        program(folder / "late-bare", "contract.py", str(LATENCY)) as late_bare_url,
    ):
        yield [
            Server("service", service.url, service.token),
            Server("service", late.url, late.token, LATENCY),
            Server("bare", bare_url, "none"),
            Server("bare", late_bare_url, "none", LATENCY),
        ]
