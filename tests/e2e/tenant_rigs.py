# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A tenant that is seen through two services over one database: one fails, one does not."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from ansible_collections.postroom.email.plugins.module_utils._api.wire.client import Client
from ansible_collections.postroom.email.plugins.module_utils._api.wire.sender import Sender
from ansible_collections.postroom.email.plugins.module_utils._module import Outcome
from ansible_collections.postroom.email.plugins.modules.email_tenant import ensure_tenant
from ansible_collections.postroom.email.tests.support.service import RunningService
from ansible_collections.postroom.email.tests.support.site import Api
from ansible_collections.postroom.email.tests.support.wishes import World

DEFAULTS: dict[str, Any] = {
    "definition_files": None,
    "domains": None,
    "mailboxes": None,
    "forwarders": None,
    "passwords": None,
    "update_password": "on_create",
    "purge": [],
    "scope": ["*"],
    "ignore": [],
    "max_deletions": 0,
    "max_delete_percent": None,
    "expected_plan": None,
    "concurrency": 8,
    "report_unchanged": False,
}


class Rig:
    """The two services, and the module's logic with waits that are short."""

    def __init__(self, calm: RunningService, faulty: RunningService) -> None:
        self.api = Api(calm.url, calm.token)
        self._calm = Sender(calm.url, calm.token, trust_env=False)
        self._faulty = Sender(faulty.url, faulty.token, trust_env=False)

    def reset(self, start: World) -> None:
        """Bring the tenant to a state, past the client."""
        now, wanted = self.api.listing(), start.listing()
        stays = {name for name in now if now[name] == wanted.get(name)}
        for name in sorted(now.keys() - stays, key=lambda name: "@" not in name):
            self.api.delete(name)
        for name in sorted(wanted.keys() - stays, key=lambda name: "@" in name):
            row = wanted[name]
            self.api.create(name, sorted(row.get("emails", ())), sorted(row.get("members", ())))

    def run(
        self, options: Mapping[str, Any], *, faults: bool, retries: int = 4, check: bool = False
    ) -> Outcome:
        """Converge the tenant, through one of the two services."""
        sender = self._faulty if faults else self._calm
        client = Client(sender, timeout=60, retries=retries, settle=0.002, sleep=_shortly)
        return ensure_tenant(client, {**DEFAULTS, **options}, check_mode=check)

    def close(self) -> None:
        """Close the connections."""
        self._calm.close()
        self._faulty.close()
        self.api.close()


def _shortly(seconds: float) -> None:
    time.sleep(min(seconds, 0.002))
