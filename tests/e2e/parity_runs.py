# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Run a playbook both in Ansible's worker and as modules, and compare the results."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from ansible_collections.postroom.email.tests.support.playbooks import (
    Run,
    environment,
    run_playbook,
)
from ansible_collections.postroom.email.tests.support.tenant import RecordedTenant

HERE = Path(__file__).parent
PLAYBOOKS = HERE / "playbooks"
OFF = {"POSTROOM_IN_PROCESS": "0"}

_TASK = re.compile(r"TASK \[(.*)\] \*")
_TOLD = re.compile(r"<[\w.]+> [\w.]*email_\w+ runs (.+)$")
#: Lines at -vvv about how a task is run, which always differ between the worker and modules.
_OF_THE_WAY = re.compile(r"<[\w.]+> |Using module file |Pipelining is |redirecting |$")
#: A string of a new domain's DKIM key in a TXT record. The last string may be short.
_UNSTABLE = re.compile(r"[A-Za-z0-9+/]{60,}={0,2}")


@dataclass(frozen=True)
class RunResult:
    """The result of running a playbook, either in Ansible's worker or as modules."""

    run: Run
    results: Mapping[str, list[Any]]

    @property
    def routes(self) -> dict[str, list[str]]:
        """The lines at -vvv about how each task was run."""
        found: dict[str, list[str]] = {}
        task = ""
        for line in self.run.output.splitlines():
            if match := _TASK.match(line):
                task = match[1]
            elif match := _TOLD.match(line):
                found.setdefault(task, []).append(match[1])
        return found

    @property
    def shown(self) -> list[str]:
        """The output without the lines about how each task was run."""
        return [
            _stable(line) for line in self.run.output.splitlines() if not _OF_THE_WAY.match(line)
        ]


class ParityProject:
    """A directory and variables for playbooks that start with an empty tenant."""

    def __init__(self, folder: Path, tenant: RecordedTenant, variables: Mapping[str, Any]) -> None:
        self._folder = folder
        self._tenant = tenant
        self._variables = folder / "variables.json"
        given = {"service_url": tenant.url, "service_token": tenant.token, **variables}
        self._variables.write_text(json.dumps(given), "utf-8")
        self._inventory = folder / "inventory.yml"
        hosts = {
            "elsewhere": {
                "ansible_connection": "local",
                "ansible_python_interpreter": sys.executable,
            },
            "nobody": {"ansible_host": "127.0.0.1", "ansible_port": 9},
        }
        self._inventory.write_text(json.dumps({"all": {"hosts": hosts}}), "utf-8")

    def run(self, playbook: Path, *options: str, **settings: str) -> RunResult:
        """Run a playbook on an empty tenant."""
        self._tenant.clear()
        events = self._folder / "events.jsonl"
        events.unlink(missing_ok=True)
        env = environment(
            self._folder,
            ANSIBLE_CALLBACK_PLUGINS=str(HERE / "callback_plugins"),
            ANSIBLE_CALLBACKS_ENABLED="every_event",
            ANSIBLE_INVENTORY=str(self._inventory),
            POSTROOM_TEST_EVENTS=str(events),
            **settings,
        )
        variables = ("--extra-vars", f"@{self._variables}")
        done = run_playbook(playbook, env, "-vvv", *variables, *options)
        return RunResult(done, _by_task(events))

    def both(self, playbook: Path, *options: str, **settings: str) -> tuple[RunResult, RunResult]:
        """Run a playbook in the worker, and then as modules."""
        here = self.run(playbook, *options, **settings)
        return here, self.run(playbook, *options, **settings, **OFF)


def tasks_of(playbook: str) -> list[str]:
    """Return the names of the tasks that run the collection's modules."""
    plays = yaml.safe_load((PLAYBOOKS / playbook).read_text("utf-8"))
    return [task["name"] for play in plays for task in play["tasks"]]


def without(value: Any, *keys: str) -> Any:
    """Return the results without values that differ between runs."""
    if isinstance(value, dict):
        return {key: without(one, *keys) for key, one in value.items() if key not in keys}
    return [without(one, *keys) for one in value] if isinstance(value, list) else value


def _stable(text: str) -> str:
    """Return the text without the parts that differ between runs."""
    return _UNSTABLE.sub("KEY", text)


def _by_task(events: Path) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for event in _events(events):
        for argument in event:
            if isinstance(argument, dict) and "result" in argument:
                found.setdefault(argument["task"], []).append(argument["result"])
    return found


def _events(file: Path) -> Iterator[list[Any]]:
    for line in file.read_text("utf-8").splitlines():
        yield json.loads(_stable(line))
