# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The benchmark runs. How fast anything is does not matter here."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter

import pytest

from ansible_collections.postroom.email.tests.benchmark.measure import Ratio, interleaved, table
from ansible_collections.postroom.email.tests.support import repository
from ansible_collections.postroom.email.tests.support.postgresql import binaries

DATABASES = 2 if binaries() else 1
#: How many rows of which unit each part has.
ROWS = {
    "imports": {"process": 2},
    "service": {"request": 3},
    "tasks": {"task of a loop": 2},
    "create": {"mailbox created": 4 * 2 * 4},
    "unchanged": {"play": 4 * 2 + 1, "largest process": 4},
    "growth": {"principal": 2 * 2 * 2 + 1},
    "acks": {"acknowledgement": 4 * DATABASES, "command": DATABASES},
}


@pytest.mark.parametrize("part", ROWS)
def test_the_benchmark_measures_everything(part: str) -> None:
    """A part's JSON has every row, with an amount for each side and a verdict where is a goal."""
    command = [sys.executable, str(repository.ROOT / "tests" / "benchmark")]
    options = ["--quick", "--json", "--only", part]
    done = subprocess.run([*command, *options], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)
    assert Counter(row["unit"] for row in rows) == ROWS[part]
    assert all(isinstance(row["ratio"], float) for row in rows)
    assert {bool(row["verdict"]) for row in rows if row["goal"] is not None} <= {True}
    assert len({(row["name"], row["reference_name"]) for row in rows}) == len(rows)


def test_there_is_no_other_part() -> None:
    """Every part is tried above."""
    done = subprocess.run(
        [sys.executable, str(repository.ROOT / "tests" / "benchmark"), "--help"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert f"{{{','.join(ROWS)}}}" in done.stdout


def test_things_are_measured_in_turn() -> None:
    """Each round runs each thing once, and the median over the rounds counts."""
    order: list[str] = []
    times = {"a": [1.0, 5.0, 2.0], "b": [3.0, 3.0, 9.0]}

    def next_time(name: str) -> float:
        order.append(name)
        return times[name].pop(0)

    assert interleaved(3, {"a": lambda: next_time("a"), "b": lambda: next_time("b")}) == {
        "a": 2.0,
        "b": 3.0,
    }
    assert "".join(order) == "ababab"


def test_a_goal_is_reached_or_missed() -> None:
    """A ratio above its goal is a miss; one without a goal is neither."""
    ratios = [Ratio("x", "y", 3.0, 2.0, "task", goal) for goal in (1.5, 1.4, None)]
    assert [ratio.verdict for ratio in ratios] == ["pass", "miss", ""]
    lines = list(table(ratios))
    assert [line.split()[-1] for line in lines[1:]] == ["pass", "miss", "task"]
