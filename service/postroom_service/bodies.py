# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""From the bytes of a request to the JSON value in them, strictly."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, NoReturn

from starlette.requests import Request

from .problems import Problem

MAX_BODY = 1024 * 1024
MAX_DEPTH = 8


async def read(request: Request) -> bytes:
    """Read the body, up to its limit."""
    declared = request.headers.get("content-length", "0")
    if declared.isdecimal() and int(declared) > MAX_BODY:
        _too_large()
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_BODY:
            _too_large()
    return bytes(body)


def parse(content_type: str | None, body: bytes) -> Any:
    """Decode JSON, refusing other media types, doubled keys, deep nesting and NaN."""
    if not _is_json(content_type):
        raise Problem(
            "unsupported_media_type",
            "Send Content-Type: application/json.",
            headers={"Accept": "application/json"},
        )
    try:
        value = json.loads(
            body.decode("utf-8"), object_pairs_hook=_object, parse_constant=_constant
        )
    except RecursionError:
        _too_deep()
    except ValueError:
        raise Problem("malformed_json", "The body can't be read as JSON in UTF-8.") from None
    _check_depth(value)
    return value


def _is_json(content_type: str | None) -> bool:
    media, _, parameters = (content_type or "").partition(";")
    charset = parameters.strip().lower().replace('"', "")
    return media.strip().lower() == "application/json" and charset in ("", "charset=utf-8")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise Problem("duplicate_key", "Each key of a JSON object is given once.")
    return value


def _constant(_name: str) -> NoReturn:
    raise ValueError("NaN and Infinity are not JSON")


def _check_depth(value: Any) -> None:
    level: list[Any] = [value]
    for _ in range(MAX_DEPTH):
        level = [child for item in level for child in _children(item)]
        if not level:
            return
    _too_deep()


def _children(item: Any) -> Iterable[Any]:
    if isinstance(item, dict):
        return item.values()
    return item if isinstance(item, list) else ()


def _too_deep() -> NoReturn:
    raise Problem("too_deep", f"The JSON is nested at most {MAX_DEPTH} levels deep.")


def _too_large() -> NoReturn:
    raise Problem("body_too_large", f"A body has at most {MAX_BODY} bytes.")
