# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Jobs as AWX runs them: ansible-runner's transmit | worker | process, over real pipes.

    ended = run_job(folder, account, Job("add_alias.yml", {"mail_alias": "sales@example.com"}))
    assert ended.changed == 1

The private data directory has the same layout as AWX's. The values from the credential are in
`env/envvars`, in a file, and in extra variables with the file's path. The survey's answers are in
`env/extravars`. `project` is a copy of the project, and `inventory` is a script that prints JSON.
"""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from ansible_collections.postroom.email.tests.fakes.awx.jobs import injected
from ansible_collections.postroom.email.tests.support import ansible_yaml, playbooks, repository
from ansible_collections.postroom.email.tests.support.ansible_yaml import untemplated
from ansible_collections.postroom.email.tests.support.secrets import leaks

PROJECT = repository.ROOT / "playbooks" / "examples" / "awx_project"
SOURCE = "email_domains.yml"
CREDENTIAL_TYPE = "awx.awx.credential_type"
IDENT = "7"
SECONDS = 600
HERE = {
    "ansible_connection": "local",
    "ansible_python_interpreter": "{{ ansible_playbook_python }}",
}
LOCALHOST = {"all": {"hosts": ["localhost"]}, "_meta": {"hostvars": {"localhost": HERE}}}


@dataclass(frozen=True)
class Account:
    """The contents of a tenant's credential.

    :param passwords: the passwords by address, as in the credential's password file
    """

    url: str
    token: str
    passwords: Mapping[str, Any] = field(default_factory=dict)

    @property
    def inputs(self) -> dict[str, str]:
        """The credential's inputs in AWX, without empty ones."""
        passwords = {"passwords": json.dumps(self.passwords)} if self.passwords else {}
        return {"api_url": self.url, "api_token": self.token, **passwords}

    @property
    def secrets(self) -> list[str]:
        """All of the account's secrets."""
        several = [[one] if isinstance(one, str) else one for one in self.passwords.values()]
        return [self.token, *(password for some in several for password in some)]


@dataclass(frozen=True)
class Job:
    """A job to launch.

    :param playbook: the playbook's path in the project
    :param variables: the survey's answers and the job template's variables
    :param files: additional project files, keyed by name
    :param environment: environment variables from another credential
    :param inventory: `json` for AWX's inventory script, or `source` for the project's own source
    """

    playbook: str
    variables: Mapping[str, Any] = field(default_factory=dict)
    check: bool = False
    files: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    inventory: str = "json"


def job_of(name: str, variables: Mapping[str, Any], **others: Any) -> Job:
    """Return a job for a playbook without a wrapper in the example project."""
    file = f"{name}.yml"
    wrapper = f"- import_playbook: postroom.email.{name}\n"
    return Job(file, variables, files={file: wrapper}, **others)


