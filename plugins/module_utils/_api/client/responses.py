# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""From an HTTP answer to the call's result, or to the one error that says what happened.

The body is decoded first and classified then, since servers of this family report errors under
status 200 too. "Not there" is only believed where the answer is JSON (or empty) and speaks of the
name that was asked for.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from typing import Any, NamedTuple, TypeVar

from .. import errors
from ..names import read_name
from .endpoints import Call, Unreadable

T = TypeVar("T")

_THROTTLE_WORDS = re.compile(r"rate.?limit|too many|throttl|slow down", re.IGNORECASE)
_MOST_SEARCHED = 4096
_TITLE = re.compile(r"<title[^>]*>(.*?)</title>", re.IGNORECASE | re.DOTALL)
#: What servers of this family call their errors. Other words are some framework's.
_WORDS = ("notFound", "fieldAlreadyExists", "fieldMissing", "unsupported", "assertFailed", "other")
_LOOKS_LIKE_JSON = re.compile(r'["{}\[\]]')
_DETAIL_KEYS = ("detail", "details", "reason", "message", "title", "error")


class Answer(NamedTuple):
    """An HTTP answer, read to its end. Header names are lower-case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


def read_answer(call: Call[T], answer: Answer, secrets: Sequence[str] = ()) -> T:
    """Return what the call answers.

    :param secrets: values besides the call's own that no error may show
    :raises ServiceError: the answer is a failure, or no answer of this interface
    """
    body, text = _decode(answer.body)
    error = _classify(call, answer, body, text)
    if error is None:
        try:
            return call.read(_unwrap(body))
        except Unreadable as unreadable:
            error = (errors.BadAnswer, f"{_OTHER_SERVER} {unreadable}")
    kind, advice = error
    wait = _retry_after(answer.headers)
    if wait is not None:
        advice = f"It asks to wait {wait:.0f} s. {advice}"
    hidden = [*call.secrets, *secrets, *_secrets_in(_unwrap(body))]
    detail = errors.redact(_detail(body, text), hidden)
    raise kind(
        errors.hide(_sentence(call, answer.status, detail, advice), hidden),
        errors.Failure(
            kind.__name__, answer.status, call.method, errors.hide(call.path, hidden), detail
        ),
        retry_after=wait,
    )


_IN_USE = (
    "It is in use: by another tenant, or since a moment ago. Choose another name or address, "
    "or ask the service's operator."
)
_OTHER_SERVER = "The answer is not one of this API; check api_url and any proxy before it:"


def _decode(body: bytes) -> tuple[Any, str | None]:
    """Return the JSON value, or the text where the body is not JSON; (None, None) if empty."""
    if not body.strip():
        return None, None
    try:
        return json.loads(body), None
    except (ValueError, RecursionError):
        return None, body.decode("utf-8", "replace")


def _unwrap(body: Any) -> Any:
    return body["data"] if isinstance(body, dict) and "data" in body else body


def _secrets_in(body: Any) -> list[str]:
    """Return the passwords or hashes that a server hands out with a principal."""
    value = body.get("secrets") if isinstance(body, dict) else None
    values = value if isinstance(value, list) else [value]
    return [secret for secret in values if isinstance(secret, str)]


def _classify(
    call: Call[Any], answer: Answer, body: Any, text: str | None
) -> tuple[type[errors.ServiceError], str] | None:
    """Return the error's class and the advice that goes with it, or None for a success."""
    status = answer.status
    word = body.get("error") if isinstance(body, dict) and "data" not in body else None
    if 300 <= status < 400:
        target = answer.headers.get("location", "an address it does not name")
        base = target.removesuffix(call.path)
        is_api = base != target and "?" not in base and base.startswith(("http://", "https://"))
        advice = f"set api_url to {base}" if is_api else "set api_url to the API's own address"
        return errors.BadAnswer, f"It redirects to {target}; {advice}."
    if text is not None and (status < 300 or status == 404):
        return errors.BadAnswer, f"{_OTHER_SERVER} it is not JSON."
    if status < 300:
        return _by_word(call, body, word) if word is not None else None
    if status in (400, 404, 422) and word in _WORDS:
        return _by_word(call, body, word)
    if status == 404:
        return _by_word(call, body, "notFound")
    return _by_status(answer, is_json=text is None)


