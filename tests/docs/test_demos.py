# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The demos print what the READMEs show, and leave nothing behind."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ansible_collections.postroom.email.tests.docs import readme
from ansible_collections.postroom.email.tests.support import repository

pytestmark = pytest.mark.full
BOT_README = repository.ROOT / "bot" / "README.md"
#: What replaces values that differ from run to run; the order matters.
VARYING = [
    (r"127\.0\.0\.1:\d+", "127.0.0.1:PORT"),
    (r'; p=[^"]+" "[^"]+"', '; p=KEY" "KEY"'),
    (r"\bR-[0-9A-Z]{4}\b", "R-ID"),
    (r"\b\d{4}-\d\d-\d\d\b", "DATE"),
    (r"\b\d\d:\d\d(:\d\d)?\b", "TIME"),
    (r"\b[0-9a-f]{64}\b", "HASH"),
    (r"\w{4}(?=-\*)", "PART"),
]


def start(program: str, folder: Path) -> subprocess.Popen[str]:
    """Start a demo behind a proxy setting, with its temporary files below a folder."""
    return subprocess.Popen(
        [sys.executable, str(repository.ROOT / "tools" / program)],
        env={**os.environ, "TMPDIR": str(folder), "HTTP_PROXY": "http://127.0.0.1:1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def normalised(output: str) -> list[str]:
    """Return the lines of an output without what differs from run to run."""
    for pattern, constant in VARYING:
        output = re.sub(pattern, constant, output)
    return [line.rstrip() for line in output.strip().splitlines()]


def processes_of(folder: Path) -> list[Path]:
    """Return the processes whose temporary files belong below a folder, as folders of /proc."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has ended, or belongs to another user
            if f"TMPDIR={folder}".encode() in (process / "environ").read_bytes():
                found.append(process)
    return found


@pytest.mark.parametrize(
    ("program", "file"),
    [("demo.py", readme.README), ("demo_bot.py", BOT_README)],
    ids=["demo", "demo-bot"],
)
def test_a_readme_shows_what_the_demo_prints(tmp_path: Path, program: str, file: Path) -> None:
    """The README's block is the demo's output, and the demo deletes its files."""
    demo = start(program, tmp_path)
    output, _none = demo.communicate()
    assert demo.returncode == 0, output
    section = None if file == readme.README else "What the demo prints"
    assert normalised(output) == normalised(readme.blocks("text", section, file=file)[0].text)
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs Linux's /proc")
@pytest.mark.parametrize(
    ("program", "signal_", "after"),
    [
        ("demo.py", signal.SIGINT, "changed: [localhost]"),
        ("demo_bot.py", signal.SIGTERM, "$ postroom-bot audit show"),
    ],
)
def test_an_interrupted_demo_leaves_nothing(
    tmp_path: Path, program: str, signal_: signal.Signals, after: str
) -> None:
    """A signal ends every process that the demo has started, and removes its files."""
    demo = start(program, tmp_path)
    assert demo.stdout is not None
    assert any(after in line for line in demo.stdout)
    assert processes_of(tmp_path)
    demo.send_signal(signal_)
    demo.communicate(timeout=60)
    assert demo.returncode == 128 + signal_
    assert not list(tmp_path.iterdir())
    deadline = time.monotonic() + 60
    while processes_of(tmp_path) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert processes_of(tmp_path) == []
