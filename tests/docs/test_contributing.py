# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What CONTRIBUTING.md tells to type finds something to run."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys

import pytest

from ansible_collections.postroom.email.tests.support import repository

EXAMPLES = re.findall(
    r"^\$ \.venv/bin/nox -s \S+ -- (\S.*)$", repository.read("CONTRIBUTING.md"), re.MULTILINE
)
OF_PYTEST = [example for example in EXAMPLES if example.startswith("tests/")]


@pytest.mark.parametrize("example", OF_PYTEST)
def test_an_example_selects_tests(example: str) -> None:
    """Something is collected; files that need packages which are not here don't matter."""
    listing = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "--quiet", *shlex.split(example)],
        cwd=repository.ROOT,
        capture_output=True,
        text=True,
        check=False,
    ).stdout
    assert "::" in listing, listing


def test_the_example_of_a_target_names_one() -> None:
    """There is an integration target of that name; three more examples are pytest's."""
    targets = [example for example in EXAMPLES if re.fullmatch(r"\w+", example)]
    assert [(repository.ROOT / "tests/integration/targets" / t).is_dir() for t in targets] == [True]
    assert len(OF_PYTEST) == 3
