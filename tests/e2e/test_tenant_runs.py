# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Long `email_tenant` runs in ansible-playbook that are killed or that print their progress."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.postroom.email.tests.support.playbooks import (
    Recap,
    environment,
    read_recap,
)
from ansible_collections.postroom.email.tests.support.service import RunningService, running_service
from ansible_collections.postroom.email.tests.support.tenant import RecordedTenant

HOME, AWAY = "home.example", "away.example"
MANY = 200
OLD = [f"old{n}@{HOME}" for n in range(20)]
PASSWORD = "correct-horse/battery#staple"
SHOWN = re.compile(r"(\d+) of (\d+) changes, [\d.]+ a second, ")


class Play:
    """A playbook with one task of `email_tenant`, in its own directory."""

    def __init__(self, folder: Path, service: RunningService, **options: Any) -> None:
        folder.mkdir()
        self._folder = folder
        self.output = folder / "output"
        access = {"api_url": service.url, "api_token": service.token, "timeout": 60}
        task = {"name": "Converge", "postroom.email.email_tenant": {**access, **options}}
        play = {"hosts": "localhost", "gather_facts": False, "tasks": [task]}
        playbook = folder / "play.yml"
        playbook.write_text(json.dumps([play]), "utf-8")
        self.command = [sys.executable, "-m", "ansible", "playbook", str(playbook)]

    def environment(self, **settings: str) -> dict[str, str]:
        """Return an environment for Ansible."""
        return environment(self._folder, **settings)

    def start(self, **settings: str) -> subprocess.Popen[bytes]:
        """Start the play."""
        with self.output.open("wb") as output:
            return subprocess.Popen(
                self.command,
                cwd=self._folder,
                env=self.environment(**settings),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )

    def run(self, **settings: str) -> Recap:
        """Run the play to its end, assert that it succeeded, and return its counts."""
        status = self.start(**settings).wait()
        output = self.output.read_text("utf-8", "replace")
        assert status == 0, output
        (recap,) = filter(None, map(read_recap, output.splitlines()))
        return recap


def kill(process: subprocess.Popen[bytes], *, workers: bool) -> None:
    """Kill a run, with or without the worker processes that it has forked."""
    for pid in [process.pid, *(descendants(process.pid) if workers else ())]:
        # A worker may have ended by now.
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    process.wait()


def descendants(pid: int) -> Iterator[int]:
    """Yield a process's descendants, including Ansible's workers, which have their own sessions."""
    for file in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in map(int, file.read_text("ascii").split()):
            yield child
            yield from descendants(child)


def with_passwords(definition: Mapping[str, Any]) -> dict[str, Any]:
    """Return a definition with a password for each mailbox."""
    names = [row if isinstance(row, str) else row["name"] for row in definition["mailboxes"]]
    return {**definition, "passwords": dict.fromkeys(names, PASSWORD)}


@pytest.fixture
def slow(service: RunningService, tmp_path: Path) -> Iterator[RunningService]:
    """Run a second service on the same database, with the latency of a distant service."""
    faults = "latency=20ms-60ms,seed=9"
    with running_service(tmp_path / "slow", faults=faults, database=service.database) as slow:
        yield slow


@pytest.fixture
def play(tenant: RecordedTenant, slow: RunningService, tmp_path: Path) -> Play:
    """Provide a play that creates, changes, moves and deletes objects, and leaves one unchanged."""
    tenant.create("still.example", "still@still.example", HOME, *OLD[1:])
    tenant.create(OLD[0], emails=[OLD[0], f"wanders@{HOME}"])
    boxes: list[Any] = [
        {"name": f"box{n}@{AWAY}", "aliases": [f"alias{n}@{HOME}"]} for n in range(MANY)
    ]
    boxes += [{"name": name, "aliases": [name.replace("old", "more")]} for name in OLD[:10]]
    boxes += [{"name": name, "state": "absent"} for name in OLD[15:]]
    boxes[0]["aliases"].append(f"wanders@{HOME}")
    team = {"name": f"team@{HOME}", "members": [f"box{n}@{AWAY}" for n in range(5)]}
    definition = {"domains": [HOME, AWAY], "mailboxes": boxes, "forwarders": [team]}
    return Play(tmp_path / "play", slow, **with_passwords(definition))


