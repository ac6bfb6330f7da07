# Copyright (c) 2026, Postroom contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""When a task may run inside the worker: only where nobody can tell it from a module run.

Each function returns why a module process is needed, or None.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from pathlib import Path

#: An interpreter or a library reads these when its process starts, or once and for all later.
_READ_AT_START = re.compile(
    r"(?:PYTHON|LD_|DYLD_|OPENSSL_|SSL_|SSLKEYLOGFILE|LC_|MALLOC_|GLIBC_)|(?:LANG|LANGUAGE|TZ)\Z"
)
#: Other names a shell does not take as a variable's.
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_DISCOVERED = ("", "auto", "auto_legacy", "auto_silent", "auto_legacy_silent")


def against_interpreter(interpreter: str) -> str | None:
    """Return what stands against a task whose module would run on that Python."""
    if interpreter in _DISCOVERED or _identity(interpreter) == _identity(sys.executable):
        return None
    return f"its Python is {interpreter}, Ansible's own is {sys.executable}"


def against_environment(environment: Mapping[str, str]) -> str | None:
    """Return what stands against a task that sets these variables."""
    for name, value in environment.items():
        if _READ_AT_START.match(name):
            return f"environment sets {name}, which only a new process reads"
        if not _VARIABLE.match(name) or "\0" in value:
            return f"environment sets {name!r}, which only a shell can judge"
    return None


def _identity(interpreter: str) -> tuple[Path, Path] | None:
    """Return what tells two Pythons apart: the file, and the virtual environment it is called in.

    None equals no other: what a shell would have to look up on its PATH.
    """
    path = Path(interpreter)
    return (path.resolve(), path.parent.resolve()) if path.is_absolute() else None
