# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A pytest plugin that names the running tests while none of them ends."""

from __future__ import annotations

import threading
import time
from typing import Protocol

import pytest

SILENCE = 15.0


class Reporter(Protocol):
    """The part of pytest's terminal reporter that this plugin uses."""

    def ensure_newline(self) -> None:
        """End the current line."""

    def write_line(self, line: str) -> None:
        """Print a line."""


class Progress:
    """Print a line whenever no test has started or ended for a while."""

    def __init__(self, reporter: Reporter, silence: float = SILENCE) -> None:
        self._reporter = reporter
        self._silence = silence
        self._running: dict[str, None] = {}
        self._last_event = time.monotonic()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._print, daemon=True)

    def pytest_sessionstart(self) -> None:
        """Start watching."""
        self._thread.start()

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Remember a test that starts, in this process or in one of xdist's."""
        self._last_event = time.monotonic()
        self._running[nodeid] = None

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        """Forget a test that ended."""
        self._last_event = time.monotonic()
        self._running.pop(nodeid, None)

    def pytest_sessionfinish(self) -> None:
        """Stop watching."""
        self._stopped.set()
        self._thread.join()

    def _print(self) -> None:
        while not self._stopped.wait(1):
            if time.monotonic() - self._last_event >= self._silence:
                self._last_event = time.monotonic()
                running = ", ".join(self._running) or "preparing the tests"
                self._reporter.ensure_newline()
                self._reporter.write_line(f"... {running}")


@pytest.hookimpl(trylast=True)  # the terminal reporter is registered in the same hook
def pytest_configure(config: pytest.Config) -> None:
    """Watch the tests, except in xdist's own processes."""
    if not hasattr(config, "workerinput"):
        reporter = config.pluginmanager.get_plugin("terminalreporter")
        if isinstance(reporter, pytest.TerminalReporter):
            config.pluginmanager.register(Progress(reporter), "progress")
