# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Fixtures shared by the conftest.py files of several test suites."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ansible_collections.postroom.email.tests.support.postgresql import binaries, cluster
from ansible_collections.postroom.email.tests.support.service import RunningService, running_service


@pytest.fixture(scope="session", autouse=True)
def direct() -> Iterator[None]:
    """Bypass this machine's proxies for connections to the loopback interface."""
    with pytest.MonkeyPatch.context() as patch:
        for variable in ("NO_PROXY", "no_proxy"):
            patch.setenv(variable, "127.0.0.1")
        yield


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    """Run the reference service."""
    with running_service(tmp_path_factory.mktemp("service")) as running:
        yield running


@pytest.fixture(scope="session")
def postgresql_url() -> Iterator[str]:
    """Run a PostgreSQL server, and return its URL. Skip the test if PostgreSQL is not installed."""
    with cluster(binaries()) as url:
        yield url
