# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A program of ours that runs as a process of its own. Uses the standard library only."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path


class Running:
    """One process: how it begins, and how it ends.

    :cvar error: raised if it does not start or end as it should

    :param log_path: what it prints is added there
    :param patience: seconds for a graceful end
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
        """The number of the process."""
        return self.process.pid

    def log(self) -> str:
        """Return all that it has logged."""
        return self.log_path.read_text(encoding="utf-8", errors="replace")

    def log_tail(self) -> str:
        """Return the last lines of the log."""
        return "\n".join(self.log().splitlines()[-20:])

    def wait_until(self, is_ready: Callable[[], object], seconds: float) -> None:
        """Wait for a condition; raise an error if the process ends, or time runs out."""
        deadline = time.monotonic() + seconds
        while not is_ready():
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise self.error(f"the program did not start:\n{self.log_tail()}")
            time.sleep(0.02)

    def check(self, status: int) -> None:
        """Raise an error unless the process ended by itself or was killed on purpose."""
        if status not in (0, -signal.SIGKILL):
            raise self.error(f"the program exited with {status}:\n{self.log_tail()}")

    def stop(self) -> int:
        """End the process gracefully, or else by force, and give its exit status."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(self._patience)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()

    def kill(self) -> None:
        """End the process with no chance to say goodbye."""
        self.process.kill()
        self.process.wait()
