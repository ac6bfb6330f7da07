# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What the end-to-end tests share: one service for all of them, wiped before each."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ansible_collections.postroom.email.tests.support.fixtures import direct, service
from ansible_collections.postroom.email.tests.support.recorder import Recorder, recording
from ansible_collections.postroom.email.tests.support.service import RunningService
from ansible_collections.postroom.email.tests.support.site import Site

__all__ = ["direct", "service"]


@pytest.fixture(scope="session")
def recorder(service: RunningService) -> Iterator[Recorder]:
    """Run a recorder in front of the service."""
    with recording(service.url) as recorder:
        yield recorder


@pytest.fixture
def site(service: RunningService, recorder: Recorder) -> Iterator[Site]:
    """Return an empty tenant."""
    site = Site(service.url, service.token, recorder)
    site.clear()
    yield site
    site.close()
