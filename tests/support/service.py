# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Runs the reference service as a process, for tests, the demo and the benchmark.

Uses only the standard library.
"""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from ansible_collections.postroom.email.tests.support.processes import Running

PATHS = [str(Path(__file__).resolve().parents[2] / name) for name in ("service", "common")]
START_SECONDS = 120.0
STOP_SECONDS = 60.0
CHEAP_SECRETS = "m=8,t=1,p=1"


class ServiceError(RuntimeError):
    """Raised if the service does not start or exit as expected, with the end of its log."""


class RunningService(Running):
    """A service process that is ready."""

    error = ServiceError

    def __init__(
        self, directory: Path, command: Sequence[str], environment: Mapping[str, str]
    ) -> None:
        self.database = environment["POSTROOM_SERVICE_DATABASE"]
        self._ready_file = directory / "ready.json"
        self._token_file = directory / "token"
        self._ready_file.unlink(missing_ok=True)
        super().__init__(command, environment, directory / "service.log", STOP_SECONDS)
        try:
            self.wait_until(self._ready_file.exists, START_SECONDS)
            self.ready = json.loads(self._ready_file.read_text(encoding="utf-8"))
            self.url = str(self.ready["url"])
        except BaseException:
            self.kill()
            raise
        self.token = self._token_file.read_text(encoding="utf-8").strip()

    def new_token(self, tenant: str, *arguments: str) -> str:
        """Create a token for any tenant. This is not possible with an in-memory database."""
        return self.command("token", "create", "--tenant", tenant, *arguments).strip()

    def command(self, *arguments: str) -> str:
        """Run another command of the service on the same database, and return its output."""
        command = [sys.executable, "-m", "postroom_service", *arguments]
        result = subprocess.run(
            command, env=self.environment, capture_output=True, text=True, check=False
        )
        if result.returncode:
            raise ServiceError(
                f"{arguments[0]} exited with {result.returncode}: {result.stderr.strip()}"
            )
        return result.stdout


@contextmanager
def running_service(
    directory: str | os.PathLike[str],
    *,
    faults: str | None = None,
    database: str | None = None,
    tenant: str = "tests",
    secret_cost: str = CHEAP_SECRETS,
    extra_args: Sequence[str] = (),
    prefix: Sequence[str] = (),
) -> Iterator[RunningService]:
    """Run the service on a free loopback port, with its files in `directory`, and stop it on exit.

    By default, the database is a file in the directory, so a second run in the same directory finds
    the first run's data. An exit status other than 0 is an error, except after `kill()`.

    :param database: a path, a URL or `memory`
    :param prefix: a command that is put before the service's command and must execute it
    """
    place = Path(directory).resolve()
    place.mkdir(parents=True, exist_ok=True)
    options = {
        "--port": "0",
        "--ready-file": str(place / "ready.json"),
        "--bootstrap": tenant,
        "--token-file": str(place / "token"),
        "--secret-cost": secret_cost,
        **({"--faults": faults} if faults else {}),
    }
    program = [*prefix, sys.executable, "-m", "postroom_service", "serve"]
    command = [*program, *itertools.chain(*options.items()), *extra_args]
    settings = _environment(database or str(place / "service.sqlite3"))
    service = RunningService(place, command, settings)
    try:
        yield service
    finally:
        status = service.stop()
    service.check(status)


def _environment(database: str) -> dict[str, str]:
    paths = [*PATHS, *filter(None, [os.environ.get("PYTHONPATH")])]
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(paths),
        "PYTHONUNBUFFERED": "1",
        "POSTROOM_SERVICE_DATABASE": database,
        # Tests only query their own name servers.
        "POSTROOM_SERVICE_TRUST_DOMAINS": "true",
    }
