# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The demo does what the README shows, and leaves nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ansible_collections.postroom.email.tests.docs import readme

DEMO = [sys.executable, str(readme.CHECKOUT / "tools" / "demo.py")]
# A script's shell starts what it runs in the background like this.
IGNORING_CTRL_C = ["sh", "-c", 'trap "" INT; exec "$@"', "sh"]
LONGEST_STOP = 20.0


def start(folder: Path, *before: str) -> subprocess.Popen[str]:
    """Start the demo with its temporary files below `folder`, by which its processes are known."""
    return subprocess.Popen(
        [*before, *DEMO],
        env={**os.environ, "TMPDIR": str(folder), "HTTP_PROXY": "http://127.0.0.1:1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def processes_of(folder: Path) -> list[str]:
    """Return the command lines of the processes whose temporary files belong below `folder`."""
    # Ansible's own are in a folder below it.
    marks = (f"TMPDIR={folder}\0", f"TMPDIR={folder}/")
    return [
        told(process / "cmdline").replace("\0", " ")
        for process in Path("/proc").glob("[0-9]*")
        if any(mark in told(process / "environ") for mark in marks)
    ]


def told(file: Path) -> str:
    """Return what the kernel tells of a process: nothing, if it has ended or is another user's."""
    try:
        return file.read_text("utf-8", "replace")
    except OSError:
        return ""


def test_the_readme_shows_what_the_demo_prints(tmp_path: Path) -> None:
    """The block in the README is the demo's output; the demo also works where a proxy is set."""
    demo = start(tmp_path)
    output, _none = demo.communicate()
    assert readme.normalised(output) == readme.blocks("text")[0].text
    assert demo.returncode == 0
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs Linux's /proc")
@pytest.mark.parametrize(
    ("number", "before"),
    [(signal.SIGINT, []), (signal.SIGINT, IGNORING_CTRL_C), (signal.SIGTERM, [])],
    ids=["SIGINT", "SIGINT-in-background", "SIGTERM"],
)
def test_an_interrupted_demo_leaves_nothing(tmp_path: Path, number: int, before: list[str]) -> None:
    """Ctrl-C in the midst of a run ends Ansible and the service, and removes the files."""
    demo = start(tmp_path, *before)
    assert demo.stdout is not None
    for line in demo.stdout:
        if "changed: [localhost]" in line:
            break
    assert processes_of(tmp_path)
    demo.send_signal(number)
    demo.communicate(timeout=LONGEST_STOP)
    assert demo.returncode == 128 + number
    assert not list(tmp_path.iterdir())
    end = time.monotonic() + LONGEST_STOP
    while processes_of(tmp_path) and time.monotonic() < end:
        time.sleep(0.05)
    assert processes_of(tmp_path) == []
