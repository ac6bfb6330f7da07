# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Temporary PostgreSQL clusters for tests, each with its own Unix socket."""

from __future__ import annotations

import contextlib
import itertools
import os
import pwd
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg

from ansible_collections.postroom.email.tests.support import system_programs

START_SECONDS = 120.0
STOP_SECONDS = 60.0
#: Longer than a program may wait for a suspended server.
SUSPENSION_SECONDS = 60.0
UNPRIVILEGED = ("postgres", "nobody")

_numbers = itertools.count(1)


def binaries() -> Path:
    """Return the directory of initdb and postgres. Skip the test if they are not installed."""
    return Path(system_programs.require("initdb")).resolve().parent


class Cluster:
    """A cluster in a directory. The cluster can be stopped and started again.

    :param listen: an address on which the server also accepts connections with passwords
    :ivar url: the URL of the `postgres` database
    """

    def __init__(self, place: Path, directory: Path, listen: str = "") -> None:
        self._place, self._directory, self._listen = place, directory, listen
        self._common: dict[str, Any] = {
            "cwd": directory,
            "stdin": subprocess.DEVNULL,
            **_other_user(directory),
        }
        self._process: subprocess.Popen[bytes] | None = None
        self.url = f"postgresql:///postgres?host={directory}&user=postgres"
        options = ["-A", "trust", "-U", "postgres", "-E", "UTF8", "--locale=C", "--no-sync"]
        subprocess.run(
            [str(place / "initdb"), "-D", str(directory / "data"), *options],
            check=True,
            capture_output=True,
            **self._common,
        )
        if listen:
            with (directory / "data" / "pg_hba.conf").open("a") as rules:
                rules.write("host all all all scram-sha-256\n")

    def start(self) -> None:
        """Start the server, and wait until it accepts connections."""
        folder = str(self._directory)
        server = [str(self._place / "postgres"), "-D", f"{folder}/data", "-k", folder]
        settings = [f"listen_addresses={self._listen}", "fsync=off", "max_connections=200"]
        with (self._directory / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [*server, *(word for setting in settings for word in ("-c", setting))],
                stdout=log,
                stderr=log,
                **self._common,
            )
        _wait(self._place, self._directory, self._process)

    @contextlib.contextmanager
    def suspended(self, *, postmaster: bool = True) -> Iterator[None]:
        """Suspend all processes of the server until the block ends. Its sockets stay open.

        The processes also continue after a while, so that an endless wait for them ends.

        :param postmaster: whether to suspend the postmaster as well, which accepts connections
        """
        assert self._process is not None
        pid = self._process.pid
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
        processes = [*([pid] if postmaster else []), *map(int, children)]

        def resume() -> None:
            for process in processes:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, signal.SIGCONT)

        timer = threading.Timer(SUSPENSION_SECONDS, resume)
        timer.start()
        try:
            for process in processes:
                os.kill(process, signal.SIGSTOP)
            yield
        finally:
            timer.cancel()
            resume()

    def stop(self) -> None:
        """Stop the server and close all connections."""
        if self._process is not None:
            _stop(self._process)
            self._process = None


@contextlib.contextmanager
def stoppable_cluster(place: Path, listen: str = "") -> Iterator[Cluster]:
    """Run a cluster that the test can stop and start."""
    # Don't use pytest's directory: other users can't access it, and its path is too long for a
    # socket.
    with tempfile.TemporaryDirectory(prefix="pg-") as name:
        made = Cluster(place, Path(name), listen)
        try:
            made.start()
            yield made
        finally:
            made.stop()


@contextlib.contextmanager
def cluster(place: Path) -> Iterator[str]:
    """Run a cluster, and yield the URL of its `postgres` database."""
    with stoppable_cluster(place) as running:
        yield running.url


@contextlib.contextmanager
def fresh_database(cluster_url: str, template: str = "template1") -> Iterator[str]:
    """Create a database as a copy of a template, and yield its URL. Drop the database on exit."""
    name = f"test_{next(_numbers)}"
    with psycopg.connect(cluster_url, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}"')
        try:
            yield cluster_url.replace("///postgres?", f"///{name}?")
        finally:
            connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


def _other_user(directory: Path) -> dict[str, Any]:
    """When running as root, return the options that run PostgreSQL as another user.

    PostgreSQL refuses to run as root. The other user becomes the owner of the directory.
    """
    if os.geteuid() != 0:
        return {}
    for name in UNPRIVILEGED:
        with contextlib.suppress(KeyError):
            user = pwd.getpwnam(name)
            os.chown(directory, user.pw_uid, user.pw_gid)
            return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    raise RuntimeError(f"running as root, and there is no user {' or '.join(UNPRIVILEGED)}")


def _wait(place: Path, directory: Path, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_SECONDS
    question = [str(place / "pg_isready"), "-q", "-h", str(directory)]
    while subprocess.run(question, check=False).returncode != 0:
        if process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"PostgreSQL did not start:\n{(directory / 'log').read_text()}")
        time.sleep(0.1)


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGINT)  # a fast shutdown
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
