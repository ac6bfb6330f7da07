# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Plays against a server, in a folder of their own."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ansible_collections.postroom.email.tests.benchmark.servers import Server
from ansible_collections.postroom.email.tests.support import playbooks

Task = dict[str, Any]

TENANT = "postroom.email.email_tenant"
PEAK = Path(__file__).with_name("peak.py")


@dataclass(frozen=True)
class Play:
    """One play, to be run as often as needed.

    :param changed: how many of its tasks are to change something
    """

    playbook: Path
    env: dict[str, str]
    options: tuple[str, ...]
    changed: int

    def __call__(self) -> None:
        """Run it.

        :raises RuntimeError: a task failed, or changed what it was not to change
        """
        self._run()

    def memory(self) -> int:
        """Run it, and return the bytes that the largest of its processes came to take."""
        told = self.playbook.with_suffix(".peak")
        self._run(sys.executable, str(PEAK), str(told))
        return int(told.read_text("ascii"))

    def _run(self, *wrapper: str) -> None:
        ansible = [sys.executable, "-m", "ansible", "playbook", str(self.playbook), *self.options]
        done = playbooks.run([*wrapper, *ansible], self.env, self.playbook.parent)
        # A play without tasks has no recap.
        changed = done.recap.changed if "changed=" in done.output else 0
        if done.status or changed != self.changed:
            raise RuntimeError(f"{self.playbook.stem} did not do what it was to do:\n{done.output}")


class Plays:
    """Plays against one server, which their tasks find in the environment."""

    def __init__(self, server: Server, folder: Path) -> None:
        folder.mkdir()
        self._folder = folder
        self._env = playbooks.environment(
            folder, POSTROOM_API_URL=server.url, POSTROOM_API_TOKEN=server.token
        )

    def write(self, name: str, content: Any) -> Path:
        """Write a JSON file and return where it lies."""
        return self.write_lines(name, [json.dumps(content)])

    def write_lines(self, name: str, lines: Iterable[str]) -> Path:
        """Write a file, for its owner only, and return where it lies."""
        file = self._folder / name
        file.touch(mode=0o600)
        file.write_text("".join(f"{line}\n" for line in lines), "utf-8")
        return file

    def play(
        self, name: str, *tasks: Task, options: tuple[str, ...] = (), changed: int = 0
    ) -> Play:
        """Return a play of these tasks."""
        named = [{"name": "Do", **task} for task in tasks]
        play = {"name": name, "hosts": "localhost", "gather_facts": False, "tasks": named}
        return Play(self.write(f"{name}.json", [play]), self._env, options, changed)


def uri(path: str, **options: Any) -> Task:
    """Return a task that sends one request, or one for each item of a loop."""
    return {
        "ansible.builtin.uri": {
            "url": "{{ lookup('env', 'POSTROOM_API_URL') }}" + path,
            "headers": {"Authorization": "Bearer {{ lookup('env', 'POSTROOM_API_TOKEN') }}"},
            **options,
        }
    }
