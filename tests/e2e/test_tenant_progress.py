# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A long task shows how it gets on: on a terminal in one line, in a log now and then in another."""

from __future__ import annotations

import os
import pty
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from ansible_collections.postroom.email.tests.e2e.tenant_plays import Play, with_passwords
from ansible_collections.postroom.email.tests.support.service import RunningService, running_service
from ansible_collections.postroom.email.tests.support.site import Site

pytestmark = pytest.mark.matrix

HOME = "home.example"
MANY = 150
SHOWN = re.compile(r"(\d+) of (\d+) changes, ([\d.]+) a second, (?:(\d+) min )?(\d+) s left")
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


@pytest.fixture
def play(site: Site, service: RunningService, tmp_path: Path) -> Iterator[Play]:
    """Return a play that takes a few seconds."""
    with running_service(
        tmp_path / "slow", faults="latency=200ms,methods=POST", database=service.database
    ) as slow:
        boxes = [f"box{n}@{HOME}" for n in range(MANY)]
        options = with_passwords({"domains": [HOME], "mailboxes": boxes})
        yield Play(tmp_path / "play", slow, **options)


def on_terminal(play: Play) -> str:
    """Run a play on a terminal of its own and return what it writes there."""
    ours, theirs = pty.openpty()
    try:
        process = subprocess.Popen(
            play.command,
            env=play.environment(TERM="xterm", COLUMNS="100"),
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
        )
    finally:
        os.close(theirs)
    written = b"".join(_all_of(ours))
    os.close(ours)
    assert process.wait() == 0, written
    return written.decode()


def _all_of(terminal: int) -> Iterator[bytes]:
    while True:
        try:
            part = os.read(terminal, 65536)
        except OSError:
            # Linux tells so that nobody has the other end any more.
            return
        if not part:
            return
        yield part


def screen(written: str) -> list[str]:
    """Return the lines that a terminal shows in the end, where only a carriage return goes back."""
    lines = []
    for line in _COLOUR.sub("", written).replace("\r\n", "\n").split("\n"):
        cells = ""
        for part in line.split("\r"):
            cells = part + cells[len(part) :]
        lines.append(cells.rstrip())
    return lines


def assert_grows(told: list[tuple[str, ...]]) -> None:
    """Assert that each time more of the same is through, at some rate."""
    done = [int(one[0]) for one in told]
    assert done == sorted(done)
    assert done[-1] <= MANY + 1
    assert {int(one[1]) for one in told} == {MANY + 1}
    assert all(float(one[2]) > 0 for one in told)


def test_on_a_terminal(play: Play) -> None:
    """One line is written over and over, and nothing of it is left."""
    written = on_terminal(play)
    told = SHOWN.findall(written)
    assert len(told) >= 2
    assert_grows(told)
    # Each begins at the left margin, and none is followed by a new line of its own.
    assert all(written[: found.start()].endswith("\r") for found in SHOWN.finditer(written))
    shown = screen(written)
    assert not any("changes," in line for line in shown)
    assert [line for line in shown if line.startswith("changed: ")] == ["changed: [localhost]"]
    again = on_terminal(play)
    assert "changes," not in again


def test_without_a_terminal(play: Play) -> None:
    """At least one line comes, each in a line of its own."""
    assert play.run().changed == 1
    output = play.output.read_text("utf-8")
    assert "\r" not in output
    lines = [line for line in output.splitlines() if "changes," in line]
    told = [found.groups("") for line in lines if (found := SHOWN.fullmatch(line))]
    assert len(told) == len(lines) >= 1
    assert_grows(told)
    assert play.run().changed == 0
    assert "changes," not in play.output.read_text("utf-8")


def test_as_a_module(play: Play) -> None:
    """A module process has no screen, and its result is all that comes."""
    assert play.finish(play.start(POSTROOM_IN_PROCESS="0")).changed == 1
    assert "changes," not in play.output.read_text("utf-8")
