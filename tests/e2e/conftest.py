# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Fixtures for the end-to-end tests: a shared service, and an empty tenant for each test."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.postroom.email.tests.support.collection_playbooks import PlaybookRunner
from ansible_collections.postroom.email.tests.support.fixtures import direct, service
from ansible_collections.postroom.email.tests.support.tenant import RecordedTenant
from ansible_collections.postroom.email.tests.support.tenant_fixtures import recorder, tenant

__all__ = ["direct", "recorder", "service", "tenant"]


@pytest.fixture
def runner(tmp_path: Path, tenant: RecordedTenant) -> PlaybookRunner:
    """Provide a directory for running playbooks on an empty tenant."""
    return PlaybookRunner(tmp_path, tenant.url, tenant.token)
