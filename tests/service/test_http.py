# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The HTTP interface: paths, methods, headers, bodies and tokens."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Iterator
from urllib.parse import urlsplit

import httpx
import pytest

from ansible_collections.postroom.email.tests.service.api import TRUST, Api, check_problem
from ansible_collections.postroom.email.tests.support.service import RunningService

JSON = {"Content-Type": "application/json"}
ENDPOINTS = [
    *(("GET", "/api/principal"), ("POST", "/api/principal"), ("GET", "/api/dns/x")),
    *((method, "/api/principal/x") for method in ("GET", "PATCH", "DELETE")),
]

# These tests don't depend on the kind of database.
pytestmark = pytest.mark.parametrize("backend", ["file"], indirect=True, scope="session")


@pytest.fixture
def anonymous(service: RunningService) -> Iterator[httpx.Client]:
    """Provide a client without a token."""
    with httpx.Client(base_url=service.url, verify=TRUST) as client:
        yield client


def post(api: Api, content: bytes, headers: dict[str, str] | None = None) -> httpx.Response:
    """POST raw bytes."""
    return api.call(
        "POST", "/api/principal", content=content, headers=JSON if headers is None else headers
    )


def test_unknown_paths_are_problems_too(service: RunningService, anonymous: httpx.Client) -> None:
    """An unknown path returns a problem document with status 404, never a redirect."""
    for path in ("/", "/api/", "/api/principals", "/api/dns", "/docs", "//api/principal"):
        check_problem(anonymous.get(service.url + path), 404, "path_not_found")


@pytest.mark.parametrize(
    ("method", "path", "allow"),
    [
        ("PUT", "/api/principal", "GET, HEAD, POST"),
        ("POST", "/api/principal/x", "DELETE, GET, HEAD, PATCH"),
        ("POST", "/api/dns/x.example", "GET, HEAD"),
        ("DISPATCH", "/api/principal", "GET, HEAD, POST"),
        ("POST", "/healthz", "GET, HEAD"),
    ],
)
def test_other_methods_are_refused(api: Api, method: str, path: str, allow: str) -> None:
    """An unsupported method returns 405 with an Allow header."""
    response = api.call(method, path)
    check_problem(response, 405, "method_not_allowed")
    assert response.headers["Allow"] == allow


@pytest.mark.parametrize("value", [None, "", "Bearer", "Basic dTpw", "TOKEN"])
def test_a_token_is_required(anonymous: httpx.Client, value: str | None) -> None:
    """Without a bearer token, every endpoint returns 401 with a challenge."""
    headers = {} if value is None else {"Authorization": value}
    for method, path in ENDPOINTS:
        response = anonymous.request(method, path, headers=headers)
        check_problem(response, 401, "token_missing")
        assert response.headers["WWW-Authenticate"] == 'Bearer realm="postroom"'


def test_a_wrong_token_opens_nothing(api: Api) -> None:
    """A wrong token is refused before anything else in the request is checked."""
    for method, path in ENDPOINTS:
        response = api.call(method, f"{path}?y=z", headers={"Authorization": "Bearer nonsense"})
        check_problem(response, 401, "token_invalid")
        assert 'error="invalid_token"' in response.headers["WWW-Authenticate"]
    token = api.http.headers["Authorization"].split()[1]
    response = api.call("GET", "/api/principal", headers={"Authorization": f"bearer {token}"})
    assert response.status_code == 200


def test_the_token_is_checked_before_the_body_is_read(service: RunningService) -> None:
    """A wrong token is refused before the body is read."""
    where = urlsplit(service.url)
    with socket.create_connection((where.hostname, where.port), timeout=60) as connection:
        head = "POST /api/principal HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n"
        connection.sendall(f"{head}Authorization: Bearer nonsense\r\n\r\n".encode())
        assert connection.recv(4096).startswith(b"HTTP/1.1 401 ")


def test_bodies_are_json(api: Api) -> None:
    """A body must have the JSON content type. The only allowed charset is UTF-8."""
    for media in ("text/plain", "application/json; charset=latin-1", "json", None):
        headers: dict[str, str] = {} if media is None else {"Content-Type": media}
        response = post(api, b'{"name": "x.example", "type": "domain"}', headers)
        check_problem(response, 415, "unsupported_media_type")
        assert response.headers["Accept"] == "application/json"
    assert api.listing() == []
    for media in ("application/json; charset=utf-8", 'Application/JSON;charset="UTF-8"'):
        check_problem(post(api, b"[]", {"Content-Type": media}), 422, "validation_failed")


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"", "malformed_json"),
        (b"{", "malformed_json"),
        (b'{"name": NaN}', "malformed_json"),
        (b'{"name": "\xff"}', "malformed_json"),
        (b'\xef\xbb\xbf{"name": "x"}', "malformed_json"),
        ('{"name": "x"}'.encode("utf-16"), "malformed_json"),
        (b'{"name": ' + b"9" * 5000 + b"}", "malformed_json"),
        (b'{"name": "a.example", "type": "domain", "name": "b.example"}', "duplicate_key"),
        (b'{"emails": ' + b"[" * 9 + b"]" * 9 + b"}", "too_deep"),
        (b"[" * 100_000 + b"]" * 100_000, "too_deep"),
    ],
)
def test_json_is_read_strictly(api: Api, content: bytes, code: str) -> None:
    """Duplicate keys and other deviations from strict JSON are refused."""
    check_problem(post(api, content), 400, code)
    assert api.listing() == []


