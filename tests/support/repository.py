# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The files of this repository, for the tests that check them."""

from __future__ import annotations

import functools
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]


@functools.cache
def files() -> tuple[Path, ...]:
    """Return all tracked files, and untracked files that are not ignored, relative to the root."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    answer = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    names = sorted(set(answer.stdout.split("\0")) - {""})
    return tuple(Path(name) for name in names if (ROOT / name).is_file())


def sources(*folders: str) -> list[Path]:
    """Return all Python files, or only the files in the given directories."""
    found = [file for file in files() if file.suffix == ".py"]
    return [file for file in found if not folders or file.as_posix().startswith(folders)]


def modules() -> list[str]:
    """Return the names of the collection's modules."""
    return [file.stem for file in sources("plugins/modules/")]


def playbooks() -> list[str]:
    """Return the names of the collection's playbooks."""
    found = [file for file in files() if file.parent == Path("playbooks")]
    return [file.stem for file in found if file.suffix == ".yml"]


def mail_host_playbooks() -> set[str]:
    """Return the names of the playbooks for mail hosts, which are tested in tests/hosts."""
    return {name for name in playbooks() if name.startswith("mail_host")}


def roles() -> list[str]:
    """Return the names of the collection's roles."""
    return sorted({file.parts[1] for file in files() if file.parts[0] == "roles"})


def role_options(role: str) -> dict[str, dict[str, Any]]:
    """Return the options of all entry points of a role, in the order of its argument specs."""
    specs = read_yaml(f"roles/{role}/meta/argument_specs.yml")["argument_specs"]
    entries = [entry.get("options", {}) for entry in specs.values()]
    return {name: option for entry in entries for name, option in entry.items()}


def read(file: Path | str) -> str:
    """Return the text of a file."""
    return (ROOT / file).read_text("utf-8")


def read_toml(file: str) -> dict[str, Any]:
    """Return the contents of a TOML file."""
    return tomllib.loads(read(file))


def read_yaml(file: str) -> Any:
    """Return the contents of a YAML file."""
    return yaml.safe_load(read(file))
