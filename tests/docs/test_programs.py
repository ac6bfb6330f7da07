# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The demos print what the READMEs show and leave no files, and the benchmark runs."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from ansible_collections.postroom.email.tests.docs import readme
from ansible_collections.postroom.email.tests.support import repository
from ansible_collections.postroom.email.tests.support.postgresql import binaries

pytestmark = pytest.mark.full
DATABASES = 2 if binaries() else 1
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


def normalised(output: str) -> list[str]:
    """Return the lines of an output without what differs from run to run."""
    for pattern, constant in VARYING:
        output = re.sub(pattern, constant, output)
    return [line.rstrip() for line in output.strip().splitlines()]


@pytest.mark.parametrize(
    ("program", "file"),
    [("demo.py", readme.README), ("demo_bot.py", BOT_README)],
    ids=["demo", "demo-bot"],
)
def test_a_readme_shows_what_the_demo_prints(tmp_path: Path, program: str, file: Path) -> None:
    """The README's block is the demo's output, and the demo deletes its files."""
    demo = subprocess.run(
        [sys.executable, str(repository.ROOT / "tools" / program)],
        env={**os.environ, "TMPDIR": str(tmp_path), "HTTP_PROXY": "http://127.0.0.1:1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert demo.returncode == 0, demo.stdout
    section = None if file == readme.README else "What the demo prints"
    assert normalised(demo.stdout) == normalised(readme.blocks("text", section, file=file)[0].text)
    assert not list(tmp_path.iterdir())


#: How many rows the benchmark has of each unit.
ROWS = {
    "process": 2,
    "request": 3,
    "task of a loop": 2,
    "mailbox created": 4 * 2 * 4,
    "play": 4 * 2 + 1,
    "largest process": 4,
    "principal": 2 * 2 * 2 + 1,
    "acknowledgement": 4 * DATABASES,
    "command": DATABASES,
}


def test_the_benchmark_measures_everything() -> None:
    """Its JSON has every row of the README, with a verdict wherever there is a goal."""
    command = [sys.executable, str(repository.ROOT / "tests" / "benchmark"), "--quick", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)
    assert Counter(row["unit"] for row in rows) == ROWS
    assert all(bool(row["verdict"]) is (row["goal"] is not None) for row in rows)
