# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What the end-to-end tests share: one service for all of them, wiped before each."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.postroom.email.tests.support.desk import Desk
from ansible_collections.postroom.email.tests.support.fixtures import direct, service
from ansible_collections.postroom.email.tests.support.recorded import recorder, site
from ansible_collections.postroom.email.tests.support.site import Site

__all__ = ["direct", "recorder", "service", "site"]


@pytest.fixture
def desk(tmp_path: Path, site: Site) -> Desk:
    """Give a folder to run playbooks in, for an empty tenant."""
    return Desk(tmp_path, site.url, site.token)
