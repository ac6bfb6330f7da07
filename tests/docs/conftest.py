# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Fixtures for the tests of the documentation: a service, and an empty tenant for each test."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest

from ansible_collections.postroom.email.tests.support.fixtures import service
from ansible_collections.postroom.email.tests.support.service import RunningService
from ansible_collections.postroom.email.tests.support.tenant import Api

__all__ = ["service"]


@pytest.fixture
def tenant(service: RunningService) -> Iterator[Api]:
    """Provide an empty tenant."""
    with contextlib.closing(Api(service.url, service.token)) as api:
        api.clear()
        yield api
