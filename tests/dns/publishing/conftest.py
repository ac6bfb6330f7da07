# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What the tests of publishing share: a tenant, and a name server with a gate before it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.postroom.email.tests.dns.publishing.stage import (
    HOME,
    KEY,
    Stage,
    stage_with,
)
from ansible_collections.postroom.email.tests.support.fixtures import direct, service
from ansible_collections.postroom.email.tests.support.loopback import free_port
from ansible_collections.postroom.email.tests.support.recorded import recorder, site
from ansible_collections.postroom.email.tests.support.site import Site

__all__ = ["direct", "recorder", "service", "site"]


@dataclass
class Publisher:
    """A tenant with a domain, and the name server that has its zone."""

    site: Site
    stage: Stage

    @property
    def options(self) -> dict[str, Any]:
        """Return the options of a task that publishes."""
        return {
            "domain": HOME,
            "update_server": str(self.stage.front),
            "nameservers": [str(self.stage.bind)],
            # Nobody is there: no test asks the world.
            "resolvers": [f"127.0.0.1:{free_port()}"],
            "tsig_name": KEY.name,
            "tsig_secret": KEY.secret,
            "ttl": 600,
        }

    def run(self, state: str, *, check: bool = False, **options: Any) -> dict[str, Any]:
        """Run the module and return its result."""
        options = {**self.options, "state": state, **options}
        return self.site.run("email_dns_records", check=check, **options)


@pytest.fixture
def publisher(site: Site, tmp_path: Path) -> Iterator[Publisher]:
    """Return a tenant that holds a domain and nothing else, with a name server of its own."""
    site.create(HOME)
    with stage_with(tmp_path, {HOME: ""}) as stage:
        yield Publisher(site, stage)
