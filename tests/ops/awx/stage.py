# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""`playbooks/awx.yml` against a stand-in for AWX: runs of it, and what came of them."""

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
#: Long and odd, so that they are found wherever they get.
SECRETS = {
    "vault_mail_token": "t0ken/of+the-tenant-Zq81",
    "vault_awx_slack_token": "xoxb-0ddSlack/token+Yw72",
    "vault_awx_bot_password": "b0t/passw0rd+of-Xv63",
}
PASSWORD = "alice/passw0rd+Wu54"
#: With everything that the playbook can make.
ALL: Mapping[str, Any] = {
    "mail_api_url": "https://mail.example.net",
    "vault_mail_passwords": {"alice@example.com": PASSWORD},
    "awx_project_url": PROJECT,
    "awx_execution_environment_image": "registry.example.net/postroom-ee:0.1.0",
    "awx_slack_channels": ["#mail"],
    "awx_bot_user": "postroom-bot",
    **SECRETS,
}


@dataclass
class Stage:
    """A controller, and a folder for the runs of the playbook.

    :param outputs: what each run printed
    """

    controller: Controller
    folder: Path
    outputs: list[str] = field(default_factory=list)

    @property
    def connection(self) -> dict[str, str]:
        """The variables of the environment that say where AWX is, and who asks."""
        return {
            "CONTROLLER_HOST": self.controller.url,
            "CONTROLLER_OAUTH_TOKEN": self.controller.token,
            "ANSIBLE_PIPELINING": "true",
        }

    def vault(self) -> int:
        """Add a credential named Vault, as somebody has made it; return its number."""
        kind = self.controller.add(
            "credential_types", {"name": "Vault", "kind": "vault", "inputs": {}}
        )
        theirs = {"name": "Vault", "credential_type": kind["id"], "inputs": {}}
        number: int = self.controller.add("credentials", theirs)["id"]
        return number

    def play(self, variables: Mapping[str, Any], *options: str, **others: str) -> Run:
        """Run the playbook to its end, with variables of the environment besides."""
        (self.folder / "variables.json").write_text(json.dumps(variables), "utf-8")
        command = [sys.executable, "-m", "ansible", "playbook", "postroom.email.awx"]
        told = ["-e", f"@{self.folder / 'variables.json'}"]
        settings = environment(self.folder, **{**self.connection, **others})
        done = run([*command, *told, *options], settings, self.folder)
        self.outputs.append(done.output)
        return done


@contextmanager
def staged(folder: Path) -> Iterator[Stage]:
    """Give a stage whose controller knows the project's repository."""
    with running_controller() as controller:
        controller.playbooks[PROJECT] = WRAPPERS
        yield Stage(controller, folder)
