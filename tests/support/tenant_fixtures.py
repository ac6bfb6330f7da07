# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Fixtures for tests that run modules: a tenant, and a recorder in front of the service."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ansible_collections.postroom.email.tests.support.recording_proxy import Recorder, recording
from ansible_collections.postroom.email.tests.support.service import RunningService
from ansible_collections.postroom.email.tests.support.tenant import RecordedTenant


@pytest.fixture(scope="session")
def recorder(service: RunningService) -> Iterator[Recorder]:
    """Run a recorder in front of the service."""
    with recording(service.url) as recorder:
        yield recorder


@pytest.fixture
def tenant(service: RunningService, recorder: Recorder) -> Iterator[RecordedTenant]:
    """Provide an empty tenant."""
    tenant = RecordedTenant(service.url, service.token, recorder)
    tenant.clear()
    yield tenant
    tenant.close()
