# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The demo does what the README shows, and leaves nothing behind."""

from __future__ import annotations

from pathlib import Path

from ansible_collections.postroom.email.tests.docs import demos, readme

PROGRAM = "demo.py"


def test_the_readme_shows_what_the_demo_prints(tmp_path: Path) -> None:
    """The block in the README is the demo's output; the demo also works where a proxy is set."""
    output = demos.output_of(PROGRAM, tmp_path)
    assert readme.normalised(output) == readme.blocks("text")[0].text


@demos.needs_proc
@demos.interruptions
def test_an_interrupted_demo_leaves_nothing(
    tmp_path: Path, number: int, before: tuple[str, ...]
) -> None:
    """Ctrl-C in the midst of a run ends Ansible and the service, and removes the files."""
    demo = demos.start(PROGRAM, tmp_path, *before)
    demos.interrupt(demo, tmp_path, number, after="changed: [localhost]")
