# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Plays that run loops of tasks against a server.

The address and the token of the server are in the environment of the plays.
"""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ansible_collections.postroom.email.tests.benchmark.measure import Ratio, interleaved, timed
from ansible_collections.postroom.email.tests.support import playbooks
from ansible_collections.postroom.email.tests.support.service import RunningService
from ansible_collections.postroom.email.tests.support.tenant import Api

Task = dict[str, Any]

TENANT = "postroom.email.email_tenant"
#: This program is small, because the kernel counts a child's peak memory from its parent's memory
#: use.
PEAK = """\
import resource, subprocess, sys
status = subprocess.run(sys.argv[2:]).returncode
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
open(sys.argv[1], "w").write(str(peak))
sys.exit(status)
"""


@dataclass(frozen=True)
class Play:
    """A play that can be run repeatedly.

    :param changed: the number of tasks that must change something
    """

    playbook: Path
    env: dict[str, str]
    options: tuple[str, ...]
    changed: int

    def __call__(self, *wrapper: str) -> None:
        """Run the play.

        :raises RuntimeError: if a task failed or made an unexpected change
        """
        ansible = [sys.executable, "-m", "ansible", "playbook", str(self.playbook), *self.options]
        done = playbooks.run([*wrapper, *ansible], self.env, self.playbook.parent)
        # The output has no recap if the play has no tasks.
        changed = done.recap.changed if "changed=" in done.output else 0
        if done.status or changed != self.changed:
            raise RuntimeError(f"{self.playbook.stem} made unexpected changes:\n{done.output}")

    def memory(self) -> int:
        """Run the play, and return the peak memory use of its largest process in bytes."""
        peak = self.playbook.with_suffix(".peak")
        self(sys.executable, "-c", PEAK, str(peak))
        return int(peak.read_text("ascii"))


class Plays:
    """Plays against one server."""

    def __init__(self, url: str, token: str, folder: Path) -> None:
        folder.mkdir()
        self._folder = folder
        access = {"POSTROOM_API_URL": url, "POSTROOM_API_TOKEN": token}
        self._env = playbooks.environment(folder, **access)

    def write(self, name: str, lines: Iterable[str]) -> Path:
        """Write a file that only its owner can read."""
        file = self._folder / name
        file.touch(mode=0o600)
        file.write_text("".join(f"{line}\n" for line in lines), "utf-8")
        return file

    def play(
        self,
        name: str,
        *tasks: Task,
        options: tuple[str, ...] = (),
        changed: int = 0,
        in_process: bool = True,
    ) -> Play:
        """Return a play with these tasks."""
        named = [{"name": "Do", **task} for task in tasks]
        play = {"name": name, "hosts": "localhost", "gather_facts": False, "tasks": named}
        env = {**self._env, "POSTROOM_IN_PROCESS": str(int(in_process))}
        return Play(self.write(f"{name}.json", [json.dumps([play])]), env, options, changed)


def uri(path: str, **options: Any) -> Task:
    """Return a task that sends one request, or one request per item of a loop."""
    return {
        "ansible.builtin.uri": {
            "url": "{{ lookup('env', 'POSTROOM_API_URL') }}" + path,
            "headers": {"Authorization": "Bearer {{ lookup('env', 'POSTROOM_API_TOKEN') }}"},
            **options,
        }
    }


GOALS = {"in process": 1 / 60, "module": 0.9}


def tasks(service: RunningService, folder: Path, items: int, rounds: int) -> list[Ratio]:
    """Run loops over unchanged mailboxes, in Ansible's worker, as modules and with `uri`."""
    names = [f"user{number:05}@single.example" for number in range(items)]
    with contextlib.closing(Api(service.url, service.token)) as api:
        api.clear()
        api.create("single.example")
        for name in names:
            api.create(name, emails=[name, f"a-{name}"])
    plays = Plays(service.url, service.token, folder / "plays")
    loop = {"loop": names}
    mailbox = {"postroom.email.email_mailbox": {"name": "{{ item }}", "aliases": ["a-{{ item }}"]}}
    get = uri("/api/principal/{{ item }}", return_content=True)
    things = {
        "empty": plays.play("empty"),
        "in process": plays.play("in_process", mailbox | loop),
        "module": plays.play("module", mailbox | loop, in_process=False),
        "uri": plays.play("uri", get | loop),
    }
    seconds = interleaved(rounds, {name: timed(play) for name, play in things.items()})
    net = {name: (taken - seconds["empty"]) * 1000 / items for name, taken in seconds.items()}
    return [
        Ratio(f"email_mailbox, {way}", "uri", net[way], net["uri"], "task of a loop", goal)
        for way, goal in GOALS.items()
    ]
