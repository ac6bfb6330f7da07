# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A program of ours that runs as a process of its own. Uses the standard library only."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path


class Running:
    """One process: how it begins, and how it ends.

    :param log_path: what it prints is added there
    :param patience: seconds for a graceful end
    """

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
