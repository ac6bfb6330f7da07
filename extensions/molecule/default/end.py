# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tells a process to end, if it is one of a scenario's: `end.py NUMBER FOLDER`.

A number may be another process's by now, so the folder of the scenario has to be in its command.
Prints "told" if it was told. Needs no programs, which small images may not have.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path


def end(pid: int, folder: str) -> bool:
    """Tell the process to end, and return whether there was one to tell."""
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
        print("told")  # noqa: T201 - which the task looks for
