# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Run the examples in a module's documentation, and check the results against it."""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from ansible_collections.postroom.email.tests.support import playbooks, repository
from ansible_collections.postroom.email.tests.support.service import RunningService

PREFIX = "postroom.email."
SECRETS = {
    "vault_alice_password": "Quokka-examples-0/alice",
    "vault_dora_password": "Quokka-examples-3/dora",
    "vault_passwords": {
        "bob@example.com": "Quokka-examples-1/bob",
        "carol@example.com": "Quokka-examples-2/carol",
    },
}
# Files that the examples read from the playbook's directory.
FILES = {
    "mail/tenant.yml": {
        "domains": ["example.com"],
        "mailboxes": [{"name": "alice@example.com", "aliases": ["sales@example.com"]}],
    }
}
# Keys that Ansible adds to every result.
ANSIBLES_OWN = {
    *("ansible_facts", "ansible_loop_var", "changed", "deprecations", "diff", "exception"),
    *("failed", "invocation", "item", "warnings"),
}


def texts(module: str) -> dict[str, Any]:
    """Return a module's DOCUMENTATION, EXAMPLES and RETURN as data, without importing it."""
    return {
        ast.unparse(node.targets[0]): yaml.safe_load(str(node.value.value))
        for node in ast.parse(repository.read(f"plugins/modules/{module}.py")).body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
    }


def _play_of(
    module: str, results: Path, options: Mapping[str, Any], variables: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Return a play that runs a module's examples and writes each task's results to a file."""
    tasks = texts(module)["EXAMPLES"]
    for number, task in enumerate(tasks):
        task.setdefault("register", f"result_{number}")
    own = [task for task in tasks if PREFIX + module in task]
    for task in own:
        task[PREFIX + module] = {**(task[PREFIX + module] or {}), **options}
    mine = [task["register"] for task in own]
    writing = {
        "ansible.builtin.copy": {
            "content": "{{ [" + ", ".join(mine) + "] | to_json }}",
            "dest": str(results),
            "mode": "0600",
        }
    }
    return [
        {
            "hosts": "localhost",
            "gather_facts": False,
            "vars": {**SECRETS, **variables},
            "tasks": [*tasks, writing],
        }
    ]


def run_examples(
    module: str,
    folder: Path,
    service: RunningService,
    *,
    options: Mapping[str, Any] | None = None,
    variables: Mapping[str, Any] | None = None,
) -> playbooks.Run:
    """Run a module's examples in a directory.

    :param options: options that replace the examples' own options in each task
    :param variables: variables that the examples use, besides `SECRETS`
    """
    playbook = folder / "examples.yml"
    play = _play_of(module, folder / "results.json", options or {}, variables or {})
    playbook.write_text(yaml.safe_dump(play), "utf-8")
    for name, content in FILES.items():
        file = folder / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(yaml.safe_dump(content), "utf-8")
    env = playbooks.environment(
        folder, POSTROOM_API_URL=service.url, POSTROOM_API_TOKEN=service.token
    )
    return playbooks.run_playbook(playbook, env, "--diff")


def assert_as_documented(module: str, run: playbooks.Run, folder: Path) -> None:
    """Assert that the examples succeed, return the documented values and print no password."""
    assert run.status == 0, run.output
    assert "WARNING" not in run.output
    assert "Quokka" not in run.output
    results = json.loads((folder / "results.json").read_text("utf-8"))
    assert results
    for result in results:
        loop = [one for one in result.get("results", ()) if "ansible_loop_var" in one]
        for one in loop or [result]:
            _compare(one, texts(module)["RETURN"], ignored=ANSIBLES_OWN)


def _compare(values: dict[str, Any], described: dict[str, Any], *, ignored: set[str]) -> None:
    """Check that values match the documentation and that all documented values are returned."""
    unknown = values.keys() - described.keys() - ignored
    assert not unknown
    for key, about in described.items():
        assert key in values or about["returned"] not in ("always", "success", "success or failure")
        found = values.get(key)
        for part in found if isinstance(found, list) else [found]:
            if isinstance(part, dict):
                _compare(part, about["contains"], ignored=set())
