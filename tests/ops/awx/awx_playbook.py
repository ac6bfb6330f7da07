# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Runs of `playbooks/awx.yml` against a fake AWX, and their results."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ansible_collections.postroom.email.tests.fakes.awx.controller import (
    Controller,
    running_controller,
)
from ansible_collections.postroom.email.tests.support import repository
from ansible_collections.postroom.email.tests.support.playbooks import Run, environment, run

PROJECT = "https://git.example.net/mail.git"
WRAPPERS = frozenset(
    file.name
    for file in repository.files()
    if file.parent.as_posix() == "playbooks/examples/awx_project"
)
#: Long values with special characters, so that a search finds them wherever they appear.
SECRETS = {
    "vault_mail_token": "t0ken/of+the-tenant-Zq81",
    "vault_mail_bot_token": "definiti0n/token+of-the-bot-Rt52",
    "vault_awx_slack_token": "xoxb-0ddSlack/token+Yw72",
    "vault_awx_bot_password": "b0t/passw0rd+of-Xv63",
}
PASSWORD = "alice/passw0rd+Wu54"
#: Variables with which the playbook creates every kind of object.
ALL: Mapping[str, Any] = {
    "mail_api_url": "https://mail.example.net",
    "mail_bot_url": "https://bot.example.net/definition",
    "vault_mail_passwords": {"alice@example.com": PASSWORD},
    "awx_project_url": PROJECT,
    "awx_execution_environment_image": "registry.example.net/postroom-ee:0.1.0",
    "awx_slack_channels": ["#mail"],
    "awx_bot_user": "postroom-bot",
    **SECRETS,
}


@dataclass
class AwxProject:
    """A fake AWX controller, and a directory for the playbook's runs.

    :param outputs: the output of each run
    """

    controller: Controller
    folder: Path
    outputs: list[str] = field(default_factory=list)

    @property
    def connection(self) -> dict[str, str]:
        """The environment variables with AWX's address and credentials."""
        return {
            "CONTROLLER_HOST": self.controller.url,
            "CONTROLLER_OAUTH_TOKEN": self.controller.token,
            "ANSIBLE_PIPELINING": "true",
        }

    def vault(self) -> int:
        """Add a credential named Vault, as an administrator would, and return its ID."""
        kind = self.controller.add(
            "credential_types", {"name": "Vault", "kind": "vault", "inputs": {}}
        )
        theirs = {"name": "Vault", "credential_type": kind["id"], "inputs": {}}
        number: int = self.controller.add("credentials", theirs)["id"]
        return number

    def play(self, variables: Mapping[str, Any], *options: str, **others: str) -> Run:
        """Run the playbook with the given variables and environment variables."""
        (self.folder / "variables.json").write_text(json.dumps(variables), "utf-8")
        command = [sys.executable, "-m", "ansible", "playbook", "postroom.email.awx"]
        extra = ["-e", f"@{self.folder / 'variables.json'}"]
        settings = environment(self.folder, **{**self.connection, **others})
        done = run([*command, *extra, *options], settings, self.folder)
        self.outputs.append(done.output)
        return done


@contextmanager
def awx_project(folder: Path) -> Iterator[AwxProject]:
    """Provide a project, and an AWX controller that knows the project's repository."""
    with running_controller() as controller:
        controller.playbooks[PROJECT] = WRAPPERS
        yield AwxProject(controller, folder)