class Ended:
    """The result of a job, and the files that it left in a directory."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._artifacts = folder / "kept" / "artifacts" / IDENT
        self.project = folder / "node" / "project"
        self.status = (self._artifacts / "status").read_text("utf-8")
        self.output = (self._artifacts / "stdout").read_text("utf-8")

    @cached_property
    def events(self) -> list[dict[str, Any]]:
        """The job's events, in order."""
        files = (self._artifacts / "job_events").glob("*.json")
        rows = [json.loads(file.read_text("utf-8")) for file in files]
        return sorted(rows, key=lambda row: int(row["counter"]))

    @property
    def changed(self) -> int:
        """The number of changed tasks on all hosts."""
        return sum(self._stats["changed"].values())

    @property
    def hosts(self) -> set[str]:
        """The hosts on which tasks ran."""
        return set(self._stats["processed"])

    @property
    def artifacts(self) -> dict[str, Any]:
        """The facts that set_stats passes to the next node of a workflow."""
        found: dict[str, Any] = self._stats.get("artifact_data", {})
        return found

    @property
    def _stats(self) -> dict[str, Any]:
        (stats,) = [row for row in self.events if row["event"] == "playbook_on_stats"]
        found: dict[str, Any] = stats["event_data"]
        return found

    @property
    def failures(self) -> str:
        """Return the messages of all failed tasks as one string."""
        rows = [row for row in self.events if row["event"] == "runner_on_failed"]
        return "\n".join(str(row["event_data"]["res"].get("msg")) for row in rows)

    def leaks(self, account: Account, *more: str) -> list[str]:
        """Return a line for each secret that the job's files contain.

        :param more: additional secrets
        """
        # AWX masks the environment in the runner's own output.
        command, stream = self._artifacts / "command", self._folder / "stream"
        command.write_text(json.dumps({**json.loads(command.read_text()), "env": {}}), "utf-8")
        lines = stream.read_bytes().splitlines(keepends=True)
        starting = [b'"status": "starting"' in line for line in lines]
        masked = [
            json.dumps({**json.loads(line), "env": {}}).encode() + b"\n" if is_start else line
            for line, is_start in zip(lines, starting, strict=True)
        ]
        stream.write_bytes(b"".join(masked))
        places = ("kept", "stream", "console", "settings", "node/project", "node/inventory")
        return leaks([*account.secrets, *more], [self._folder / place for place in places])


def run_job(folder: Path, account: Account, job: Job) -> Ended:
    """Run a job in a new directory, and wait until it ends."""
    for made in ("settings", "given/env", "given/inventory", "kept"):
        (folder / made).mkdir(parents=True)
    _give(folder / "given", folder / "node", account, job)
    steps = (
        ["transmit", str(folder / "given"), "--playbook", job.playbook, "--ident", IDENT],
        ["worker", "--private-data-dir", str(folder / "node")],
        ["process", str(folder / "kept"), "--ident", IDENT],
    )
    transmit, worker, process = (shlex.join(["ansible-runner", *step]) for step in steps)
    script = f"{transmit} | {worker} | tee stream | {process} > console 2>&1"
    subprocess.run(
        ["bash", "-o", "pipefail", "-c", script],
        cwd=folder,
        env=playbooks.environment(folder / "settings"),
        timeout=SECONDS,
        check=False,
    )
    return Ended(folder)


def _give(given: Path, node: Path, account: Account, job: Job) -> None:
    """Write a private data directory, which the job will find at the path `node`."""
    shutil.copytree(PROJECT, given / "project")
    for name, text in job.files.items():
        (given / "project" / name).write_text(text, "utf-8")
    if job.inventory == "source":
        shutil.copy(PROJECT / "inventory" / SOURCE, given / "inventory")
    else:
        script = given / "inventory" / "hosts"
        script.write_text(f"#!/usr/bin/env python3\nprint({json.dumps(LOCALHOST)!r})\n", "utf-8")
        script.chmod(0o700)
    tasks = ansible_yaml.load(repository.read("playbooks/tasks/awx/prerequisites.yml"))
    (kind,) = (task[CREDENTIAL_TYPE] for task in tasks if CREDENTIAL_TYPE in task)
    gets = injected(kind["injectors"], account.inputs, str(node / "env"))
    options = ["-e", f"@{node / 'env' / 'of_credential'}", "--diff", "-vvvv"]
    contents = {
        "envvars": {**gets["env"], **job.environment},
        "extravars": untemplated(dict(job.variables)),
        "of_credential": untemplated(gets["extra_vars"]),
        "settings": {"idle_timeout": SECONDS, "job_timeout": SECONDS},
    }
    texts = {name: ansible_yaml.dump(content) for name, content in contents.items()}
    texts["cmdline"] = shlex.join([*options, *(["--check"] if job.check else [])])
    texts |= {name.replace(".", "_"): text for name, text in gets["file"].items()}
    for name, text in texts.items():
        (given / "env" / name).write_text(text, "utf-8")
