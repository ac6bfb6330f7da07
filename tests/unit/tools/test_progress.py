# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of the pytest plugin that names the running tests."""

from __future__ import annotations

import queue

from ansible_collections.postroom.email.tools.progress import Progress


class Reporter:
    """Collect the lines that a plugin prints."""

    def __init__(self) -> None:
        self.lines: queue.Queue[str] = queue.Queue()

    def ensure_newline(self) -> None:
        """Do nothing, because each line is separate."""

    def write_line(self, line: str) -> None:
        """Collect a line."""
        self.lines.put(line)


def test_running_tests_are_named_during_silence() -> None:
    """While no test ends, the tests that are running are printed, and no others."""
    reporter = Reporter()
    progress = Progress(reporter, silence=0)
    progress.pytest_runtest_logstart("test_quick")
    progress.pytest_runtest_logfinish("test_quick")
    progress.pytest_runtest_logstart("test_slow")
    progress.pytest_sessionstart()
    line = reporter.lines.get(timeout=60)
    progress.pytest_sessionfinish()
    assert line == "... test_slow"
