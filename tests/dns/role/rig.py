# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Runs the role `dns` as its users do: in plays of a playbook, in a process of its own."""

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

_MARK = "what the role has left: "


@dataclass(frozen=True)
class Told:
    """What became of one play.

    :param recap: the counts of its tasks
    :param result: the fact `dns_result` that the role left; empty where it failed
    """

    recap: Recap
    result: dict[str, Any]


@dataclass(frozen=True)
class Run:
    """What became of a playbook: its plays by name, and what it printed."""

    plays: dict[str, Told]
    output: str

    def __getitem__(self, play: str) -> Told:
        """Return what became of one play."""
        return self.plays[play]

    @property
    def words(self) -> str:
        """The output without the line breaks that some versions put into messages."""
        return " ".join(self.output.split())


class Rig:
    """A folder to run playbooks in, and the service that they ask.

    :param variables: of the role, in every play
    :param defaults: of modules, by group
    """

    def __init__(
        self,
        folder: Path,
        service: RunningService,
        variables: Mapping[str, Any],
        settings: Mapping[str, str] | None = None,
    ) -> None:
        self.service = service
        self._folder = folder
        self._variables = dict(variables)
        access = {"POSTROOM_API_URL": service.url, "POSTROOM_API_TOKEN": service.token}
        # Without files in between, modules start sooner.
        ours = {**access, "ANSIBLE_PIPELINING": "true", **(settings or {})}
        self._environment = environment(folder, **ours)

    def run(
        self, plays: Mapping[str, Mapping[str, Any]], *options: str, fails: bool = False
    ) -> Run:
        """Run the role once for each play, with its variables, and fail unless that goes well.

        :param fails: whether the last play has to fail
        """
        playbook = self._folder / "playbook.yml"
        playbook.write_text(json.dumps([self._play(*play) for play in plays.items()]))
        hosts = ",".join([*plays, ""])
        run = run_playbook(playbook, self._environment, "-i", hosts, *options)
        assert (run.status != 0) is fails, run.output
        assert "DEPRECATION" not in run.output, run.output
        return Run({name: _told(name, run.output) for name in plays}, run.output)

    def _play(self, name: str, variables: Mapping[str, Any]) -> dict[str, Any]:
        """Return a play for a host of its own, so that it has counts of its own."""
        tell = {
            "name": "Tell what the role has left",
            "ansible.builtin.debug": {"msg": f"{_MARK}{name}={{{{ dns_result | to_json }}}}"},
        }
        local = {"ansible_python_interpreter": "{{ ansible_playbook_python }}"}
        return {
            "hosts": name,
            "connection": "local",
            "gather_facts": False,
            "vars": {**local, **self._variables, **variables},
            "roles": ["postroom.email.dns"],
            "post_tasks": [tell],
        }


def _told(play: str, output: str) -> Told:
    lines = output.splitlines()
    recap = read_recap(next(line for line in reversed(lines) if line.startswith(f"{play} ")))
    assert recap is not None, output
    messages = (json.loads(f"{{{line}}}")["msg"] for line in lines if f'"msg": "{_MARK}' in line)
    kept = dict(message.removeprefix(_MARK).split("=", 1) for message in messages)
    return Told(recap, json.loads(kept.get(play, "{}")))


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
