# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Runs the role `dns` as its users do, for as many hosts at once as there are ways to do it."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ansible_collections.postroom.email.tests.support.playbooks import (
    Recap,
    environment,
    read_recap,
    run_playbook,
)
from ansible_collections.postroom.email.tests.support.service import RunningService
from ansible_collections.postroom.email.tests.support.site import Api


@dataclass(frozen=True)
class Told:
    """What became of one host.

    :param recap: the counts of its tasks
    :param result: the fact `dns_result` that the role left; empty where it failed
    """

    recap: Recap
    result: dict[str, Any]


@dataclass(frozen=True)
class Run:
    """What became of a run: its hosts by name, and what it printed."""

    hosts: dict[str, Told]
    output: str

    def __getitem__(self, host: str) -> Told:
        """Return what became of one host."""
        return self.hosts[host]

    def failure(self, host: str) -> str:
        """Return what a host failed with, or an item of its loop."""
        begins = f"fatal: [{host}]: ", f"failed: [{host}] "
        return next(line for line in self.output.splitlines() if line.startswith(begins))

    @property
    def words(self) -> str:
        """The output without the line breaks that some versions put into messages."""
        return " ".join(self.output.split())


class Rig:
    """A folder to run the role in, and the service that it asks.

    :param settings: of the environment
    """

    def __init__(
        self, folder: Path, service: RunningService, settings: Mapping[str, str] | None = None
    ) -> None:
        access = {"POSTROOM_API_URL": service.url, "POSTROOM_API_TOKEN": service.token}
        # Without files in between, modules start sooner.
        ours = {**access, "ANSIBLE_PIPELINING": "true", **(settings or {})}
        self._environment = environment(folder, **ours)
        self._inventory = folder / "inventory.json"
        self._playbook = folder / "playbook.yml"
        self._playbook.write_text(json.dumps([_PLAY]))

    def run(
        self, hosts: Mapping[str, Mapping[str, Any]], *options: str, fails: bool = False
    ) -> Run:
        """Run the role for all hosts at once, each with its variables, and see that it goes well.

        :param fails: whether it has to fail
        """
        named = {name: {**_LOCAL, **variables} for name, variables in hosts.items()}
        self._inventory.write_text(json.dumps({"all": {"hosts": named}}))
        told = run_playbook(self._playbook, self._environment, "-i", str(self._inventory), *options)
        assert (told.status != 0) is fails, told.output
        assert "DEPRECATION" not in told.output, told.output
        return Run({name: _told(name, told.output) for name in hosts}, told.output)


_LOCAL = {
    "ansible_connection": "local",
    "ansible_python_interpreter": "{{ ansible_playbook_python }}",
}
_MARK = "what the role has left: "
_PLAY = {
    "hosts": "all",
    "gather_facts": False,
    "roles": ["postroom.email.dns"],
    "post_tasks": [
        {
            "name": "Tell what the role has left",
            "ansible.builtin.debug": {
                "msg": f"{_MARK}{{{{ inventory_hostname }}}}={{{{ dns_result | to_json }}}}"
            },
        }
    ],
}


def _told(host: str, output: str) -> Told:
    lines = output.splitlines()
    recap = read_recap(next(line for line in reversed(lines) if line.startswith(f"{host} ")))
    assert recap is not None, output
    messages = (json.loads(f"{{{line}}}")["msg"] for line in lines if f'"msg": "{_MARK}' in line)
    kept = dict(message.removeprefix(_MARK).split("=", 1) for message in messages)
    return Told(recap, json.loads(kept.get(host, "{}")))


def register(service: RunningService, *domains: str) -> None:
    """Register domains with the service."""
    with closing(Api(service.url, service.token)) as api:
        for domain in domains:
            api.create(domain)


def exchange_key(service: RunningService, domain: str, public_base64: str) -> None:
    """Put another DKIM key in the place of the one that the service has made for a domain."""
    of_domain = "principal_id = (SELECT id FROM principal WHERE name = ?)"
    with closing(sqlite3.connect(service.database)) as database, database:
        statement = f"UPDATE dkim_key SET public_base64 = ? WHERE {of_domain}"  # noqa: S608
        assert database.execute(statement, (public_base64, domain)).rowcount == 1


def dkim_text(service: RunningService, domain: str) -> str:
    """Return the text of the DKIM record that the service asks for."""
    with closing(Api(service.url, service.token)) as api:
        records = api.call("GET", f"/api/dns/{domain}")["txt"]
    texts: list[str] = [record["value"] for record in records]
    return next(text for text in texts if text.startswith("v=DKIM1"))


def joined(value: str) -> str:
    """Return the text of one TXT value in zone-file text, of which nothing is escaped."""
    strings = value.split('"')[1::2]
    assert all(len(string) <= 255 for string in strings), strings
    return "".join(strings)
