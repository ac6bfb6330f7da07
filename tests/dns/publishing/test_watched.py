# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A task that waits says so where somebody watches, and ends with whoever watched."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ansible_collections.postroom.email.tests.dns.publishing.conftest import Publisher
from ansible_collections.postroom.email.tests.e2e.tenant_plays import kill
from ansible_collections.postroom.email.tests.support.playbooks import environment

PLAYBOOK = Path(__file__).parent / "playbooks" / "waiting.yml"
PATIENCE = 60.0
TOLD = re.compile(r"\nexample\.com: 0 of 3 records are there, .+; asking again for \d+ s\.\n")
PROCESS = re.compile(r"runs in process (\d+)")


class Play:
    """A play that waits, in a process of its own."""

    def __init__(self, folder: Path, publisher: Publisher, **settings: str) -> None:
        site = publisher.site
        variables = folder / "variables.json"
        given = {"service_url": site.url, "service_token": site.token}
        variables.write_text(
            json.dumps({**given, "name_server": str(publisher.stage.bind)}), "utf-8"
        )
        self._output = folder / "output"
        options = ["-vvv", "--extra-vars", f"@{variables}"]
        with self._output.open("wb") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "ansible", "playbook", str(PLAYBOOK), *options],
                env=environment(folder, **settings),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )

    @property
    def output(self) -> str:
        """What it has written so far."""
        return self._output.read_text("utf-8", "replace")


def until(condition: Callable[[], bool], play: Play) -> None:
    """Wait until something is so."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, play.output
        time.sleep(0.05)


@pytest.fixture
def start(publisher: Publisher, tmp_path: Path) -> Iterator[Callable[..., Play]]:
    """Start plays, and end what is left of them."""
    plays: list[Play] = []

    def begin(**settings: str) -> Play:
        plays.append(Play(tmp_path, publisher, **settings))
        return plays[-1]

    yield begin
    for play in plays:
        if play.process.poll() is None:
            kill(play.process, workers=True)


def test_waiting_is_shown(start: Callable[..., Play], publisher: Publisher) -> None:
    """What is still missing, and for how long it goes on; and it ends as soon as all is there."""
    play = start()
    until(lambda: TOLD.search(play.output) is not None, play)
    assert publisher.run("present")["changed"]
    assert play.process.wait(PATIENCE) == 0
    assert "ok: [localhost]" in play.output


def test_a_module_process_has_no_screen(start: Callable[..., Play], publisher: Publisher) -> None:
    """Its result is all that comes."""
    play = start(POSTROOM_IN_PROCESS="0")
    until(lambda: "runs as a module" in play.output, play)
    assert publisher.run("present")["changed"]
    assert play.process.wait(PATIENCE) == 0
    assert TOLD.search(play.output) is None


def test_it_ends_with_ansible(start: Callable[..., Play]) -> None:
    """Where Ansible is killed, its worker does not wait on for nobody."""
    play = start()
    until(lambda: TOLD.search(play.output) is not None, play)
    (worker,) = map(int, PROCESS.findall(play.output))
    assert worker != play.process.pid
    kill(play.process, workers=False)
    until(lambda: not Path(f"/proc/{worker}").exists(), play)
