# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Runs the collection's playbooks by name, as a user would."""

from __future__ import annotations

import sys
from pathlib import Path

import yaml

from ansible_collections.postroom.email.tests.support.playbooks import Run, environment, run


class PlaybookRunner:
    """A directory in which playbooks are run against a tenant.

    :param url: the URL of the service, or of a proxy for it
    """

    def __init__(self, folder: Path, url: str, token: str) -> None:
        self.folder = folder
        home = folder / "settings"
        home.mkdir()
        access = {"POSTROOM_API_URL": url, "POSTROOM_API_TOKEN": token}
        shown = {"ANSIBLE_SHOW_CUSTOM_STATS": "true"}
        # A shell would set PWD, but here commands are run without a shell.
        self._env = environment(home, **access, **shown, PWD=str(folder))

    def play(self, name: str, *options: str, **variables: object) -> Run:
        """Run one of the collection's playbooks with these variables."""
        return self.play_own(f"postroom.email.{name}", *options, **variables)

    def play_own(self, playbook: str, *options: str, **variables: object) -> Run:
        """Run a playbook with these variables, given by name or by its path in the directory."""
        self.save("variables.json", variables)
        command = [sys.executable, "-m", "ansible", "playbook", playbook, "-e", "@variables.json"]
        return run([*command, *options], self._env, self.folder)

    def save(self, name: str, data: object) -> None:
        """Write data to a YAML file."""
        (self.folder / name).write_text(yaml.safe_dump(data), "utf-8")

    def encrypt(self, name: str, key: str) -> None:
        """Encrypt a file with ansible-vault, using the password in the file `key`."""
        program = [sys.executable, "-m", "ansible", "vault", "encrypt", "--vault-password-file"]
        finished = run([*program, key, name], self._env, self.folder)
        assert finished.status == 0, finished.output

    def load(self, name: str) -> object:
        """Read a YAML file."""
        return yaml.safe_load((self.folder / name).read_text("utf-8"))


def output_text(finished: Run) -> str:
    """Return a run's output without line breaks, which some ansible-core versions insert."""
    return " ".join(finished.output.split())
