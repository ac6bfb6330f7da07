# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The bot's demo does what the bot's README shows, and leaves nothing behind.

`python tests/docs/test_demo_bot.py < output` puts a new output of it into that README.
"""

from __future__ import annotations

import re
import runpy
import signal
import sys
from pathlib import Path

if __name__ == "__main__":
    # It makes the collection importable.
    runpy.run_path(str(Path(__file__).resolve().parents[1] / "conftest.py"))

import pytest

from ansible_collections.postroom.email.tests.docs import demos, readme

PROGRAM = "demo_bot.py"
README = readme.CHECKOUT / "bot" / "README.md"
SECTION = "What the demo prints"
#: What the requests are called, in the order in which they come.
REQUESTS = ("R-7K2M", "R-8N4P", "R-9Q5S", "R-2T6V")
ASKED_ON, EXPIRES_ON = "2027-02-03", "2027-02-04"
STARTING, LISTING = "1. Start", "$ postroom-bot audit show"

_REQUEST = re.compile(r"\bR-[0-9A-Z]{4}\b")
_DATE = re.compile(r"\b\d{4}-\d\d-\d\d\b")
_TIME = re.compile(r"\b\d\d:\d\d(:\d\d)?\b")


def block() -> str:
    """Return what the README shows."""
    (found,) = (one.text for one in readme.all_blocks(README) if one.section == SECTION)
    return found


def normalised(output: str) -> str:
    """Return an output of the demo without what differs from run to run."""
    names = dict(zip(dict.fromkeys(_REQUEST.findall(output)), REQUESTS, strict=True))
    output = _REQUEST.sub(lambda match: names[match[0]], output)
    # The first day that it names is the one on which the request expires.
    output = _DATE.sub(EXPIRES_ON, _DATE.sub(ASKED_ON, output), count=1)
    output = _TIME.sub(lambda match: "14:05:30" if match[1] else "14:05", output)
    output = re.sub(r"\b[0-9a-f]{64}\b", "0123456789abcdef" * 4, output)
    output = re.sub(r"\w{4}(?=-\*)", "k7md", output)
    return readme.normalised(output)


def test_the_readme_shows_what_the_demo_prints(tmp_path: Path) -> None:
    """The block is the demo's output; the demo also works where a proxy is set."""
    assert normalised(demos.output_of(PROGRAM, tmp_path)) == block()


@demos.needs_proc
@demos.interruptions
def test_an_interrupted_demo_leaves_nothing(
    tmp_path: Path, number: int, before: tuple[str, ...]
) -> None:
    """Ctrl-C ends the bot, what the bot is asked beside, and the service, and removes the files."""
    demo = demos.start(PROGRAM, tmp_path, *before)
    demos.interrupt(demo, tmp_path, number, after=LISTING)


@demos.needs_proc
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_demo_that_only_begins_leaves_nothing(tmp_path: Path, number: int) -> None:
    """The same while the service, which is the first, is being started."""
    demo = demos.start(PROGRAM, tmp_path)
    demos.interrupt(demo, tmp_path, number, after=STARTING)


if __name__ == "__main__":
    text = README.read_text("utf-8")
    README.write_text(text.replace(block(), normalised(sys.stdin.read())), "utf-8")
