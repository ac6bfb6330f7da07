# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The examples in the description of the API work with the reference service."""

from __future__ import annotations

import contextlib
import http.client
import json
import re
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

from ansible_collections.postroom.email.tests.docs import fenced_blocks
from ansible_collections.postroom.email.tests.support import repository
from ansible_collections.postroom.email.tests.support.service import (
    RunningService,
    running_service,
)
from postroom_service.openapi import DOCUMENT

PAGE = repository.ROOT / "docs" / "reference" / "api.md"
HOST_NAMES = ("--mail-host", "mail.example.net", "--service-domain", "spf.example.net")
_KEY = re.compile(r"p=[A-Za-z0-9+/=]{300,}")


class Message(NamedTuple):
    """A request or a response. The first line consists of its method and path, or its status."""

    first: list[str]
    headers: dict[str, str]
    body: Any


def parse(text: str) -> Message:
    """Return the message in a fenced block."""
    head, _, body = text.partition("\n\n")
    first, *headers = head.splitlines()
    pairs = (line.split(": ", 1) for line in headers)
    return Message(first.split(), dict(pairs), json.loads(body) if body else None)


def examples() -> list[tuple[Message, Message]]:
    """Return the pairs of a request and its response on the page."""
    messages = [parse(block.text) for block in fenced_blocks.blocks("http", file=PAGE)]
    return list(zip(messages[::2], messages[1::2], strict=True))


def send(service: RunningService, request: Message) -> tuple[int, dict[str, str], Any]:
    """Send a request and return the response, with a placeholder for the DKIM key."""
    method, path, _version = request.first
    headers = {
        name: value.replace("ACCESS_TOKEN", service.token)
        for name, value in request.headers.items()
    }
    body = None if request.body is None else json.dumps(request.body)
    connection = http.client.HTTPConnection(service.url.removeprefix("http://"), timeout=60)
    with contextlib.closing(connection):
        connection.request(method, path, body, headers)
        response = connection.getresponse()
        text = _KEY.sub("p=PUBLIC_KEY", response.read().decode())
    return response.status, dict(response.getheaders()), json.loads(text)


def test_the_examples_of_the_api_work(tmp_path: Path) -> None:
    """A new tenant responds to the requests on the page exactly as shown."""
    with running_service(tmp_path, extra_args=HOST_NAMES) as service:
        for request, shown in examples():
            status, headers, body = send(service, request)
            assert (status, body) == (int(shown.first[1]), shown.body), request
            names = {name.lower(): value for name, value in headers.items()}
            assert {name: names[name.lower()] for name in shown.headers} == shown.headers


def test_every_endpoint_of_the_api_has_an_example() -> None:
    """The page lists the endpoints in the OpenAPI document, and has an example of each."""
    paths = {path: item for path, item in DOCUMENT["paths"].items() if path.startswith("/api/")}
    endpoints = {(method.upper(), path) for path, item in paths.items() for method in item} - {
        ("PARAMETERS", path) for path in paths
    }
    listed = re.findall(r"^\| ([A-Z]+) \| `(/api/\S+)` \|", PAGE.read_text("utf-8"), re.MULTILINE)
    assert set(listed) == endpoints
    requested = [f"{request.first[0]} {unquote(request.first[1])}" for request, _ in examples()]
    for method, path in endpoints:
        pattern = method + " " + re.sub(r"{\w+}", "[^/]+", path) + r"(\?.*)?"
        assert any(re.fullmatch(pattern, request) for request in requested), pattern
