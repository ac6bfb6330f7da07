# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Fixtures for the service and for a tenant whose domain has its zone on a real name server."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.postroom.email.tests.dns.bind_with_faults import (
    HOME,
    KEY,
    BindWithFaults,
    bind_with_faults,
)
from ansible_collections.postroom.email.tests.support.fixtures import direct, service
from ansible_collections.postroom.email.tests.support.loopback import free_port
from ansible_collections.postroom.email.tests.support.tenant import RecordedTenant
from ansible_collections.postroom.email.tests.support.tenant_fixtures import recorder, tenant

__all__ = ["direct", "recorder", "service", "tenant"]


@dataclass
class Publisher:
    """A tenant with a domain, and the domain's name server."""

    tenant: RecordedTenant
    dns_server: BindWithFaults

    def run(self, state: str, *, check: bool = False, **options: Any) -> dict[str, Any]:
        """Run `email_dns_records` and return its result."""
        defaults = {
            "domain": HOME,
            "update_server": str(self.dns_server.front),
            "nameservers": [str(self.dns_server.bind)],
            # Nothing listens on this address, so no test sends queries to the Internet.
            "resolvers": [f"127.0.0.1:{free_port()}"],
            "tsig_name": KEY.name,
            # Secrets from files or YAML blocks end with a newline, which must be ignored.
            "tsig_secret": f"{KEY.secret}\n",
            "ttl": 600,
        }
        return self.tenant.run(
            "email_dns_records", check=check, **{**defaults, "state": state, **options}
        )


@pytest.fixture
def publisher(tenant: RecordedTenant, tmp_path: Path) -> Iterator[Publisher]:
    """Provide a tenant with one domain and a separate name server."""
    tenant.create(HOME)
    with bind_with_faults(tmp_path, {HOME: ""}) as dns_server:
        yield Publisher(tenant, dns_server)