def _by_word(call: Call[Any], body: Any, word: Any) -> tuple[type[errors.ServiceError], str]:
    if word == "fieldAlreadyExists":
        return errors.AlreadyExists, _IN_USE
    if word == "notFound" and _speaks_of_subject(call, body):
        return errors.NotFound, "Check the spelling and the token's tenant."
    if word == "notFound" and call.subject is None:
        return errors.BadAnswer, f"{_OTHER_SERVER} it has no list of principals."
    return errors.Rejected, "The service will not do this."


def _speaks_of_subject(call: Call[Any], body: Any) -> bool:
    """Tell whether a not-found is about the name in the call's path and nothing else."""
    if call.subject is None or call.method == "POST":
        return False
    item = body.get("item") if isinstance(body, dict) else None
    return item is None or (isinstance(item, str) and read_name(item) == call.subject)


def _by_status(answer: Answer, *, is_json: bool) -> tuple[type[errors.ServiceError], str]:
    status = answer.status
    if status == 401:
        return errors.Unauthorized, "Check api_token: it is wrong, expired or revoked."
    if status == 429 or (status == 403 and _THROTTLE_WORDS.search(_start_of(answer))):
        return errors.Throttled, "Try again later, or raise timeout and retries."
    if status == 403 and not is_json:
        return (
            errors.ProxyRefused,
            (
                "The API does not answer like this: a proxy or firewall in front of it has "
                "probably refused the request, so ask its operator. If there is none, use a token "
                "that has this permission."
            ),
        )
    if status == 403:
        return errors.Forbidden, "Use an api_token that has this permission."
    if status == 409:
        return errors.AlreadyExists, _IN_USE
    if status >= 500:
        return errors.ServerFailed, "Try again; if it stays, ask the service's operator."
    return errors.Rejected, "The service will not do this."


def _start_of(answer: Answer) -> str:
    return answer.body[:_MOST_SEARCHED].decode("utf-8", "replace")


def _detail(body: Any, text: str | None) -> str:
    """Return what the server says of the failure; of an HTML page only its title."""
    if text is not None:
        title = _TITLE.search(text)
        if title:
            return title.group(1).strip()
        # What looks like a broken answer may hold what no error may show.
        return text if len(text) < 80 and not _LOOKS_LIKE_JSON.search(text) else ""
    if isinstance(body, dict):
        said = (body[key] for key in _DETAIL_KEYS if isinstance(body.get(key), str))
        return next(said, "").strip().rstrip(".")
    return ""


def _sentence(call: Call[Any], status: int, detail: str, advice: str) -> str:
    said = f" ({detail.rstrip('.')})" if detail else ""
    what = describe(call)
    return f"{what[0].upper()}{what[1:]} was answered with status {status}{said}. {advice}"


def describe(call: Call[Any]) -> str:
    """Return what a call does, in words: ``deleting alice@example.com``."""
    if call.subject is None:
        return "listing the tenant"
    if call.path.startswith("/api/dns/"):
        return f"reading the DNS records of {call.subject}"
    verb = {"GET": "reading", "POST": "creating", "PATCH": "changing", "DELETE": "deleting"}
    return f"{verb[call.method]} {call.subject}"


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds to wait that a ``Retry-After`` gives, as seconds or as a date."""
    value = headers.get("retry-after", "").strip()
    if not value:
        return None
    if value.isdecimal() and value.isascii():
        return float(value)
    # Imported at use: a module pays for each import, and dates are rare here.
    from email.utils import parsedate_to_datetime  # noqa: PLC0415

    try:
        when = parsedate_to_datetime(value)
    except (ValueError, OverflowError):
        return None
    if when.tzinfo is None:
        when = when.replace(tzinfo=timezone.utc)
    return max(0.0, (when - datetime.now(timezone.utc)).total_seconds())