def test_odd_values_are_refused(api: Api) -> None:
    """Lone surrogates, NUL characters and huge numbers are refused."""
    for name in ('"\\ud800.example"', '"a\\u0000.example"', "1e999", "[[[]]]"):
        content = f'{{"name": {name}, "type": "domain"}}'.encode()
        check_problem(post(api, content), 422, "validation_failed", "/name")
    path = f"/api/principal/{api.mailbox(f'ann@{api.domain()}')}"
    response = api.call("PATCH", path, content=b'{"secrets": ["\\ud800"]}', headers=JSON)
    check_problem(response, 422, "validation_failed", "/secrets/0")


def test_large_bodies_are_refused_and_the_connection_lives_on(api: Api) -> None:
    """A body larger than 1 MiB is refused, whether or not its length is declared."""
    filling = b'{"name": "' + b"x" * 1024 * 1024 + b'"}'
    check_problem(post(api, filling), 413, "body_too_large")
    chunked = api.call(
        "POST", "/api/principal", content=iter([filling[:500_000], filling]), headers=JSON
    )
    check_problem(chunked, 413, "body_too_large")
    assert api.listing() == []


def test_every_answer_has_a_request_id(api: Api, anonymous: httpx.Client) -> None:
    """Every response, even that of the health check, has a request ID and forbids caching."""
    responses = [api.call("GET", path) for path in ("/api/principal", "/nothing")]
    responses.append(anonymous.get("/healthz"))
    assert (responses[-1].status_code, responses[-1].json()) == (200, {"status": "ok"})
    assert len({response.headers["X-Request-Id"] for response in responses}) == 3
    assert {response.headers["Cache-Control"] for response in responses} == {"no-store"}
    assert all("Server" not in response.headers for response in responses)


def test_a_request_that_ends_early_changes_nothing(api: Api, service: RunningService) -> None:
    """An incomplete request changes nothing, and is not logged as a failure of the service."""
    where = urlsplit(service.url)
    with socket.create_connection((where.hostname, where.port), timeout=60) as connection:
        token = f"Authorization: {api.http.headers['Authorization']}"
        body = "Content-Type: application/json\r\nContent-Length: 50\r\nExpect: 100-continue"
        head = f"POST /api/principal HTTP/1.1\r\nHost: x\r\n{token}\r\n{body}\r\n\r\n"
        connection.sendall(head.encode())
        # From here on, the service waits for the body.
        assert connection.recv(4096).startswith(b"HTTP/1.1 100 ")
        before = len(service.log())
        connection.sendall(b'{"name": "early.example", "type": "domain"}')
    service.wait_until(lambda: '"status": 400' in service.log()[before:], 60)
    assert '"error"' not in service.log()[before:]
    assert api.listing() == []


def test_bytes_that_are_no_request_are_refused(service: RunningService) -> None:
    """The HTTP server responds with 400 to data that is not a request."""
    where = urlsplit(service.url)
    with socket.create_connection((where.hostname, where.port), timeout=60) as connection:
        connection.sendall(b"GET /api/principal\x01 HTTP/9\r\n\r\n")
        answer = b"".join(iter(lambda: connection.recv(4096), b""))
    assert answer.startswith(b"HTTP/1.1 400 ")


def test_requests_are_logged_without_names(api: Api, service: RunningService) -> None:
    """A request is logged with the path's template, the status and the tenant, but no names."""
    name = api.domain()
    number = api.get(name).headers["X-Request-Id"]
    api.listing()  # A request is logged after its response, and before the next request.
    lines = [line for line in service.log_path.read_text().splitlines() if number in line]
    line = json.loads(lines[0])
    assert len(lines) == 1
    assert (line["event"], line["method"], line["status"]) == ("request", "GET", 200)
    assert line["path"] == "/api/principal/{name}"
    assert line["tenant"]
    assert line["ms"] > 0
    assert not re.search(re.escape(name), service.log_path.read_text())
