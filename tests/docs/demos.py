# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Run the demos, interrupt them, and look for what they leave behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ansible_collections.postroom.email.tests.support import repository

# A script's shell starts what it runs in the background like this.
IGNORING_CTRL_C = ("sh", "-c", 'trap "" INT; exec "$@"', "sh")
LONGEST_STOP = 60.0

interruptions = pytest.mark.parametrize(
    ("number", "before"),
    [(signal.SIGINT, ()), (signal.SIGINT, IGNORING_CTRL_C), (signal.SIGTERM, ())],
    ids=["SIGINT", "SIGINT-in-background", "SIGTERM"],
)
needs_proc = pytest.mark.skipif(
    not Path("/proc/self/environ").exists(), reason="needs Linux's /proc"
)


def start(program: str, folder: Path, *before: str) -> subprocess.Popen[str]:
    """Start a demo with its temporary files below `folder`, by which its processes are known.

    :param program: its file in `tools`
    :param before: the beginning of the command line
    """
    return subprocess.Popen(
        [*before, sys.executable, str(repository.ROOT / "tools" / program)],
        env={**os.environ, "TMPDIR": str(folder), "HTTP_PROXY": "http://127.0.0.1:1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def output_of(program: str, folder: Path) -> str:
    """Return what a demo prints; it succeeds, and leaves no file."""
    demo = start(program, folder)
    output, _none = demo.communicate()
    assert demo.returncode == 0, output
    assert not list(folder.iterdir())
    return output


def interrupt(demo: subprocess.Popen[str], folder: Path, number: int, *, after: str) -> None:
    """Signal a demo when it has printed something; it ends everything that it has started."""
    assert demo.stdout is not None
    for line in demo.stdout:
        if after in line:
            break
    assert processes_of(folder)
    demo.send_signal(number)
    demo.communicate(timeout=LONGEST_STOP)
    assert demo.returncode == 128 + number
    assert not list(folder.iterdir())
    end = time.monotonic() + LONGEST_STOP
    while processes_of(folder) and time.monotonic() < end:
        time.sleep(0.05)
    assert processes_of(folder) == []


def processes_of(folder: Path) -> list[str]:
    """Return the command lines of the processes whose temporary files belong below `folder`."""
    # Ansible's own are in a folder below it.
    marks = (f"TMPDIR={folder}\0", f"TMPDIR={folder}/")
    return [
        _told(process / "cmdline").replace("\0", " ")
        for process in Path("/proc").glob("[0-9]*")
        if any(mark in _told(process / "environ") for mark in marks)
    ]


def _told(file: Path) -> str:
    """Return what the kernel tells of a process: nothing, if it has ended or is another user's."""
    try:
        return file.read_text("utf-8", "replace")
    except OSError:
        return ""
