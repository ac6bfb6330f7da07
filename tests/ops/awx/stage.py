# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""`playbooks/awx.yml` against a stand-in for AWX: runs of it, and what came of them."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ansible_runner

from ansible_collections.postroom.email.tests.support import repository
from ansible_collections.postroom.email.tests.support.awx import Play
from ansible_collections.postroom.email.tests.support.controller.controller import (
    Controller,
    running_controller,
)
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
    :param events: what each run told AWX, as JSON
    """

    controller: Controller
    folder: Path
    outputs: list[str] = field(default_factory=list)
    events: list[str] = field(default_factory=list)

    @property
    def environment(self) -> dict[str, str]:
        """The environment of a run, with the controller's address and token."""
        return environment(
            self.folder,
            CONTROLLER_HOST=self.controller.url,
            CONTROLLER_OAUTH_TOKEN=self.controller.token,
            ANSIBLE_PIPELINING="true",
        )

    def play(self, variables: Mapping[str, Any], *options: str) -> Run:
        """Run the playbook to its end."""
        (self.folder / "variables.json").write_text(json.dumps(variables), "utf-8")
        command = [sys.executable, "-m", "ansible", "playbook", "postroom.email.awx"]
        told = ["-e", f"@{self.folder / 'variables.json'}"]
        done = run([*command, *told, *options], self.environment, self.folder)
        self.outputs.append(done.output)
        return done

    def play_as_job(self, variables: Mapping[str, Any]) -> Run:
        """Run the playbook as AWX runs jobs, telling as much as there is."""
        folder = self.folder / "job"
        folder.mkdir()
        done = ansible_runner.run(
            private_data_dir=str(folder),
            playbook="postroom.email.awx",
            extravars=dict(variables),
            envvars=self.environment,
            verbosity=4,
            cmdline="--diff",
            quiet=True,
        )
        printed = Path(done.stdout.name).read_text("utf-8")
        self.outputs.append(printed)
        events = (folder / "artifacts").glob("*/job_events/*.json")
        self.events += [event.read_text("utf-8") for event in events]
        return Run(done.rc, printed)


@contextmanager
def staged(folder: Path, play: Play | None = None) -> Iterator[Stage]:
    """Give a stage whose controller knows the project's repository."""
    with running_controller(play) as controller:
        controller.state.playbooks[PROJECT] = WRAPPERS
        yield Stage(controller, folder)


def spec_of(survey_of: Callable[[Any], dict[str, Any]], playbook: str) -> list[dict[str, Any]]:
    """Return the questions that a playbook's arguments make."""
    spec: list[dict[str, Any]] = survey_of(
        repository.read_yaml(f"playbooks/arguments/{playbook}.yml")
    )["spec"]
    return spec
