# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Runs a program of this repository as a process. Uses only the standard library."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path


class Running:
    """A running process.

    :cvar error: the exception to raise if the process does not start or exit as expected

    :param log_path: the file to which the output of the process is appended
    :param patience: the seconds to wait for a graceful exit
    """

    error: type[RuntimeError] = RuntimeError

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        log_path: Path,
        patience: float,
    ) -> None:
        self.log_path = log_path
        self.environment = dict(environment)
        self._patience = patience
        with log_path.open("ab") as log:
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=self.environment
            )

    @property
    def pid(self) -> int:
        """The process ID."""
        return self.process.pid

    def log(self) -> str:
        """Return the log."""
        return self.log_path.read_text(encoding="utf-8", errors="replace")

    def log_tail(self) -> str:
        """Return the last lines of the log."""
        return "\n".join(self.log().splitlines()[-20:])

    def wait_until(self, is_ready: Callable[[], object], seconds: float) -> None:
        """Wait for a condition. Raise an error if the process exits or the wait times out."""
        deadline = time.monotonic() + seconds
        while not is_ready():
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise self.error(f"the program did not start:\n{self.log_tail()}")
            time.sleep(0.02)

    def check(self, status: int) -> None:
        """Raise an error unless the exit status is 0 or that of a killed process."""
        if status not in (0, -signal.SIGKILL):
            raise self.error(f"the program exited with {status}:\n{self.log_tail()}")

    def stop(self) -> int:
        """Stop the process gracefully, or kill it if necessary, and return its exit status."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(self._patience)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()

    def kill(self) -> None:
        """Kill the process."""
        self.process.kill()
        self.process.wait()
