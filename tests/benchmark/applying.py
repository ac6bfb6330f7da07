# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What `email_tenant` does, without Ansible around it: the client core on a definition."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from datetime import datetime, timezone

from ansible_collections.postroom.email.plugins.module_utils._api.applying.whole import (
    TenantReport,
    Wanted,
    converge_tenant,
)
from ansible_collections.postroom.email.plugins.module_utils._api.definition.model import Source
from ansible_collections.postroom.email.plugins.module_utils._api.definition.reading import (
    read_definition,
    read_passwords,
)
from ansible_collections.postroom.email.plugins.module_utils._api.planning.drafts import Passwords
from ansible_collections.postroom.email.plugins.module_utils._api.wire.client import Client
from ansible_collections.postroom.email.plugins.module_utils._api.wire.sender import Sender
from ansible_collections.postroom.email.tests.benchmark import tenants
from ansible_collections.postroom.email.tests.benchmark.servers import Server


def wanted(
    source: Source, passwords: Mapping[str, str] | None = None, concurrency: int = 8
) -> Wanted:
    """Return what a definition and passwords make one want."""
    return Wanted(
        read_definition([source], datetime.now(timezone.utc)),
        Passwords(read_passwords(passwords or {})),
        concurrency=concurrency,
    )


class Applying:
    """A definition that has been read, to be applied over new connections each time."""

    def __init__(self, server: Server, declared: tenants.Declared, concurrency: int) -> None:
        self._server = server
        self._wanted = wanted(Source(None, declared), tenants.passwords(declared), concurrency)

    def __call__(self) -> TenantReport:
        """Read the tenant, plan, and carry the plan out."""
        sender = Sender(self._server.url, self._server.token, trust_env=False)
        with contextlib.closing(sender):
            return converge_tenant(Client(sender), self._wanted, dry_run=False)
