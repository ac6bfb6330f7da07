# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Where the audit's lines go."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TextIO

from postroom_bot.errors import StartError


def audit_lines(where: str | None, end: ExitStack) -> Callable[[str], None] | None:
    """Return what writes a line so that it is out of this process when it returns.

    :param where: a file, to whose end it is added, "-" for standard output, or None for nowhere
    """
    if where is None:
        return None
    file = sys.stdout if where == "-" else end.enter_context(_opened(Path(where)))

    def write(line: str) -> None:
        file.write(line + "\n")
        file.flush()

    return write


def _opened(path: Path) -> TextIO:
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
    try:
        return os.fdopen(os.open(path, flags, 0o600), "a", encoding="utf-8")
    except OSError as error:
        raise StartError(f"audit_lines: {path} can't be written ({error.strerror})") from None
