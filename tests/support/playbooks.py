# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Runs playbooks as processes, without the user's settings. Uses only the standard library."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

COLLECTIONS = Path(__file__).resolve().parents[2] / ".collections"

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_RECAP = re.compile(
    r"\bok=(?P<ok>\d+)\s+changed=(?P<changed>\d+)\s+unreachable=(?P<unreachable>\d+)"
    r"\s+failed=(?P<failed>\d+)"
)


@dataclass(frozen=True)
class Recap:
    """The counts for one host in a play recap."""

    ok: int
    changed: int
    unreachable: int
    failed: int


@dataclass(frozen=True)
class Run:
    """The output and the exit status of a program."""

    status: int
    output: str

    @property
    def recaps(self) -> list[Recap]:
        """The counts for each host."""
        return [recap for line in self.output.splitlines() if (recap := read_recap(line))]

    @property
    def recap(self) -> Recap:
        """The counts for the only host."""
        if len(self.recaps) != 1:
            raise AssertionError(f"expected one recap, found {len(self.recaps)}:\n{self.output}")
        return self.recaps[0]


def read_recap(line: str) -> Recap | None:
    """Return the counts in a line of output, or None if the line is not part of a recap."""
    match = _RECAP.search(_COLOUR.sub("", line))
    return Recap(**{key: int(value) for key, value in match.groupdict().items()}) if match else None


def environment(folder: Path, **settings: str) -> dict[str, str]:
    """Return an environment in which Ansible finds the collection and writes only to `folder`."""
    ours = {
        "ANSIBLE_CONFIG": str(folder / "ansible.cfg"),
        "ANSIBLE_HOME": str(folder / "ansible"),
        "ANSIBLE_LOCAL_TEMP": str(folder / "ansible" / "tmp"),
        "ANSIBLE_REMOTE_TEMP": str(folder / "ansible" / "tmp"),
        # The default is in the home directory, which async_status may resolve differently.
        "ANSIBLE_ASYNC_DIR": str(folder / "ansible" / "async"),
        "ANSIBLE_COLLECTIONS_PATH": str(COLLECTIONS),
        "ANSIBLE_LOCALHOST_WARNING": "false",
        "ANSIBLE_INVENTORY_UNPARSED_WARNING": "false",
        # A proxy can't reach this machine's ports.
        "NO_PROXY": "127.0.0.1",
        "no_proxy": "127.0.0.1",
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        "PYTHONUNBUFFERED": "1",
        **settings,
    }
    # Ansible fails if ANSIBLE_CONFIG does not exist.
    (folder / "ansible.cfg").touch()
    return {key: value for key, value in os.environ.items() if not _is_setting(key)} | ours


def _is_setting(variable: str) -> bool:
    return variable.startswith(("ANSIBLE_", "POSTROOM_"))


def run_playbook(playbook: Path, env: Mapping[str, str], *options: str) -> Run:
    """Run a playbook, and wait for it to finish."""
    command = [sys.executable, "-m", "ansible", "playbook", str(playbook), *options]
    return run(command, env, playbook.parent)


def run(command: list[str], env: Mapping[str, str], folder: Path, answers: str = "") -> Run:
    """Run a program with `answers` as its input, and wait for it to finish."""
    done = subprocess.run(
        command,
        cwd=folder,
        env=dict(env),
        input=answers,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return Run(done.returncode, done.stdout)
