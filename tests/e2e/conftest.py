# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What the end-to-end tests share: one service for all of them, wiped before each."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ansible_collections.postroom.email.tests.support.recorder import Recorder, recording
from ansible_collections.postroom.email.tests.support.service import RunningService, running_service
from ansible_collections.postroom.email.tests.support.site import Site


@pytest.fixture(scope="session", autouse=True)
def _direct() -> Iterator[None]:
    """Reach the loopback directly, whatever proxies this machine has."""
    with pytest.MonkeyPatch.context() as patch:
        for variable in ("NO_PROXY", "no_proxy"):
            patch.setenv(variable, "127.0.0.1")
        yield


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    """Run the reference service."""
    with running_service(tmp_path_factory.mktemp("service")) as service:
        yield service


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
