# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A directory for playbooks that must not reveal secrets, with all files that they write."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ansible_collections.postroom.email.tests.support.playbooks import (
    Run,
    environment,
    run_playbook,
)
from ansible_collections.postroom.email.tests.support.service import RunningService

HERE = Path(__file__).parent
WRONG_TOKEN = "wrong-token-DELTA-8842-qwpo"
PASSWORDS = {
    "ann@one.example": ["Zx9#kPq!secret-ALPHA-7731-wvut"],
    "bob@one.example": [
        'qT"b\\s/ü&=?+%41#{}<é>secret-BRAVO-5519',
        "secret-CHARLIE-2207: with 'quotes', commas  and two spaces",
    ],
}


class SecretsProject:
    """A directory for everything that a run writes, and another for the run's variables."""

    def __init__(self, folder: Path, faulty: RunningService, doomed: RunningService) -> None:
        self.services = (faulty, doomed)
        self.run_folder = folder / "run"
        self.output, self.log = self.run_folder / "output", self.run_folder / "ansible.log"
        self.events = self.run_folder / "events.jsonl"
        given = folder / "given"
        for made in (self.run_folder, given):
            made.mkdir()
        self._variables: dict[str, Any] = {
            "service_url": faulty.url,
            "service_token": faulty.token,
            "doomed_url": doomed.url,
            "doomed_token": doomed.token,
            "doomed_pid": doomed.pid,
            "wrong_token": WRONG_TOKEN,
            "vault_passwords": {
                name: [{"__ansible_unsafe": password} for password in passwords]
                for name, passwords in PASSWORDS.items()
            },
        }
        self._file = given / "variables.json"

    @property
    def secrets(self) -> list[str]:
        """All secrets of the run."""
        tokens = [service.token for service in self.services]
        return [*tokens, WRONG_TOKEN, *(p for passwords in PASSWORDS.values() for p in passwords)]

    def give(self, name: str, value: Any) -> None:
        """Set a variable for the playbooks."""
        self._variables[name] = value

    def play(self, playbook: str, **more: str) -> Run:
        """Run a playbook at the highest verbosity, and store its output."""
        self._file.write_text(json.dumps(self._variables), "utf-8")
        folder = self.run_folder
        for made in ("tmp", "home", "async"):
            (folder / made).mkdir()
        settings = {
            "HOME": str(folder / "home"),
            "TMPDIR": str(folder / "tmp"),
            "ANSIBLE_ASYNC_DIR": str(folder / "async"),
            "ANSIBLE_LOG_PATH": str(self.log),
            "ANSIBLE_CALLBACK_PLUGINS": str(HERE / "callback_plugins"),
            "ANSIBLE_CALLBACKS_ENABLED": "every_event",
            "POSTROOM_TEST_EVENTS": str(self.events),
            **more,
        }
        options = ("-vvvv", "--diff", "--extra-vars", f"@{self._file}")
        played = run_playbook(
            HERE / "playbooks" / playbook, environment(folder, **settings), *options
        )
        self.output.write_text(played.output, "utf-8")
        return played
