# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A tenant of the reference service for tests, and a way to run modules through a recorder.

The requests of `RecordedTenant` itself bypass the recorder and the client under test.
"""

from __future__ import annotations

import importlib
from typing import Any
from urllib.parse import quote

import httpx

from ansible_collections.postroom.email.tests.support.modules import run_module
from ansible_collections.postroom.email.tests.support.recording_proxy import Recorder

MODULES = "ansible_collections.postroom.email.plugins.modules"

#: A principal as the API returns it, with its lists as sets.
Shape = dict[str, Any]


class Api:
    """A minimal client of the mail API."""

    def __init__(self, url: str, token: str) -> None:
        # Avoid a race: the service may close an idle connection just as the next request is sent.
        headers = {"Authorization": f"Bearer {token}", "Connection": "close"}
        self._client = httpx.Client(base_url=url, headers=headers, timeout=60, trust_env=False)

    def close(self) -> None:
        """Close the connection."""
        self._client.close()

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """Send a request, which must succeed, and return the response body."""
        response = self._client.request(method, path, json=body)
        assert response.is_success, (method, path, response.text)
        return response.json()

    def listing(self) -> dict[str, Shape]:
        """Return all principals of the tenant by name."""
        rows = self.call("GET", "/api/principal")
        return {row["name"]: _as_sets(row) for row in rows}

    def create(
        self, name: str, emails: list[str] | None = None, members: list[str] | None = None
    ) -> None:
        """Create a domain, a mailbox or a forwarder, depending on the arguments."""
        body: Shape = {"name": name, "type": "individual" if "@" in name else "domain"}
        if "@" in name:
            body["emails"] = emails or [name]
            body |= {"members": members} if members else {"secrets": ["of no interest"]}
        self.call("POST", "/api/principal", body)

    def delete(self, name: str) -> None:
        """Delete a principal."""
        self.call("DELETE", f"/api/principal/{quote(name, safe='')}")

    def clear(self) -> None:
        """Delete all domains, and with them all other principals."""
        for name in self.listing():
            if "@" not in name:
                self.delete(name)


class RecordedTenant(Api):
    """A tenant of a running service, on which modules are run."""

    def __init__(self, service_url: str, token: str, recorder: Recorder) -> None:
        super().__init__(service_url, token)
        self.token = token
        self.recorder = recorder
        self.url = recorder.url

    def create(self, *names: str, **lists: list[str]) -> None:  # type: ignore[override]
        """Create domains and mailboxes by name, or forwarders if `members` is given."""
        for name in names:
            super().create(name, **lists)

    def clear(self) -> None:
        """Delete all principals, and the recorder's exchanges and faults."""
        super().clear()
        self.recorder.take()
        self.recorder.heal()

    def run(self, module: str, *, check: bool = False, **options: Any) -> dict[str, Any]:
        """Run a module against the tenant through the recorder, and return its result."""
        main = importlib.import_module(f"{MODULES}.{module}").main
        access = {"api_url": self.url, "api_token": self.token}
        result = run_module(main, {**access, **options}, check=check, diff=True)
        result.pop("invocation", None)
        return result


def _as_sets(row: Shape) -> Shape:
    return {k: frozenset(v) if isinstance(v, list) else v for k, v in row.items()}
