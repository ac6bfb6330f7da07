# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What was answered is kept, files are private, and the process starts and ends well."""

from __future__ import annotations

import contextlib
import json
import signal
import socket
import sqlite3
import stat
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from ansible_collections.postroom.email.tests.service.api import Api, check_problem
from ansible_collections.postroom.email.tests.support.postgresql import (
    NO_POSTGRESQL,
    binaries,
    cluster,
)
from ansible_collections.postroom.email.tests.support.service import (
    RunningService,
    ServiceError,
    running_service,
)


def answered_writes(service: RunningService, kill_after: int) -> set[str]:
    """Write from several threads, kill the service in the middle, and give what was answered."""
    answered: set[str] = set()
    enough = threading.Event()
    with Api(service.url, service.token) as api:
        domain = api.domain()

    def write(worker: int) -> None:
        with Api(service.url, service.token) as api, contextlib.suppress(httpx.TransportError):
            for n in range(10_000):
                answered.add(api.mailbox(f"u{worker}-{n}@{domain}", f"a{worker}-{n}@{domain}"))
                if len(answered) >= kill_after:
                    enough.set()

    with ThreadPoolExecutor(4) as pool:
        for worker in range(4):
            pool.submit(write, worker)
        assert enough.wait(60)
        service.kill()
    return answered


