# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A company for the bots that these tests start and stop."""

from __future__ import annotations

import logging
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from ansible_collections.postroom.email.tests.support.bot import PREFIX, bot_settings
from ansible_collections.postroom.email.tests.support.company import Company, open_company


@pytest.fixture(autouse=True)
def root_log() -> Iterator[logging.Logger]:
    """Provide the root logger, and restore the handlers and level that commands configure."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield root
    logging.captureWarnings(capture=False)
    root.handlers[:] = handlers
    root.setLevel(level)


@pytest.fixture(scope="module")
def company(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Company]:
    """Provide the company."""
    with open_company(tmp_path_factory.mktemp("company")) as found:
        yield found


@pytest.fixture
def in_environment(
    company: Company, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> dict[str, object]:
    """Set a bot's environment variables, and return the settings read from them."""
    given = bot_settings(tmp_path, company.slack, company.mail, company.policy)
    for name, value in given.items():
        monkeypatch.setenv(f"{PREFIX}{name.upper()}", str(value))
    # Restore the hooks that the `serve` command sets, and let a successful start exit immediately.
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    monkeypatch.setattr(threading, "excepthook", threading.excepthook)
    monkeypatch.setattr(signal, "sigwait", lambda _signals: signal.SIGTERM)
    return given
