# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A tenant to test against: the reference service, a recorder before it, and ways to look and run.

What `Site` itself asks goes past the recorder and does not use the client that is tested.
"""

from __future__ import annotations

import importlib
from typing import Any
from urllib.parse import quote

import httpx

from ansible_collections.postroom.email.tests.support.modules import run_module
from ansible_collections.postroom.email.tests.support.recorder import Recorder

MODULES = "ansible_collections.postroom.email.plugins.modules"

#: A principal as the wire has it, with its lists as sets.
Shape = dict[str, Any]


class Api:
    """The interface by hand."""

    def __init__(self, url: str, token: str) -> None:
        # The service closes what is idle, and that could cross the next request.
        headers = {"Authorization": f"Bearer {token}", "Connection": "close"}
        self._client = httpx.Client(base_url=url, headers=headers, timeout=60, trust_env=False)

    def close(self) -> None:
        """Close the connection."""
        self._client.close()

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """Send one request that must succeed and return its answer."""
        response = self._client.request(method, path, json=body)
        assert response.is_success, (method, path, response.text)
        return response.json()

    def listing(self) -> dict[str, Shape]:
        """Return everything that the tenant holds, by name."""
        rows = self.call("GET", "/api/principal")
        return {row["name"]: _as_sets(row) for row in rows}

    def create(
        self, name: str, emails: list[str] | None = None, members: list[str] | None = None
    ) -> None:
        """Create a domain, a mailbox or a forwarder, whichever the arguments call for."""
        body: Shape = {"name": name, "type": "individual" if "@" in name else "domain"}
        if "@" in name:
            body["emails"] = emails or [name]
            body |= {"members": members} if members else {"secrets": ["of no interest"]}
        self.call("POST", "/api/principal", body)

    def delete(self, name: str) -> None:
        """Delete a principal."""
        self.call("DELETE", f"/api/principal/{quote(name, safe='')}")

    def clear(self) -> None:
        """Delete all domains, and all else with them."""
        for name in self.listing():
            if "@" not in name:
                self.delete(name)


class Site(Api):
    """One tenant of a running service, and the modules that run on it."""

    def __init__(self, service_url: str, token: str, recorder: Recorder) -> None:
        super().__init__(service_url, token)
        self.token = token
        self.recorder = recorder
        self.url = recorder.url

    def create(self, *names: str, **lists: list[str]) -> None:  # type: ignore[override]
        """Create domains and mailboxes by name; with `emails` or `members`, one with those."""
        for name in names:
            super().create(name, **lists)

    def clear(self) -> None:
        """Delete all that the tenant holds, and have the recorder forget exchanges and faults."""
        super().clear()
        self.recorder.take()
        self.recorder.heal()

    def run(self, module: str, *, check: bool = False, **options: Any) -> dict[str, Any]:
        """Run a module against the tenant, through the recorder, and return its result."""
        main = importlib.import_module(f"{MODULES}.{module}").main
        access = {"api_url": self.url, "api_token": self.token}
        result = run_module(main, {**access, **options}, check=check, diff=True)
        result.pop("invocation", None)
        return result


def _as_sets(row: Shape) -> Shape:
    return {k: frozenset(v) if isinstance(v, list) else v for k, v in row.items()}
