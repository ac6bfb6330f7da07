# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The API and the daemon of a mail host, each in its own process."""

from __future__ import annotations

import json
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
import psycopg

from ansible_collections.postroom.email.tests.mail_host.mta import Mta, connected
from ansible_collections.postroom.email.tests.service.api import TRUST, Api
from ansible_collections.postroom.email.tests.support.processes import Running
from ansible_collections.postroom.email.tests.support.service import RunningService, running_service

NAME = "mail.host.example"
ROLES = ("postroom-mail", "postfix", "dovecot")
SRS_SECRETS = ("current-srs-secret", "previous-srs-secret")
START_SECONDS, STOP_SECONDS = 120.0, 60.0
ATTEMPTS = 600


class DaemonError(RuntimeError):
    """Raised if the daemon does not start or exit as expected."""


class Daemon(Running):
    """A process of `postroom-service mail`. `folder` contains the process's files."""

    error = DaemonError

    def __init__(self, folder: Path, environment: dict[str, str], *options: str) -> None:
        self.folder = folder
        self.mail = folder / "mail"
        self.kicked = folder / "kicked"
        secrets, ready = folder / "srs-secrets", folder / "mail-ready.json"
        secrets.write_text("\n".join(SRS_SECRETS) + "\n")
        ready.unlink(missing_ok=True)
        self.milter, self.socketmap = folder / "milter", folder / "socketmap"
        listeners = [f"--milter={self.milter}", f"--socketmap={self.socketmap}"]
        listeners.append("--status=127.0.0.1:0")
        files = [f"--mail-dir={self.mail}", f"--srs-secret={secrets}", f"--ready-file={ready}"]
        command = [sys.executable, "-m", "postroom_service", "mail", f"--mail-host={NAME}"]
        environment = environment | {"PATH": str(_doveadm(folder))}
        super().__init__(
            [*command, *listeners, *files, *options], environment, folder / "mail.log", STOP_SECONDS
        )
        try:
            self.wait_until(ready.exists, START_SECONDS)
            self.ready = json.loads(ready.read_text())
        except BaseException:
            self.kill()
            raise

    def mta(self) -> Mta:
        """Connect to the milter, as Postfix does."""
        return Mta(self.milter)

    def lookup(self, *keys: str, name: str = "forward") -> list[str]:
        """Look up keys in the socketmap over one connection."""
        with connected(self.socketmap) as connection:
            return [_ask(connection, f"{name} {key}".encode()) for key in keys]

    def health(self) -> int:
        """Return the status of /healthz."""
        return httpx.get(f"{self.ready['url']}/healthz", timeout=60, verify=TRUST).status_code

    def metrics(self) -> dict[str, float]:
        """Return the metrics, keyed by name and labels."""
        page = httpx.get(f"{self.ready['url']}/metrics", timeout=60, verify=TRUST).text
        lines = [line.rpartition(" ") for line in page.splitlines() if not line.startswith("#")]
        return {name: float(value) for name, _, value in lines}

    def kicks(self) -> list[str]:
        """Return the arguments of all calls to doveadm."""
        return self.kicked.read_text().splitlines() if self.kicked.exists() else []


class MailHost:
    """A mail host with an API and a daemon."""

    def __init__(self, url: str, service: RunningService, api: Api, daemon: Daemon) -> None:
        self.url, self.service, self.api, self.daemon = url, service, api, daemon

    def domain(
        self, name: str | None = None, *, verified: bool = True, api: Api | None = None
    ) -> str:
        """Register a domain, and return its name."""
        made = (api or self.api).domain(name)
        if verified:
            self.sql(
                "UPDATE dkim_key SET verified_at = 1 WHERE principal_id ="
                " (SELECT id FROM principal WHERE name = %s)",
                made,
            )
        return made

    def sql(self, query: str, *given: Any, role: str = "postgres") -> list[tuple[Any, ...]]:
        """Run a query as the given database role."""
        return run_sql(self.url, query, *given, role=role)

    def uid(self, name: str) -> str:
        """Return the uid of a mailbox."""
        [(uid,)] = self.sql("SELECT uid FROM principal WHERE name = %s", name)
        return str(uid)

    def folder(self, name: str) -> Path:
        """Create the mail folder of a mailbox, with a message in it."""
        folder = self.daemon.mail / self.uid(name)
        (folder / "Maildir" / "new").mkdir(parents=True)
        (folder / "Maildir" / "new" / "1.mail").write_text("Subject: x\n\n")
        return folder


def run_sql(url: str, query: str, *given: Any, role: str = "postgres") -> list[tuple[Any, ...]]:
    """Run a query as the given database role."""
    with psycopg.connect(as_role(url, role), autocommit=True) as connection:
        cursor = connection.execute(query.encode(), given or None)
        return cursor.fetchall() if cursor.description else []


def as_role(url: str, role: str) -> str:
    """Return the URL of the database for another role."""
    return url.replace("user=postgres", f"user={role}")


def create_roles(url: str) -> None:
    """Create the database roles of a mail host if they don't exist."""
    existing = {name for (name,) in run_sql(url, "SELECT rolname FROM pg_roles")}
    for role in ROLES:
        if role not in existing:
            run_sql(url, f'CREATE ROLE "{role}" LOGIN')


def make_daemon(
    folder: Path, service: RunningService, *options: str, environment: dict[str, str] | None = None
) -> Daemon:
    """Start a daemon for a service's database."""
    database = as_role(service.database, "postroom-mail")
    variables = {"POSTROOM_SERVICE_DATABASE": database, **(environment or {})}
    return Daemon(folder, service.environment | variables, *options)


@contextmanager
def running_daemon(
    folder: Path, service: RunningService, *options: str, environment: dict[str, str] | None = None
) -> Iterator[Daemon]:
    """Run a daemon for a service's database."""
    daemon = make_daemon(folder, service, *options, environment=environment)
    try:
        yield daemon
    finally:
        status = daemon.stop()
    daemon.check(status)


@contextmanager
def mail_host(folder: Path, url: str, *options: str) -> Iterator[MailHost]:
    """Run a mail host on an empty database."""
    create_roles(url)
    with ExitStack() as stack:
        service = stack.enter_context(running_service(folder, database=url))
        service.command("grant")
        api = stack.enter_context(Api(service.url, service.token))
        daemon = stack.enter_context(running_daemon(folder, service, *options))
        wait(lambda: daemon.health() == 200)
        yield MailHost(url, service, api, daemon)


def wait(is_true: Callable[[], object]) -> None:
    """Wait for a condition that another process fulfills."""
    for _ in range(ATTEMPTS):
        if is_true():
            return
        time.sleep(0.1)
    raise AssertionError("the condition was not met within a minute")


def _doveadm(folder: Path) -> Path:
    """Create a directory with a fake doveadm that records its arguments."""
    place = folder / "bin"
    place.mkdir(exist_ok=True)
    program = place / "doveadm"
    program.write_text(f'#!/bin/sh\necho "$*" >> {folder}/kicked\n')
    program.chmod(0o755)
    return place


def _ask(connection: socket.socket, request: bytes) -> str:
    connection.sendall(b"%d:%s," % (len(request), request))
    answer = b""
    while not answer.endswith(b","):
        part = connection.recv(4096)
        assert part, "the daemon closed the connection"
        answer += part
    size, _, reply = answer[:-1].partition(b":")
    assert int(size) == len(reply)
    return reply.decode()
