# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Fixtures for the end-to-end tests: a shared service, and an empty tenant for each test."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.postroom.email.tests.support.collection_playbooks import Desk
from ansible_collections.postroom.email.tests.support.fixtures import direct, service
from ansible_collections.postroom.email.tests.support.tenant import Site
from ansible_collections.postroom.email.tests.support.tenant_fixtures import recorder, site

__all__ = ["direct", "recorder", "service", "site"]


@pytest.fixture
def desk(tmp_path: Path, site: Site) -> Desk:
    """Provide a directory for running playbooks on an empty tenant."""
    return Desk(tmp_path, site.url, site.token)
