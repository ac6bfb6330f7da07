# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The docsite as it was built, and a browser to look at it with."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.postroom.email.tests.support import repository
from ansible_collections.postroom.email.tests.support.browser import browser

__all__ = ["browser"]

SITE = repository.ROOT / ".nox" / "site" / "html"


@pytest.fixture(scope="session")
def site() -> Path:
    """Return the folder of the built pages, which the session `docsite` has made."""
    assert SITE.is_dir(), "build it first: nox -s docsite"
    return SITE
