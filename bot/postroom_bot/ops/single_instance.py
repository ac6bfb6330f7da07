# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""One process at a time on one SQLite file."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from postroom_bot.errors import StartError


class SingleInstance:
    """A lock on a file beside the database's, which ends with the process.

    :raises StartError: another process has it
    """

    def __init__(self, database: Path) -> None:
        path = database.with_name(f"{database.name}.lock")
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._file)
            raise StartError(
                f"another bot uses {database}; more than one replica needs PostgreSQL"
            ) from None

    def end(self) -> None:
        """Let another process have the database."""
        os.close(self._file)
