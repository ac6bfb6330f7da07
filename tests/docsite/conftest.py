# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The docsite as it was built, and a browser to look at it with."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from ansible_collections.postroom.email.tests.support import repository
from ansible_collections.postroom.email.tests.support.browser import chromium

SITE = repository.ROOT / ".nox" / "site" / "html"


@pytest.fixture(scope="session")
def site() -> Path:
    """Return the folder of the built pages, which the session `docsite` has made."""
    assert SITE.is_dir(), "build it first: nox -s docsite"
    return SITE


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Run a browser without a window."""
    with chromium() as browser:
        yield browser
