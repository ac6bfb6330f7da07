# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A client of the service for its tests, independent of the project's own client."""

from __future__ import annotations

import itertools
import ssl
from collections.abc import Sequence
from typing import Any, Self
from urllib.parse import quote

import httpx

# All calls use the loopback interface, so there is no need to load certificates.
TRUST = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
SECRET = "correct-horse-battery-staple"

_numbers = itertools.count(1)


def unused_domain() -> str:
    """Return a domain name that no other test in this run uses."""
    return f"d{next(_numbers)}.example"


class Api:
    """API access for one tenant."""

    def __init__(self, url: str, token: str) -> None:
        headers = {"Authorization": f"Bearer {token}"}
        self.http = httpx.Client(base_url=url, headers=headers, timeout=60, verify=TRUST)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.http.close()

    def call(self, method: str, path: str, body: Any = None, **more: Any) -> httpx.Response:
        """Send a request, with a JSON body if there is one."""
        if body is not None:
            more["json"] = body
        return self.http.request(method, path, **more)

    def create(self, body: Any) -> httpx.Response:
        """POST a principal."""
        return self.call("POST", "/api/principal", body)

    def get(self, name: str) -> httpx.Response:
        """GET a principal."""
        return self.call("GET", path_of(name))

    def patch(self, name: str, **changes: Any) -> httpx.Response:
        """PATCH a principal."""
        return self.call("PATCH", path_of(name), changes)

    def delete(self, name: str) -> httpx.Response:
        """DELETE a principal."""
        return self.call("DELETE", path_of(name))

    def dns(self, domain: str) -> httpx.Response:
        """GET the DNS records of a domain."""
        return self.call("GET", f"/api/dns/{quote(domain, safe='')}")

    def listing(self, **parameters: str) -> list[dict[str, Any]]:
        """GET all principals."""
        response = self.call("GET", "/api/principal", params=parameters)
        assert response.status_code == 200
        principals: list[dict[str, Any]] = response.json()
        return principals

    def domain(self, name: str | None = None) -> str:
        """Register a domain, and return its name."""
        name = name or unused_domain()
        assert self.create({"name": name, "type": "domain"}).status_code == 201
        return name

    def mailbox(self, name: str, *aliases: str, secrets: Sequence[str] = (SECRET,)) -> str:
        """Create a mailbox, and return its name."""
        assert self.create(mailbox_body(name, *aliases, secrets=secrets)).status_code == 201
        return name

    def forwarder(self, name: str, members: Sequence[str], *aliases: str) -> str:
        """Create a forwarder, and return its name."""
        assert self.create(forwarder_body(name, members, *aliases)).status_code == 201
        return name


def mailbox_body(name: str, *aliases: str, secrets: Sequence[str] = (SECRET,)) -> dict[str, Any]:
    """Return the request body that creates a mailbox."""
    emails = [name, *aliases]
    return {"name": name, "type": "individual", "secrets": list(secrets), "emails": emails}


def forwarder_body(name: str, members: Sequence[str], *aliases: str) -> dict[str, Any]:
    """Return the request body that creates a forwarder."""
    emails = [name, *aliases]
    return {"name": name, "type": "individual", "emails": emails, "members": list(members)}


def path_of(name: str) -> str:
    """Return the path of a principal."""
    return f"/api/principal/{quote(name, safe='')}"


def check_problem(
    response: httpx.Response, status: int, code: str, pointer: str | None = None
) -> None:
    """Check that a response is the expected problem document."""
    problem = response.json()
    assert (response.status_code, problem.get("code")) == (status, code), response.text
    assert response.headers["Content-Type"] == "application/problem+json"
    assert problem["type"] == f"urn:postroom:problem:{code}"
    assert problem["status"] == status
    assert problem["title"]
    assert problem["detail"].endswith(".")
    if pointer is not None:
        assert pointer in [error["pointer"] for error in problem["errors"]]
