# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The benchmark runs."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter

import pytest

from ansible_collections.postroom.email.tests.support import repository
from ansible_collections.postroom.email.tests.support.postgresql import binaries

DATABASES = 2 if binaries() else 1
#: How many rows there are of each unit.
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


@pytest.mark.full
def test_the_benchmark_measures_everything() -> None:
    """Its JSON has every row of the README, with a verdict wherever there is a goal."""
    command = [sys.executable, str(repository.ROOT / "tests" / "benchmark"), "--quick", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)
    assert Counter(row["unit"] for row in rows) == ROWS
    assert all(isinstance(row["ratio"], float) for row in rows)
    assert all(bool(row["verdict"]) is (row["goal"] is not None) for row in rows)
    assert len({(row["name"], row["reference_name"]) for row in rows}) == len(rows)
