# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Helpers that run the `dns` role and read the records that it publishes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from ansible_collections.postroom.email.tests.support.playbooks import (
    Recap,
    environment,
    read_recap,
    run_playbook,
)
from ansible_collections.postroom.email.tests.support.service import RunningService
from ansible_collections.postroom.email.tests.support.tenant import Api

LOCAL = {
    "ansible_connection": "local",
    "ansible_python_interpreter": "{{ ansible_playbook_python }}",
}
MARK = "result of the role: "
RESULT = f"{MARK}{{{{ inventory_hostname }}}}={{{{ dns_result | to_json }}}}"
PLAY = {
    "hosts": "all",
    "gather_facts": False,
    "roles": ["postroom.email.dns"],
    "post_tasks": [{"name": "Show the result", "ansible.builtin.debug": {"msg": RESULT}}],
}
#: A warning that amazon.aws 11 prints for each call of its module.
UNAVOIDABLE = "The 'values' key in resource_record_sets return value is deprecated."
#: Another client's SPF record `v=spf1 mx -all`, with the service's term added.
MERGED = '"v=spf1 mx include:spf.postroom.test -all"'


class Run:
    """A run of the role for several hosts."""

    def __init__(self, output: str) -> None:
        self.output = output
        self.words = " ".join(output.split())
        lines = [line for line in output.splitlines() if f'"msg": "{MARK}' in line]
        shown = [json.loads(f"{{{line}}}")["msg"].removeprefix(MARK) for line in lines]
        #: Each host's `dns_result` fact.
        self.results: dict[str, dict[str, Any]] = {
            host: json.loads(result)
            for host, _is, result in (each.partition("=") for each in shown)
        }

    def recap(self, host: str) -> Recap:
        """Return the counts of a host's tasks."""
        lines = reversed(self.output.splitlines())
        recap = read_recap(next(line for line in lines if line.startswith(f"{host} ")))
        assert recap is not None
        return recap

    def failure(self, host: str) -> str:
        """Return the error message of a host, or of the failed item of its loop."""
        begins = f"fatal: [{host}]: ", f"failed: [{host}] "
        return next(line for line in self.output.splitlines() if line.startswith(begins))


def run_role(
    folder: Path,
    service: RunningService,
    hosts: Mapping[str, Mapping[str, Any]],
    *options: str,
    settings: Mapping[str, str] | None = None,
    fails: bool = False,
) -> Run:
    """Run the role for all hosts in one play, with each host's own variables."""
    access = {"POSTROOM_API_URL": service.url, "POSTROOM_API_TOKEN": service.token}
    env = environment(folder, **access, ANSIBLE_PIPELINING="true", **(settings or {}))
    inventory, playbook = folder / "inventory.json", folder / "playbook.yml"
    named = {name: {**LOCAL, **variables} for name, variables in hosts.items()}
    inventory.write_text(json.dumps({"all": {"hosts": named}}), "utf-8")
    playbook.write_text(json.dumps([PLAY]), "utf-8")
    done = run_playbook(playbook, env, "-i", str(inventory), *options)
    assert (done.status != 0) is fails, done.output
    assert deprecations(done.output) == []
    return Run(done.output)


def deprecations(output: str) -> list[str]:
    """Return the deprecation warnings that the role itself could avoid."""
    lines = [line for line in output.splitlines() if "[DEPRECATION WARNING]" in line]
    return [line for line in lines if UNAVOIDABLE not in line]


def register(service: RunningService, *domains: str) -> None:
    """Register domains with the service."""
    with closing(Api(service.url, service.token)) as api:
        for domain in domains:
            api.create(domain)


def dkim_text(service: RunningService, domain: str) -> str:
    """Return the text of the DKIM record that the service requires."""
    with closing(Api(service.url, service.token)) as api:
        records = api.call("GET", f"/api/dns/{domain}")["txt"]
    texts: list[str] = [record["value"] for record in records]
    return next(text for text in texts if text.startswith("v=DKIM1"))


def joined(value: str) -> str:
    """Join the strings of one TXT value that contains no escapes."""
    strings = value.split('"')[1::2]
    assert all(len(string) <= 255 for string in strings), strings
    return "".join(strings)
