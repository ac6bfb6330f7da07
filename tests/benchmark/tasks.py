# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What a task of a loop costs: `email_mailbox` with nothing to change, and `uri` getting the same.

`email_mailbox` is run both ways, inside Ansible's worker and as a module process for each item,
which `uri` always is. The time of an empty play is taken off.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ansible_collections.postroom.email.tests.benchmark.measure import (
    Ratio,
    Timed,
    interleaved,
    timed,
)
from ansible_collections.postroom.email.tests.support import playbooks
from ansible_collections.postroom.email.tests.support.service import RunningService
from ansible_collections.postroom.email.tests.support.site import Api

DOMAIN = "benchmark.example"
GOAL_IN_PROCESS = 1 / 40
GOAL_MODULE = 1.0

MAILBOX: dict[str, Any] = {
    "postroom.email.email_mailbox": {"name": "{{ item }}", "aliases": ["a-{{ item }}"]},
}
URI: dict[str, Any] = {
    "ansible.builtin.uri": {
        "url": "{{ lookup('env', 'POSTROOM_API_URL') }}/api/principal/{{ item }}",
        "headers": {"Authorization": "Bearer {{ lookup('env', 'POSTROOM_API_TOKEN') }}"},
        "return_content": True,
    },
}


def prepare(service: RunningService, items: int) -> list[str]:
    """Fill the tenant and return the names of its mailboxes."""
    names = [f"user{number:05}@{DOMAIN}" for number in range(items)]
    api = Api(service.url, service.token)
    api.create(DOMAIN)
    for name in names:
        api.create(name, emails=[name, f"a-{name}"])
    api.close()
    return names


class Plays:
    """Plays over the mailboxes of a tenant."""

    def __init__(self, service: RunningService, folder: Path, names: list[str]) -> None:
        self._folder = folder
        self._names = names
        self._env = playbooks.environment(
            folder, POSTROOM_API_URL=service.url, POSTROOM_API_TOKEN=service.token
        )

    def timed(
        self, name: str, task: dict[str, Any] | None = None, *, in_process: bool = True
    ) -> Timed:
        """Return what runs a loop of the task, or a play without tasks, and tells the seconds."""
        tasks = [{**task, "name": "Loop", "loop": self._names}] if task else []
        play = {"name": name, "hosts": "localhost", "gather_facts": False, "tasks": tasks}
        playbook = self._folder / f"{name}.json"
        playbook.write_text(json.dumps([play]), "utf-8")

        env = {**self._env, "POSTROOM_IN_PROCESS": str(int(in_process))}

        def run() -> None:
            done = playbooks.run_playbook(playbook, env)
            if done.status or (tasks and done.recap.changed):
                raise RuntimeError(
                    f"the play of {name} failed or changed something:\n{done.output}"
                )

        return timed(run)


def measure(service: RunningService, folder: Path, items: int, rounds: int) -> list[Ratio]:
    """Run the plays in turn."""
    plays = Plays(service, folder, prepare(service, items))
    seconds = interleaved(
        rounds,
        {
            "empty": plays.timed("empty"),
            "in process": plays.timed("in_process", MAILBOX),
            "module": plays.timed("module", MAILBOX, in_process=False),
            "uri": plays.timed("uri", URI),
        },
    )
    net = {name: (taken - seconds["empty"]) * 1000 / items for name, taken in seconds.items()}
    goals = {"in process": GOAL_IN_PROCESS, "module": GOAL_MODULE}
    return [
        Ratio(f"email_mailbox, {way}", "uri", net[way], net["uri"], "task of a loop", goal)
        for way, goal in goals.items()
    ]
