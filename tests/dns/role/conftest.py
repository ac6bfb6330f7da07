# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What the tests of the role share: the service, and a provider with a zone of others."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from ansible_collections.postroom.email.tests.dns.role.providers import PROVIDERS, Provider
from ansible_collections.postroom.email.tests.dns.role.rig import Rig, register
from ansible_collections.postroom.email.tests.support.fixtures import direct, service
from ansible_collections.postroom.email.tests.support.service import RunningService

__all__ = ["direct", "service"]


class Stage(NamedTuple):
    """A provider, and the role set up for it and for the domain that is the zone."""

    provider: Provider
    service: RunningService
    rig: Rig

    @property
    def domain(self) -> str:
        """The domain."""
        return self.provider.zone


@pytest.fixture
def stage(
    request: pytest.FixtureRequest, service: RunningService, tmp_path: Path
) -> Iterator[Stage]:
    """Set up the provider that the test is run for."""
    name: str = request.param
    zone = f"{name}.example"
    register(service, zone)
    with PROVIDERS[name](zone, tmp_path) as provider:
        variables = {
            "dns_provider": name,
            "dns_domains": [zone],
            "dns_verify": provider.answers,
            "dns_wait_timeout": 20,
        }
        rig = Rig(tmp_path, service, {**variables, **provider.variables}, provider.settings)
        yield Stage(provider, service, rig)
