# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Processes of ansible-playbook that converge a tenant, to be watched and killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from ansible_collections.postroom.email.tests.support.playbooks import (
    Recap,
    environment,
    read_recap,
)
from ansible_collections.postroom.email.tests.support.service import RunningService


class Play:
    """One task of `email_tenant` as a playbook, in a folder of its own."""

    def __init__(self, folder: Path, service: RunningService, **options: Any) -> None:
        folder.mkdir()
        self._folder = folder
        self.output = folder / "output"
        access = {"api_url": service.url, "api_token": service.token, "timeout": 60}
        task = {"name": "Converge", "postroom.email.email_tenant": {**access, **options}}
        play = {"hosts": "localhost", "gather_facts": False, "tasks": [task]}
        playbook = folder / "play.yml"
        playbook.write_text(json.dumps([play]), "utf-8")
        self.command = [sys.executable, "-m", "ansible", "playbook", str(playbook)]

    def environment(self, **settings: str) -> dict[str, str]:
        """Return an environment of its own."""
        return environment(self._folder, **settings)

    def start(self, **settings: str) -> subprocess.Popen[bytes]:
        """Start it."""
        with self.output.open("wb") as output:
            return subprocess.Popen(
                self.command,
                cwd=self._folder,
                env=self.environment(**settings),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )

    def finish(self, process: subprocess.Popen[bytes]) -> Recap:
        """Wait for the end of a run that must succeed and return its counts."""
        status = process.wait()
        output = self.output.read_text("utf-8", "replace")
        assert status == 0, output
        (recap,) = filter(None, map(read_recap, output.splitlines()))
        return recap

    def run(self, **settings: str) -> Recap:
        """Run it to its end, which must be a success."""
        return self.finish(self.start(**settings))


def kill(process: subprocess.Popen[bytes], *, workers: bool) -> None:
    """Kill a run, alone or with the workers that it has forked."""
    for pid in [process.pid, *(descendants(process.pid) if workers else ())]:
        # A worker may have ended meanwhile.
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    process.wait()


def descendants(pid: int) -> Iterator[int]:
    """Yield the processes below another; a worker of Ansible is in a session of its own."""
    for file in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in map(int, file.read_text("ascii").split()):
            yield child
            yield from descendants(child)
