# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Find the supported Pythons that are installed on this machine.

Searching PATH is not enough, because pyenv adds a shim for every installed version, and the shim of
an inactive version exits with status 127. Each candidate is therefore run to check it.
"""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

SUPPORTED = ("3.10", "3.11", "3.12", "3.13", "3.14")

# Environments need venv and ensurepip, which Debian has in separate packages.
PROBE = "import ensurepip, sys, venv; print('%d.%d' % sys.version_info[:2])"


def first(versions: Iterable[str]) -> tuple[str, Path] | None:
    """Return the first installed version in `versions` and its interpreter's path, or None."""
    for version in versions:
        path = find(version)
        if path is not None:
            return version, path
    return None


@functools.cache
def find(version: str) -> Path | None:
    """Return the path of a working interpreter for a version such as `3.12`, or None."""
    return next((path for path in _candidates(version) if _runs(path, version)), None)


def bin_dirs() -> list[str]:
    """Return the directories of the installed supported Pythons, to prepend to PATH."""
    found = (find(version) for version in SUPPORTED)
    return list(dict.fromkeys(str(path.parent) for path in found if path is not None))


def environment(interpreter: Path, folder: Path, *requirements: str) -> Path:
    """Create a virtual environment if it is missing, install packages and return its Python."""
    python = folder / "bin" / "python"
    if not python.exists():
        subprocess.run([interpreter, "-m", "venv", "--clear", folder], check=True)
    if requirements:
        subprocess.run([python, "-m", "pip", "install", "--quiet", *requirements], check=True)
    return python


def _candidates(version: str) -> Iterator[Path]:
    name = f"python{version}"
    yield Path(sys.base_prefix, "bin", name)
    path = [Path(entry) for entry in os.environ.get("PATH", "").split(os.pathsep) if entry]
    yield from (entry / name for entry in path if entry.name != "shims")
    for root in _pyenv_roots(path):
        yield from sorted(root.glob(f"versions/{version}.*/bin/{name}"), reverse=True)
    yield from _from_uv(version)


def _pyenv_roots(path: Iterable[Path]) -> list[Path]:
    """Return pyenv's possible root directories.

    They include the parent of each `shims` directory in `path`, because HOME may have been changed.
    """
    roots = [entry.parent for entry in path if entry.name == "shims"]
    if "PYENV_ROOT" in os.environ:
        roots.insert(0, Path(os.environ["PYENV_ROOT"]))
    roots.append(Path("~/.pyenv").expanduser())
    return list(dict.fromkeys(roots))


def _from_uv(version: str) -> Iterator[Path]:
    uv = shutil.which("uv")
    if uv is not None:
        command = [
            uv,
            "python",
            "find",
            "--system",
            "--no-project",
            "--no-python-downloads",
            version,
        ]
        answer = subprocess.run(command, capture_output=True, text=True, check=False)
        if answer.returncode == 0:
            yield Path(answer.stdout.strip())


def _runs(path: Path, version: str) -> bool:
    if not os.access(path, os.X_OK):
        return False
    try:
        answer = subprocess.run(
            [path, "-c", PROBE], capture_output=True, text=True, check=False, timeout=30
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return answer.returncode == 0 and answer.stdout.strip() == version


if __name__ == "__main__":
    for wanted in SUPPORTED:
        print(f"{wanted:5} {find(wanted) or 'not found'}")
