# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Terminate a process if it belongs to a scenario: `end.py PID FOLDER`.

Another process may have been assigned the same PID in the meantime, so the command line must
contain the scenario's folder. The script prints "terminated" if it sent SIGTERM. It does not run
other programs, because minimal images may lack them.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path


def end(pid: int, folder: str) -> bool:
    """Terminate the process, and return whether it was running."""
    try:
        command = Path("/proc", str(pid), "cmdline").read_bytes()
        if folder.encode() not in command:
            return False
        os.kill(pid, signal.SIGTERM)
    except (FileNotFoundError, ProcessLookupError):
        return False
    return True


if __name__ == "__main__":
    if end(int(sys.argv[1]), sys.argv[2]):
        print("terminated")  # noqa: T201 - the task checks the output