@pytest.mark.parametrize("backend", ["file", "postgresql"])
def test_a_kill_loses_nothing_that_was_answered(
    backend: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """After kill -9 amid writes, a new process has all that was answered, and whole."""
    database = request.getfixturevalue("postgresql_url") if backend == "postgresql" else None
    tenant = f"kill-{backend}"
    with running_service(tmp_path, database=database, tenant=tenant) as service:
        answered = answered_writes(service, kill_after=60)
    with (
        running_service(tmp_path, database=database, tenant=tenant) as service,
        Api(service.url, service.token) as api,
    ):
        found = {box["name"]: box for box in api.listing(type="individual")}
        assert answered <= set(found)
        assert all(len(box["emails"]) == 2 for box in found.values())
        # At most one write of each caller was under way.
        assert len(found) <= len(answered) + 4


def test_a_restart_keeps_everything(tmp_path: Path) -> None:
    """Principals, records and tokens are the same after a graceful stop and a new start."""
    with running_service(tmp_path) as service:
        token = service.token
        with Api(service.url, token) as api:
            domain = api.domain()
            api.mailbox(f"ann@{domain}", f"a@{domain}")
            before = (api.listing(), api.dns(domain).json())
    with running_service(tmp_path) as service, Api(service.url, token) as api:
        assert (api.listing(), api.dns(domain).json()) == before


def test_files_are_their_owners_only(file_service: RunningService) -> None:
    """The database with its companions, the token and the ready file have mode 0600."""
    with Api(file_service.url, file_service.token) as api:
        api.domain()
        database = Path(file_service.database)
        paths = [
            *database.parent.glob(f"{database.name}*"),
            *file_service.log_path.parent.glob("[rt]*"),
        ]
        names = {path.name for path in paths}
        assert {
            "service.sqlite3",
            "service.sqlite3-wal",
            "service.sqlite3-shm",
            "ready.json",
            "token",
        } <= names
        assert {stat.S_IMODE(path.stat().st_mode) for path in paths} == {0o600}


def test_a_readable_database_is_made_private(tmp_path: Path) -> None:
    """An existing file that others may read is closed to them at the start."""
    database = tmp_path / "service.sqlite3"
    database.touch(0o644)
    with running_service(tmp_path):
        assert stat.S_IMODE(database.stat().st_mode) == 0o600


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_stop_lets_requests_finish(tmp_path: Path, number: signal.Signals) -> None:
    """A request under way when the signal comes is answered; then the process exits with 0."""
    with running_service(tmp_path, faults="latency=1s,methods=POST") as service:
        where = urlsplit(service.url)
        with socket.create_connection((where.hostname, where.port), timeout=60) as connection:
            connection.sendall(raw_creation(service.token))
            # It has reached the service when a later one on another connection is answered.
            with Api(service.url, service.token) as api:
                assert api.listing() == []
            service.process.send_signal(number)
            answer = b"".join(iter(lambda: connection.recv(4096), b""))
        assert answer.startswith(b"HTTP/1.1 201 ")
        assert service.process.wait(60) == 0
        assert not (tmp_path / "ready.json").exists()


def raw_creation(token: str) -> bytes:
    """Give the bytes of a request that creates a domain."""
    body = '{"name": "example.com", "type": "domain"}'
    lines = [
        "POST /api/principal HTTP/1.1",
        "Host: localhost",
        f"Authorization: Bearer {token}",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
    ]
    return "\r\n".join([*lines, "", body]).encode()


def test_the_ready_file_tells_url_and_pid(file_service: RunningService) -> None:
    """The ready file is complete as soon as it exists."""
    ready = json.loads((file_service.log_path.parent / "ready.json").read_text())
    assert ready == {"url": file_service.url, "pid": file_service.pid}


def test_another_schema_is_refused(tmp_path: Path) -> None:
    """A database of a newer program is left alone."""
    with running_service(tmp_path):
        pass
    with sqlite3.connect(tmp_path / "service.sqlite3") as connection:
        connection.execute("UPDATE schema_version SET version = 99")
    connection.close()
    with pytest.raises(ServiceError, match="the database has schema 99"), running_service(tmp_path):
        pass


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--database", "/nonexistent/x"], "the database file /nonexistent/x can't be used"),
        (["--database", "mysql://host/x"], "databases are SQLite and PostgreSQL, not mysql"),
        (
            ["--database", "postgresql://u:s3cr3t@host/x"],
            "a command line is no place for a password",
        ),
        (["--database", "postgresql:///x?host=/nonexistent"], "the database can't be used"),
        (["--ready-file", "/nonexistent/x"], "/nonexistent/x can't be written"),
        (["--bootstrap", "t"], "--bootstrap and --token-file go together"),
        (["--tls-cert", "x"], "--tls-cert and --tls-key go together"),
        (
            ["--tls-cert", "/nonexistent", "--tls-key", "/nonexistent"],
            "the certificate or key can't be",
        ),
        (["--secret-cost", "cheap"], "the cost of secrets is written m=19456,t=2,p=1"),
        (["--host", "203.0.113.1"], "can't listen on 203.0.113.1 port 0"),
        (["--faults", "x=1"], "--faults: 'x=1' is not one of"),
        (["--port", "99999"], "a port is a number from 0 to 65535"),
    ],
)
def test_a_start_that_fails_says_why(tmp_path: Path, arguments: list[str], sentence: str) -> None:
    """A mistake at the start is one sentence and status 2, with no traceback or password."""
    command = [sys.executable, "-m", "postroom_service", "serve", "--port", "0"]
    if "--database" not in arguments:
        arguments = ["--database", "memory", *arguments]
    path = ":".join(sys.path)
    result = subprocess.run(
        [*command, *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={"PYTHONPATH": path},
    )
    assert result.returncode == 2
    assert sentence in result.stderr
    assert "Traceback" not in result.stderr
    assert "s3cr3t" not in result.stderr


def test_a_lost_database_is_told_as_such(tmp_path: Path) -> None:
    """Without its PostgreSQL the service answers 503 to everything, and ends well."""
    place = binaries()
    if place is None:
        pytest.skip(NO_POSTGRESQL)
    with contextlib.ExitStack() as stack:
        with cluster(place) as url:
            service = stack.enter_context(running_service(tmp_path, database=url))
            api = stack.enter_context(Api(service.url, service.token))
            api.domain()
        for path in ("/api/principal", "/healthz"):
            response = api.call("GET", path)
            check_problem(response, 503, "store_unavailable")
            assert response.headers["Retry-After"] == "1"
        creation = api.create({"name": "b.example", "type": "domain"})
        check_problem(creation, 503, "store_unavailable")