def assert_finished(play: Play, tenant: RecordedTenant) -> None:
    """Assert that the tenant is as declared and that another run changes nothing."""
    wanted: dict[str, set[str]] = {name: set() for name in ("still.example", HOME, AWAY)}
    names = ["still@still.example", f"team@{HOME}", *OLD[10:15]]
    wanted |= {name: {name} for name in names}
    wanted |= {name: {name, name.replace("old", "more")} for name in OLD[:10]}
    boxes = {n: f"box{n}@{AWAY}" for n in range(MANY)}
    wanted |= {name: {name, f"alias{n}@{HOME}"} for n, name in boxes.items()}
    wanted[boxes[0]] |= {f"wanders@{HOME}"}
    for _run in range(2):
        listing = tenant.listing()
        assert {name: set(row.get("emails", ())) for name, row in listing.items()} == wanted
        assert listing[f"team@{HOME}"]["members"] == {boxes[n] for n in range(5)}
        again = play.run()
        assert (again.ok, again.changed) == (1, 0)


def started_until(play: Play, tenant: RecordedTenant, size: int) -> subprocess.Popen[bytes]:
    """Start a run, and return it when the tenant has this many principals."""
    process = play.start()
    while len(tenant.listing()) < size and process.poll() is None:
        time.sleep(0.01)
    return process


@pytest.mark.full
def test_a_killed_run_is_finished_by_the_next(play: Play, tenant: RecordedTenant) -> None:
    """If a run and its workers are killed at any time, the next run completes the changes."""
    for size in (25, 60, 110):
        process = started_until(play, tenant, size)
        kill(process, workers=True)
        assert tenant.listing()["still@still.example"]["emails"] == {"still@still.example"}
    assert play.run().changed == 1
    assert_finished(play, tenant)


@pytest.mark.full
def test_a_worker_that_outlives_its_parent_stops(play: Play, tenant: RecordedTenant) -> None:
    """If only the parent process is killed, the worker stops before finishing its work."""
    process = started_until(play, tenant, 40)
    workers = list(descendants(process.pid))
    kill(process, workers=False)
    while any(Path(f"/proc/{pid}").exists() for pid in workers):
        time.sleep(0.05)
    assert len(tenant.listing()) < MANY
    assert play.run().changed == 1
    assert_finished(play, tenant)


def on_terminal(play: Play) -> str:
    """Run a play in its own terminal, and return the output."""
    ours, theirs = pty.openpty()
    settings = play.environment(TERM="xterm", COLUMNS="100")
    with subprocess.Popen(
        play.command, env=settings, stdin=theirs, stdout=theirs, stderr=theirs
    ) as process:
        os.close(theirs)
        written = b""
        # On Linux, reading raises an error once the other end is closed.
        with suppress(OSError):
            while part := os.read(ours, 65536):
                written += part
        os.close(ours)
    assert process.returncode == 0, written
    return written.decode()


@pytest.mark.full
@pytest.mark.matrix
def test_progress(tenant: RecordedTenant, service: RunningService, tmp_path: Path) -> None:
    """In a terminal, progress is one line that is rewritten. In a log, it is separate lines."""
    with running_service(
        tmp_path / "slow", faults="latency=200ms,methods=POST", database=service.database
    ) as slow:
        boxes = [f"box{n}@{HOME}" for n in range(MANY)]
        options = with_passwords({"domains": [HOME], "mailboxes": boxes})
        play = Play(tmp_path / "play", slow, **options)
        written = on_terminal(play)
        assert {total for _done, total in SHOWN.findall(written)} == {str(MANY + 1)}
        assert all(written[: found.start()].endswith("\r") for found in SHOWN.finditer(written))
        assert "changes," not in on_terminal(play)
        tenant.clear()
        assert play.run().changed == 1
        output = play.output.read_text("utf-8")
        assert "\r" not in output
        lines = [line for line in output.splitlines() if "changes," in line]
        assert [line for line in lines if SHOWN.match(line)] == lines != []
        tenant.clear()
        assert play.run(POSTROOM_IN_PROCESS="0").changed == 1
        assert "changes," not in play.output.read_text("utf-8")
