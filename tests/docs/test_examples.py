# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The examples of every module run, and return what its documentation says."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.postroom.email.tests.docs import documentation
from ansible_collections.postroom.email.tests.support import playbooks, repository
from ansible_collections.postroom.email.tests.support.service import RunningService
from ansible_collections.postroom.email.tests.support.site import Api

PREFIX = "postroom.email."
# What a tenant has to hold for a module's examples, where it is not the default.
TENANTS: dict[str, tuple[str, ...]] = {"email_domain": (), "email_mailbox": ("example.com",)}
DEFAULT_TENANT = ("example.com", "alice@example.com", "bob@example.com")
SECRETS = {
    "vault_alice_password": "Quokka-examples-0/alice",
    "vault_passwords": {
        "bob@example.com": "Quokka-examples-1/bob",
        "carol@example.com": "Quokka-examples-2/carol",
    },
}
# The files that examples read, in the folder of the playbook.
FILES = {
    "mail/tenant.yml": {
        "domains": ["example.com"],
        "mailboxes": [{"name": "alice@example.com", "aliases": ["sales@example.com"]}],
    }
}
# What Ansible adds to every result.
ANSIBLES_OWN = {
    *("ansible_facts", "ansible_loop_var", "changed", "deprecations", "diff", "exception"),
    *("failed", "invocation", "item", "warnings"),
}


def play_of(module: str, results: Path) -> list[dict[str, Any]]:
    """Return a play that runs a module's examples and writes their results, by task, to a file."""
    tasks = documentation.texts(module)["EXAMPLES"]
    for number, task in enumerate(tasks):
        task.setdefault("register", f"result_{number}")
    mine = [task["register"] for task in tasks if PREFIX + module in task]
    writing = {
        "ansible.builtin.copy": {
            "content": "{{ [" + ", ".join(mine) + "] | to_json }}",
            "dest": str(results),
            "mode": "0600",
        }
    }
    return [
        {"hosts": "localhost", "gather_facts": False, "vars": SECRETS, "tasks": [*tasks, writing]}
    ]


def run_examples(module: str, folder: Path, service: RunningService) -> playbooks.Run:
    """Run a module's examples, with their results in `results.json`."""
    playbook = folder / "examples.yml"
    playbook.write_text(yaml.safe_dump(play_of(module, folder / "results.json")), "utf-8")
    for name, content in FILES.items():
        file = folder / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(yaml.safe_dump(content), "utf-8")
    env = playbooks.environment(
        folder, POSTROOM_API_URL=service.url, POSTROOM_API_TOKEN=service.token
    )
    return playbooks.run_playbook(playbook, env, "--diff")


def each_result(results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the results of tasks, those of a loop one by one."""
    return [one for result in results for one in _items(result) or [result]]


def _items(result: dict[str, Any]) -> list[dict[str, Any]]:
    return [one for one in result.get("results", ()) if "ansible_loop_var" in one]


def compare(values: dict[str, Any], described: dict[str, Any], *, ignored: set[str]) -> None:
    """Fail unless values are what is documented: no other, and all that are always returned."""
    unknown = values.keys() - described.keys() - ignored
    assert not unknown
    for key, about in described.items():
        assert key in values or about["returned"] not in ("always", "success", "success or failure")
        found = values.get(key)
        for part in found if isinstance(found, list) else [found]:
            if isinstance(part, dict):
                compare(part, about["contains"], ignored=set())


@pytest.mark.parametrize("module", repository.modules())
def test_the_examples_of_a_module_run(
    module: str, tmp_path: Path, service: RunningService, tenant: Api
) -> None:
    """Each task succeeds without a warning, and its result is the documented one, no password."""
    for name in TENANTS.get(module, DEFAULT_TENANT):
        tenant.create(name)
    run = run_examples(module, tmp_path, service)
    assert run.status == 0, run.output
    assert "WARNING" not in run.output
    assert "Quokka" not in run.output
    results = each_result(json.loads((tmp_path / "results.json").read_text("utf-8")))
    assert results
    for result in results:
        compare(result, documentation.texts(module)["RETURN"], ignored=ANSIBLES_OWN)


def test_the_examples_find_whose_an_alias_is(
    tmp_path: Path, service: RunningService, tenant: Api
) -> None:
    """The expression over the list of mailboxes gives the one that has the alias, and no other."""
    for name in ("example.com", "bob@example.com"):
        tenant.create(name)
    tenant.create("alice@example.com", emails=["alice@example.com", "sales@example.com"])
    run = run_examples("email_info", tmp_path, service)
    assert run.status == 0, run.output
    assert re.search(r'"msg": \[\s+"alice@example.com"\s+\]', run.output), run.output
