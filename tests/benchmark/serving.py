# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""How fast the reference service answers, against a server that does nothing.

Both are driven by the same load, with the same requests, over the same number of connections.
"""

from __future__ import annotations

from pathlib import Path

from ansible_collections.postroom.email.tests.benchmark import load, servers
from ansible_collections.postroom.email.tests.benchmark.measure import (
    Ratio,
    Timed,
    interleaved,
    timed,
)
from ansible_collections.postroom.email.tests.support.service import RunningService
from ansible_collections.postroom.email.tests.support.site import Api

DOMAIN = "serving.example"
MAILBOXES = 40
REQUESTS_PER_ITEM = 10

#: What each connection sends, by kind of request.
Loads = dict[str, list[list[bytes]]]


def prepare(service: RunningService) -> None:
    """Fill a tenant of its own size, whatever else has been measured before."""
    api = Api(service.url, service.token)
    api.clear()
    api.create(DOMAIN)
    for number in range(MAILBOXES):
        api.create(f"user{number}@{DOMAIN}")
    api.close()


def loads(service: RunningService) -> Loads:
    """Return what each connection sends. Each changes a mailbox of its own, to and fro."""

    def request(method: str, path: str, body: object = None) -> bytes:
        return load.request(service.url, service.token, method, path, body)

    made: Loads = {"GET one": [], "GET the list": [], "PATCH emails": []}
    for number in range(load.CONNECTIONS):
        name = f"user{number}@{DOMAIN}"
        path = f"/api/principal/{name}"
        lists = ([name, f"alias{number}@{DOMAIN}"], [name])
        made["GET one"].append([request("GET", path)])
        made["GET the list"].append([request("GET", "/api/principal")])
        made["PATCH emails"].append([request("PATCH", path, {"emails": x}) for x in lists])
    return made


def measure(service: RunningService, folder: Path, items: int, rounds: int) -> list[Ratio]:
    """Drive both servers in turn."""
    prepare(service)
    count = REQUESTS_PER_ITEM * items
    with servers.program(folder / "bare-answer", "bare.py") as bare_url:

        def driven(url: str, requests: list[list[bytes]]) -> Timed:
            return timed(lambda: load.drive(url, requests, count))

        things = {}
        for kind, requests in loads(service).items():
            things[kind] = driven(service.url, requests)
            things[f"bare {kind}"] = driven(bare_url, requests)
        seconds = interleaved(rounds, things)
    cost = {name: taken * 1000 / count for name, taken in seconds.items()}
    return [
        Ratio(f"service, {kind}", "bare ASGI answer", cost[kind], cost[f"bare {kind}"], "request")
        for kind in loads(service)
    ]
