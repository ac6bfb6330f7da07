# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A real PowerDNS authoritative server on the loopback interface, with its HTTP API."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import dns.exception
import dns.query
import httpx
import pytest
from dns.message import make_query

from ansible_collections.postroom.email.tests.support import system_programs
from ansible_collections.postroom.email.tests.support.bind import values_of
from ansible_collections.postroom.email.tests.support.loopback import free_port
from ansible_collections.postroom.email.tests.support.processes import Running

START_SECONDS = 20.0
STOP_SECONDS = 10.0
ASK_SECONDS = 5.0
_SCHEMA = Path("/usr/share/pdns-backend-sqlite3/schema/schema.sqlite3.sql")


@dataclass(frozen=True)
class PowerDnsServer:
    """A running name server.

    :param api_url: the URL of its HTTP API, without a path
    """

    address: str
    port: int
    api_url: str
    log_path: Path
    api_key: str = field(repr=False)

    def __str__(self) -> str:
        """Return the server in the format of the collection's options."""
        return f"{self.address}:{self.port}"

    def lookup(self, name: str, kind: str) -> tuple[str, ...]:
        """Return the sorted records of a name, in zone-file format."""
        query = make_query(name, kind)
        answer, _tcp = dns.query.udp_with_fallback(query, self.address, ASK_SECONDS, self.port)
        return values_of(answer, kind)

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """Send an API request, which must succeed, and return the response body."""
        # Proxies can't reach the loopback interface.
        with httpx.Client(trust_env=False, headers={"X-API-Key": self.api_key}) as client:
            url = f"{self.api_url}/api/v1/servers/localhost{path}"
            response = client.request(method, url, json=body, timeout=ASK_SECONDS)
        if response.is_error:
            raise RuntimeError(f"{method} {path}: {response.status_code} {response.text}")
        return response.json() if response.content else None

    def create(self, zone: str, text: str) -> None:
        """Create a zone from the lines of a zone file, to which SOA and NS records are added."""
        head = f"$ORIGIN {zone}.\n$TTL 3600\n@ NS ns1.{zone}.\nns1 A {self.address}\n"
        soa = f"@ SOA ns1.{zone}. hostmaster.{zone}. 1 3600 600 86400 60\n"
        body = {"name": f"{zone}.", "kind": "Native", "nameservers": []}
        self.call("POST", "/zones", {**body, "zone": f"{head}{soa}{text}\n"})

    def log(self) -> str:
        """Return the server's log so far."""
        return self.log_path.read_text(errors="replace")


@contextlib.contextmanager
def running(place: Path, zones: Mapping[str, str]) -> Iterator[PowerDnsServer]:
    """Run a PowerDNS name server. Skip the test if PowerDNS is not installed.

    :param place: the directory in which the server's directory is created
    :param zones: the lines of each zone file, keyed by zone name
    """
    program = system_programs.require("pdns_server")
    if not _SCHEMA.exists():
        pytest.skip("PowerDNS's schema for SQLite not installed (Debian: pdns-backend-sqlite3)")
    port, api_port = free_port(), free_port()
    folder = place / f"powerdns-{port}"
    folder.mkdir()
    sockets = tempfile.mkdtemp(prefix="pdns-")
    key = secrets.token_urlsafe(24)
    server = PowerDnsServer(
        "127.0.0.1", port, f"http://127.0.0.1:{api_port}", folder / "log", api_key=key
    )
    with contextlib.closing(sqlite3.connect(folder / "zones.sqlite3")) as database:
        database.executescript(_SCHEMA.read_text())
    settings = {
        "launch": "gsqlite3",
        "gsqlite3-database": folder / "zones.sqlite3",
        "local-address": server.address,
        "local-port": server.port,
        # The path of a socket has at most 107 bytes.
        "socket-dir": sockets,
        "api": "yes",
        "api-key": server.api_key,
        "webserver-address": server.address,
        "webserver-port": api_port,
        "receiver-threads": 1,
        "distributor-threads": 1,
        "security-poll-suffix": "",
    }
    lines = (f"{name}={value}\n" for name, value in settings.items())
    (folder / "pdns.conf").write_text("".join(lines))
    process = Running(
        [program, f"--config-dir={folder}"], os.environ, server.log_path, STOP_SECONDS
    )
    try:
        process.wait_until(lambda: _answers(server), START_SECONDS)
        for zone, text in zones.items():
            server.create(zone, text)
        yield server
    finally:
        process.stop()
        shutil.rmtree(sockets)


def _answers(server: PowerDnsServer) -> bool:
    try:
        server.call("GET", "/zones")
        server.lookup("example.com", "SOA")
    except (httpx.TransportError, dns.exception.DNSException, OSError):
        return False
    return True
