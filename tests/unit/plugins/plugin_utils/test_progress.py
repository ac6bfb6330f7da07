# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What is seen of a long task while it runs, on a terminal and in a log."""

from __future__ import annotations

import pytest

from ansible_collections.postroom.email.plugins.plugin_utils._progress import Progress
from ansible_collections.postroom.email.tests.support.clients import Clock


class Screen:
    """What was shown, and a clock that the test moves on."""

    def __init__(self, *, is_terminal: bool) -> None:
        self.clock = Clock()
        self.shown: list[tuple[str, bool]] = []
        self.progress = Progress(self.show, is_terminal=is_terminal, clock=self.clock)

    def show(self, text: str, newline: bool) -> None:
        """Take a text."""
        self.shown.append((text, newline))

    def go_on(self, seconds: float, done: int, total: int = 1000) -> None:
        """Let time pass and tell how many are through."""
        self.clock.sleep(seconds)
        self.progress(done, total)


@pytest.mark.parametrize("is_terminal", [True, False])
def test_short_tasks_show_nothing(is_terminal: bool) -> None:
    """Up to two seconds, and also what ends with the first thing that there is to tell."""
    screen = Screen(is_terminal=is_terminal)
    for number in range(1, 20):
        screen.go_on(0.1, number)
    screen.go_on(60.0, 20, 20)
    screen.progress.end()
    assert screen.shown == []


def test_a_terminal_has_one_line_that_is_cleared_at_the_end() -> None:
    """At most twice a second; a shorter text covers the longer one before."""
    screen = Screen(is_terminal=True)
    screen.go_on(30.0, 1, 10_001)
    screen.go_on(2.0, 3, 10_001)
    screen.go_on(0.4, 4, 10_001)
    screen.go_on(97.6, 9_001, 10_001)
    screen.progress.end()
    first = "3 of 10001 changes, 1.0 a second, 166 min 38 s left"
    second = "9001 of 10001 changes, 90.0 a second, 11 s left"
    assert screen.shown == [
        (f"\r{first}", False),
        (f"\r{second.ljust(len(first))}", False),
        (f"\r{' ' * len(second)}\r", False),
    ]


def test_a_log_has_a_line_now_and_then() -> None:
    """Every fifteen seconds, each on a line of its own, and nothing to clear."""
    screen = Screen(is_terminal=False)
    for second in range(60):
        screen.go_on(1.0, 10 * second)
    screen.progress.end()
    texts = [text for text, newline in screen.shown if newline]
    assert len(texts) == len(screen.shown) == 4
    assert texts[0] == "20 of 1000 changes, 10.0 a second, 1 min 38 s left"
    assert texts[1] == "170 of 1000 changes, 10.0 a second, 1 min 23 s left"
    assert texts[-1] == "470 of 1000 changes, 10.0 a second, 53 s left"


def test_the_rate_is_of_what_was_done_meanwhile() -> None:
    """What was through before the first word took no time."""
    screen = Screen(is_terminal=False)
    screen.go_on(1.0, 500)
    screen.go_on(10.0, 600)
    assert screen.shown == [("600 of 1000 changes, 10.0 a second, 40 s left", True)]


@pytest.mark.parametrize("done", [4, 5])
def test_without_a_rate_no_time_is_told(done: int) -> None:
    """Where no more are through than at first, for some have to be repaired."""
    screen = Screen(is_terminal=False)
    screen.go_on(1.0, 5)
    screen.go_on(10.0, done)
    assert screen.shown == [(f"{done} of 1000 changes", True)]


def test_the_end_of_a_long_task_is_shown() -> None:
    """With nothing left."""
    screen = Screen(is_terminal=False)
    screen.go_on(0.0, 0, 40)
    screen.go_on(10.0, 20, 40)
    screen.go_on(20.0, 40, 40)
    assert screen.shown[-1] == ("40 of 40 changes, 1.3 a second, 0 s left", True)
