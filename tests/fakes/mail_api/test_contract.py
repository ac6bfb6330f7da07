# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The fake mail APIs deviate from the contract only if a test asks for it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from ansible_collections.postroom.email.tests.fakes.mail_api.in_memory_service import (
    InMemoryService,
    mailbox,
)
from ansible_collections.postroom.email.tests.fakes.mail_api.refusing_service import service_of
from ansible_collections.postroom.email.tests.fakes.mail_api.scripted import (
    Script,
    ScriptedServer,
    json_reply,
    scripted,
)

ALICE, PATH = "alice@example.com", "/api/principal/alice%40example.com"


def ask(url: str, method: str, target: str, body: Any = None) -> int:
    """Send a request and return the status of the response."""
    with httpx.Client(base_url=url, trust_env=False) as client:
        return client.request(method, target, json=body).status_code


@pytest.fixture
def service() -> InMemoryService:
    """Return a service with a domain and a mailbox."""
    return service_of(mailbox(ALICE, "sales@example.com"))


@pytest.fixture
def server(service: InMemoryService) -> Iterator[ScriptedServer]:
    """Run a server for the service."""
    with scripted(service) as server:
        yield server


def test_the_service_without_quirks_keeps_the_contract(server: ScriptedServer) -> None:
    """Without quirks, names are unique, domains must exist and primary addresses can't change."""
    new = {"type": "individual", "name": "bob@example.com", "secrets": ["x"]}
    for method, target, body, status in (
        ("POST", "/api/principal", {**new, "emails": ["sales@example.com"]}, 409),
        ("POST", "/api/principal", {**new, "emails": ["bob@example.net"]}, 404),
        ("POST", "/api/principal", {**new, "secrets": []}, 400),
        ("POST", "/api/principal", new, 200),
        ("PATCH", PATH, {"emails": ["sales@example.com"]}, 400),
        ("PATCH", PATH, {"emails": [ALICE, "bob@example.com"]}, 409),
        ("DELETE", PATH, None, 200),
        ("GET", PATH, None, 404),
    ):
        assert ask(server.url, method, target, body) == status, (method, body)


def test_a_script_is_exact() -> None:
    """The test fails if an expected request is missing, or if a request is not in the script."""
    with (
        pytest.raises(AssertionError, match="unexpected"),
        scripted(Script(("GET", "/a", json_reply([])))) as server,
    ):
        assert ask(server.url, "GET", "/b") == 599
