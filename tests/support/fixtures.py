# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Fixtures that several suites have in their conftest.py."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ansible_collections.postroom.email.tests.support.postgresql import (
    NO_POSTGRESQL,
    binaries,
    cluster,
)
from ansible_collections.postroom.email.tests.support.service import RunningService, running_service


@pytest.fixture(scope="session", autouse=True)
def direct() -> Iterator[None]:
    """Reach the loopback directly, whatever proxies this machine has."""
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
    """Run a real PostgreSQL server and give its URL; skip where there is none."""
    place = binaries()
    if place is None:
        pytest.skip(NO_POSTGRESQL)
    with cluster(place) as url:
        yield url
