# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The hostile mail APIs are hostile in the way that each test asks for, and in no other."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.client import HTTPConnection, IncompleteRead
from typing import Any

import pytest

from ansible_collections.postroom.email.tests.fakes.mail_api.fussy import Fussy, service_of
from ansible_collections.postroom.email.tests.fakes.mail_api.quirky import (
    QuirkyService,
    mailbox,
)
from ansible_collections.postroom.email.tests.fakes.mail_api.scripted import (
    HANG,
    RESET,
    Reply,
    Script,
    ScriptedServer,
    json_reply,
    problem,
    scripted,
)
from ansible_collections.postroom.email.tests.fakes.mail_api.spoiler import spoiled

ALICE, PATH = "alice@example.com", "/api/principal/alice%40example.com"


def ask(url: str, method: str, target: str, body: Any = None, *, seconds: float = 20) -> Any:
    """Send a request; return the status and the body of the response."""
    connection = HTTPConnection(url.removeprefix("http://"), timeout=seconds)
    try:
        connection.request(method, target, json.dumps(body) if body else None)
        answer = connection.getresponse()
        content = answer.read()
        return answer.status, json.loads(content) if content else None
    finally:
        connection.close()


@pytest.fixture
def service() -> QuirkyService:
    """Return a service with a domain and a mailbox."""
    return service_of(mailbox(ALICE, "sales@example.com"))


@pytest.fixture
def server(service: QuirkyService) -> Iterator[ScriptedServer]:
    """Serve it."""
    with scripted(service) as server:
        yield server


def test_the_service_without_quirks_keeps_the_contract(server: ScriptedServer) -> None:
    """Names are unique over all addresses, domains must exist, and a primary address stays."""
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
        assert ask(server.url, method, target, body)[0] == status, (method, body)
    _status, rows = ask(server.url, "GET", "/api/principal?type=individual")
    assert [row["name"] for row in rows] == ["bob@example.com"]


def test_a_disturbance_is_before_or_after_the_effect(
    service: QuirkyService, server: ScriptedServer
) -> None:
    """An error can hide a request that was carried out, which is an unknown outcome."""
    service.disturb("DELETE", problem(503))
    service.disturb("DELETE", problem(503), effect=True)
    for survives in (True, False):
        assert ask(server.url, "DELETE", PATH)[0] == 503
        assert (ALICE in service.principals) is survives


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (RESET, ConnectionError),
        (HANG, TimeoutError),
        (Reply(200, b"{}", missing=5), IncompleteRead),
    ],
)
def test_transport_faults_reach_the_client(reply: Reply, error: Any) -> None:
    """Resets, delays and incomplete bodies look like the network's."""
    with scripted(lambda _request: reply) as server, pytest.raises(error):
        ask(server.url, "GET", "/", seconds=0.3)


def test_a_script_is_exact() -> None:
    """A request that the script does not expect, or one that does not come, fails the test."""
    with (
        pytest.raises(AssertionError, match="unexpected"),
        scripted(Script(("GET", "/a", json_reply([])))) as server,
    ):
        assert ask(server.url, "GET", "/b")[0] == 599


def test_the_proxies_pass_everything_else_on(
    service: QuirkyService, server: ScriptedServer
) -> None:
    """Fussy refuses by method and name; a spoiler acts once, before or after the service."""
    with scripted(Fussy(service, {f"DELETE /api/principal/{ALICE}": problem(403)})) as fussy:
        assert ask(fussy.url, "DELETE", PATH)[0] == 403
        assert ask(fussy.url, "GET", PATH)[0] == 200
    with spoiled(server.url) as spoiler:
        spoiler.spoil(problem(500), part="DELETE", after=True)
        assert [ask(spoiler.url, "DELETE", PATH)[0] for _time in range(2)] == [500, 404]
        assert spoiler.take() == [f"DELETE {PATH}"] * 2
