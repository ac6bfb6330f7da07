# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The HTTP server of the Web API and of response URLs, on a loopback port."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from ansible_collections.postroom.email.tests.fakes import http_server
from ansible_collections.postroom.email.tests.fakes.http_server import RESET, Reply, Request

from . import webapi
from .faults import Faults
from .world import World

API = "/api/"
RESPONSES = "/response/"


@contextmanager
def serving(world: World, faults: Faults) -> Iterator[str]:
    """Serve for the length of a block; yield the address."""
    with http_server.serving(lambda request: _answer(world, faults, request)) as server:
        try:
            yield server.url
        finally:
            faults.closing.set()


def _answer(world: World, faults: Faults, request: Request) -> Reply:
    """Answer a call, or have it fail."""
    path = urlsplit(request.target).path
    method = path.removeprefix(API) if path.startswith(API) else "response_url"
    fault = faults.take(method)
    if fault is None or fault.after_effect:
        reply = _carry_out(world, path, request)
    if fault is None:
        return reply
    world.note(f"fault {method}", f"{fault.status or 'connection cut'}")
    faults.closing.wait(fault.seconds)
    return _reply(fault.status, fault.body, fault.headers) if fault.status else RESET


def _carry_out(world: World, path: str, request: Request) -> Reply:
    try:
        args = _arguments(request)
    except ValueError:
        return _reply(HTTPStatus.OK, '{"ok":false,"error":"invalid_json"}')
    if path.startswith(RESPONSES):
        return _reply(*webapi.respond(world, path.removeprefix(RESPONSES), args))
    if not path.startswith(API):
        return _reply(HTTPStatus.NOT_FOUND, "not found")
    scheme, _space, token = request.headers.get("authorization", "").partition(" ")
    shown = token if scheme == "Bearer" else str(args.pop("token", ""))
    method, read = path.removeprefix(API), webapi.unpacked(args)
    return _reply(HTTPStatus.OK, json.dumps(webapi.call(world, method, shown, read)))


def _arguments(request: Request) -> dict[str, Any]:
    """Return the arguments of a call: a query, a form or JSON."""
    if request.method == "GET":
        return dict(parse_qsl(urlsplit(request.target).query))
    if request.headers.get("content-type", "").startswith("application/json"):
        return dict(request.json or {})
    return dict(parse_qsl(request.body.decode()))


def _reply(status: int, body: str, headers: dict[str, str] | None = None) -> Reply:
    kind = "application/json" if body.startswith("{") else "text/plain"
    shown = {"Content-Type": f"{kind}; charset=utf-8", "Connection": "close", **(headers or {})}
    return Reply(status, body.encode(), shown, close=True)
