# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Convert error responses of the mail API to exceptions.

Some servers send errors with status 200. A not-found error is only accepted if it concerns the
requested name and the response is JSON or empty.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from typing import Any

from .. import errors
from ..names import read_name
from .endpoints import Call, ErrorResponse, InvalidResponse, Response, decode, describe, error_code

_THROTTLED = re.compile(r"rate.?limit|too many|throttl|slow down", re.IGNORECASE)
_TITLE = re.compile(r"<title[^>]*>(.*?)</title>", re.IGNORECASE | re.DOTALL)
_JSON_SIGNS = re.compile(r'["{}\[\]]')
#: The error codes of the mail API. Other codes come from a web framework.
_CODES = ("notFound", "fieldAlreadyExists", "fieldMissing", "unsupported", "assertFailed", "other")
_DETAIL_KEYS = ("detail", "details", "reason", "message", "title", "error")

_IN_USE = (
    "It is already in use, perhaps by another tenant. Choose another name or address, or ask the "
    "operator of the service."
)
_NOT_THE_API = (
    "This does not look like a response from the mail API (check api_url and any proxy in between):"
)
_REJECTED = "The service refuses to do this."
_BY_PROXY = (
    "This does not look like a response from the mail API. A proxy or firewall has probably "
    "refused the request: ask its operator. Without a proxy or firewall, use an api_token with the "
    "required permission."
)
_BY_STATUS: dict[int, tuple[type[errors.ServiceError], str]] = {
    401: (
        errors.Unauthorized,
        "Check api_url, and check api_token: it is wrong, expired or revoked.",
    ),
    403: (errors.Forbidden, "Use an api_token with the required permission."),
    409: (errors.AlreadyExists, _IN_USE),
    429: (errors.Throttled, "Try again later, or raise timeout and retries."),
    500: (errors.ServerFailed, "Try again. If this persists, ask the operator of the service."),
}


def failure_of(
    call: Call[Any], response: Response, reason: InvalidResponse, secrets: Sequence[str]
) -> errors.ServiceError:
    """Return the exception for a response that is an error or has an unexpected format.

    :param secrets: values to redact, in addition to the call's own secrets
    """
    body, text = decode(response.body)
    kind: type[errors.ServiceError] = errors.BadAnswer
    advice = f"{_NOT_THE_API} {reason}."
    if isinstance(reason, ErrorResponse):
        kind, advice = _classify(call, response, body, text)
    wait = _retry_after(response.headers)
    if wait is not None:
        advice = f"The service requests a pause of {wait:.0f} s. {advice}"
    # A server may include passwords or their hashes in a principal.
    content = body.get("data", body) if isinstance(body, dict) else None
    stored = content.get("secrets") if isinstance(content, dict) else None
    stored = stored if isinstance(stored, list) else [stored]
    hidden = [*call.secrets, *secrets, *(each for each in stored if isinstance(each, str))]
    detail = errors.redact(_detail(body, text), hidden)
    # Other errors concern the api_url or the api_token, which may belong to different services.
    is_about_object = issubclass(kind, (errors.AlreadyExists, errors.NotFound, errors.Rejected))
    place = "" if is_about_object else f" at {response.service}"
    message = f"{describe(call)}{place} failed with status {response.status}"
    message += f" ({detail.rstrip('.')}). {advice}" if detail else f". {advice}"
    return kind(
        errors.hide(message[0].upper() + message[1:], hidden),
        errors.Failure(response.status, call.method, errors.hide(call.path, hidden), detail),
        retry_after=wait,
    )


def _classify(
    call: Call[Any], response: Response, body: Any, text: str | None
) -> tuple[type[errors.ServiceError], str]:
    status = response.status
    code = error_code(body)
    if 300 <= status < 400:
        target = response.headers.get("location", "an unnamed address")
        base = target.removesuffix(call.path)
        is_api = base != target and "?" not in base and base.startswith(("http://", "https://"))
        advice = f"set api_url to {base}" if is_api else "set api_url to the API's own address"
        return errors.BadAnswer, f"The service redirects to {target}; {advice}."
    if text is not None and (status < 300 or status == 404):
        return errors.BadAnswer, f"{_NOT_THE_API} it is not JSON."
    if status < 300 or status == 404 or (status in (400, 422) and code in _CODES):
        return _by_code(call, body, "notFound" if status == 404 and code not in _CODES else code)
    start = response.body[:4096].decode("utf-8", "replace")
    if status == 403 and _THROTTLED.search(start):
        status = 429
    if status == 403 and text is not None:
        return errors.ProxyRefused, _BY_PROXY
    return _BY_STATUS.get(min(status, 500), (errors.Rejected, _REJECTED))


def _by_code(call: Call[Any], body: Any, code: Any) -> tuple[type[errors.ServiceError], str]:
    if code == "fieldAlreadyExists":
        return errors.AlreadyExists, _IN_USE
    if code != "notFound":
        return errors.Rejected, _REJECTED
    if call.subject is None:
        return errors.BadAnswer, f"{_NOT_THE_API} it has no list of principals."
    item = body.get("item") if isinstance(body, dict) else None
    is_about_subject = item is None or (isinstance(item, str) and read_name(item) == call.subject)
    if call.method != "POST" and is_about_subject:
        return errors.NotFound, "Check the spelling, and which tenant the token belongs to."
    return errors.Rejected, _REJECTED


def _detail(body: Any, text: str | None) -> str:
    """Return the server's description of the error, or the title of an HTML page."""
    if text is not None:
        title = _TITLE.search(text)
        if title:
            return title.group(1).strip()
        # Truncated JSON may contain secrets that can't be recognized.
        return text if len(text) < 80 and not _JSON_SIGNS.search(text) else ""
    if isinstance(body, dict):
        details = (body[key] for key in _DETAIL_KEYS if isinstance(body.get(key), str))
        return next(details, "").strip().rstrip(".")
    return ""


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the wait in seconds that a ``Retry-After`` header requests, or None."""
    value = headers.get("retry-after", "").strip()
    if not value:
        return None
    if value.isdecimal() and value.isascii():
        return float(value)
    # Import this only here, because dates are rare and the import is slow.
    from email.utils import parsedate_to_datetime  # noqa: PLC0415

    try:
        when = parsedate_to_datetime(value)
    except (ValueError, OverflowError):
        return None
    if when.tzinfo is None:
        when = when.replace(tzinfo=timezone.utc)
    return max(0.0, (when - datetime.now(timezone.utc)).total_seconds())
