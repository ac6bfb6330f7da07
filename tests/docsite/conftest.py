# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The docsite as it was built, and a browser to look at it with."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

from ansible_collections.postroom.email.tests.support import repository

SITE = repository.ROOT / ".nox" / "site" / "html"
#: It stays on this machine, and asks nobody for updates.
QUIET = ("quic", "background-networking", "component-update", "sync", "gpu")


@pytest.fixture(scope="session")
def site() -> Path:
    """Return the folder of the built pages, which the session `docsite` has made."""
    assert SITE.is_dir(), "build it first: nox -s docsite"
    return SITE


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Run a browser without a window."""
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("needs Chromium")
    flags = ["--no-sandbox", "--no-first-run", *(f"--disable-{name}" for name in QUIET)]
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=program, args=flags)
        yield chromium
        chromium.close()
