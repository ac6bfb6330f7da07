# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What an answer is taken for: the body is decoded first and classified then."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone
from email.utils import format_datetime
from typing import Any

import pytest

from ansible_collections.postroom.email.plugins.module_utils._api import errors
from ansible_collections.postroom.email.plugins.module_utils._api.models import (
    Domain,
    Forwarder,
    Mailbox,
)
from ansible_collections.postroom.email.plugins.module_utils._api.names import (
    parse_address,
    parse_domain,
)
from ansible_collections.postroom.email.plugins.module_utils._api.wire import calls
from ansible_collections.postroom.email.plugins.module_utils._api.wire.answers import (
    Answer,
    read_answer,
)

ALICE = parse_address("alice@example.com")
HOME = parse_domain("example.com")
PASSWORD = 'pw-"8Kd"\\q0/Zébra'
TOKEN = "tok-Qw7/zX%41+9vLpE3"

GET = calls.get(ALICE)
LIST = calls.list_page()
DNS = calls.dns_records(HOME)
CREATE = calls.create(Mailbox(ALICE), (PASSWORD,))
UPDATE = calls.update(ALICE, addresses=frozenset())
DELETE = calls.delete(ALICE)

PAGE = b"<html><head><title>404 Not Found</title></head><body>nginx</body></html>"
NOT_FOUND = {"error": "notFound", "item": "alice@example.com"}
PROBLEM = {"type": "about:blank", "title": "Not Found", "status": 404}
LONG = "The client has sent more than its share and is asked to wait. " * 2

#: Call, status, body, and what it is taken for.
FAILURES: list[tuple[calls.Call[Any], int, Any, type[errors.ServiceError]]] = [
    # A not-found counts for the very name that was asked for, and never as a page.
    (GET, 404, None, errors.NotFound),
    (GET, 404, PROBLEM, errors.NotFound),
    (GET, 404, {"detail": "Not Found"}, errors.NotFound),
    (GET, 404, {"error": "Not Found"}, errors.NotFound),
    (GET, 404, {"error": {"code": "not_found"}}, errors.NotFound),
    (GET, 404, NOT_FOUND, errors.NotFound),
    (GET, 200, NOT_FOUND, errors.NotFound),
    (GET, 400, NOT_FOUND, errors.NotFound),
    (GET, 200, {"error": "notFound", "item": "ALICE@Example.com"}, errors.NotFound),
    (GET, 200, {"error": "notFound"}, errors.NotFound),
    (GET, 200, {"error": "notFound", "item": "bob@example.com"}, errors.Rejected),
    (GET, 404, {"error": "notFound", "item": "example.com"}, errors.Rejected),
    (GET, 500, NOT_FOUND, errors.ServerFailed),
    (GET, 404, PAGE, errors.BadAnswer),
    (GET, 404, b"404 page not found", errors.BadAnswer),
    (GET, 404, b'{"type": "about', errors.BadAnswer),
    (DELETE, 404, PROBLEM, errors.NotFound),
    (DELETE, 404, PAGE, errors.BadAnswer),
    (DELETE, 200, NOT_FOUND, errors.NotFound),
    (DNS, 404, PROBLEM, errors.NotFound),
    (DNS, 200, {"error": "notFound", "item": "example.com"}, errors.NotFound),
    (UPDATE, 200, {"error": "notFound", "item": "elsewhere.example"}, errors.Rejected),
    (CREATE, 200, {"error": "notFound", "item": "example.com"}, errors.Rejected),
    (CREATE, 404, PROBLEM, errors.Rejected),
    (LIST, 404, PROBLEM, errors.BadAnswer),
    (LIST, 200, {"error": "notFound", "item": "x"}, errors.BadAnswer),
    # Words in place of a status, and beside one.
    (CREATE, 200, {"error": "fieldAlreadyExists", "field": "name"}, errors.AlreadyExists),
    (CREATE, 400, {"error": "fieldAlreadyExists", "field": "name"}, errors.AlreadyExists),
    (CREATE, 409, {"title": "Conflict"}, errors.AlreadyExists),
    (CREATE, 200, {"error": "fieldMissing", "field": "secrets"}, errors.Rejected),
    (UPDATE, 200, {"error": "unsupported", "details": "no"}, errors.Rejected),
    (UPDATE, 200, {"error": "assertFailed"}, errors.Rejected),
    (DELETE, 200, {"error": "other", "reason": "busy"}, errors.Rejected),
    (GET, 404, {"error": "unsupported"}, errors.Rejected),
    # Statuses.
    (GET, 400, {"title": "Bad Request"}, errors.Rejected),
    (GET, 402, {"title": "Payment Required"}, errors.Rejected),
    (GET, 405, PAGE, errors.Rejected),
    (GET, 401, {"title": "Unauthorized"}, errors.Unauthorized),
    (GET, 401, PAGE, errors.Unauthorized),
    (GET, 403, {"title": "Forbidden"}, errors.Forbidden),
    (GET, 403, PAGE, errors.Forbidden),
    (GET, 429, None, errors.Throttled),
    (GET, 429, PAGE, errors.Throttled),
    (GET, 403, {"title": "Forbidden", "detail": "Rate limit exceeded"}, errors.Throttled),
    (GET, 403, b"Too many requests", errors.Throttled),
    (GET, 403, f"{LONG} Too many requests.".encode(), errors.Throttled),
    (GET, 403, PAGE.replace(b"nginx", b"rate-limited"), errors.Throttled),
    (GET, 500, {"title": "Oops"}, errors.ServerFailed),
    (GET, 502, PAGE, errors.ServerFailed),
    (GET, 503, None, errors.ServerFailed),
    (GET, 504, None, errors.ServerFailed),
    # No answer of this interface.
    (GET, 200, PAGE, errors.BadAnswer),
    (GET, 200, b'{"name": "al', errors.BadAnswer),
    (GET, 200, b"[" * 100_000, errors.BadAnswer),
    (GET, 200, b"\xff\xfe\x00nonsense", errors.BadAnswer),
    (GET, 200, None, errors.BadAnswer),
    (GET, 204, None, errors.BadAnswer),
    (GET, 200, {"data": None}, errors.BadAnswer),
    (GET, 200, {}, errors.BadAnswer),
    (GET, 200, [], errors.BadAnswer),
    (GET, 200, 50, errors.BadAnswer),
    (GET, 200, {"name": 5}, errors.BadAnswer),
    (GET, 200, {"name": "bob@example.com", "type": "individual"}, errors.BadAnswer),
    (GET, 200, {"name": ALICE.key, "emails": 3}, errors.BadAnswer),
    (GET, 200, {"name": ALICE.key, "emails": [None]}, errors.BadAnswer),
    (GET, 200, {"name": ALICE.key, "members": 2}, errors.BadAnswer),
    (GET, 302, None, errors.BadAnswer),
    (GET, 308, PAGE, errors.BadAnswer),
    (LIST, 200, {"data": {}}, errors.BadAnswer),
    (LIST, 200, {"items": {}, "total": 1}, errors.BadAnswer),
    (LIST, 200, {"items": [], "total": "many"}, errors.BadAnswer),
    (LIST, 200, {"items": [], "total": True}, errors.BadAnswer),
    (LIST, 200, [7], errors.BadAnswer),
    (LIST, 200, None, errors.BadAnswer),
    (DNS, 200, {}, errors.BadAnswer),
    (DNS, 200, {"mx": [], "txt": None}, errors.BadAnswer),
    (DNS, 200, {"mx": [{"host": "@", "value": "m"}], "txt": []}, errors.BadAnswer),
    (DNS, 200, {"mx": [], "txt": [{"host": "@"}]}, errors.BadAnswer),
    (DNS, 200, {"mx": ["m"], "txt": []}, errors.BadAnswer),
]


def answer(status: int, body: Any, **headers: str) -> Answer:
    """Return an answer with a body of bytes, or of JSON."""
    if body is None:
        body = b""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Answer(status, {name.replace("_", "-"): text for name, text in headers.items()}, content)


@pytest.mark.parametrize(
    "body",
    [b'{"name":"a@example.com","secrets":["stored-Zq8-hunter2"],"ema', b'["stored-Zq8-hunter2'],
)
def test_a_broken_answer_is_not_quoted(body: bytes) -> None:
    """It may hold a secret that only the server knows."""
    with pytest.raises(errors.BadAnswer) as caught:
        read_answer(LIST, answer(200, body))
    assert "hunter2" not in f"{caught.value}{caught.value.failure}"


def test_a_date_beyond_the_calendar_is_no_retry_after() -> None:
    """It is passed over, as other words are."""
    late = "Fri, 31 Dec 9999 23:59:59 -2359"
    with pytest.raises(errors.Throttled) as caught:
        read_answer(LIST, answer(429, {}, Retry_After=late))
    assert caught.value.retry_after is None


@pytest.mark.parametrize("row", range(len(FAILURES)))
def test_a_failure_is_taken_for_what_it_is(row: int) -> None:
    """Each row of the table, by the very class and with a failure that says where."""
    call, status, body, kind = FAILURES[row]
    with pytest.raises(errors.ServiceError) as caught:
        read_answer(call, answer(status, body))
    assert caught.type is kind
    failure = caught.value.failure
    assert (failure.kind, failure.status) == (kind.__name__, status)
    assert (failure.method, failure.path) == (call.method, call.path)
    assert f"status {status}" in str(caught.value)


TRANSIENT = {429: True, 502: True, 503: True, 504: True, 500: False, 401: False, 409: False}


@pytest.mark.parametrize("status", TRANSIENT)
def test_what_may_pass_is_marked(status: int) -> None:
    """Throttling and gateways without a backend pass; faults and refusals do not."""
    with pytest.raises(errors.ServiceError) as caught:
        read_answer(GET, answer(status, None))
    assert caught.value.transient is TRANSIENT[status]


MAILBOX = {"id": 7, "name": ALICE.key, "type": "individual", "emails": ["alice@example.com"]}


@pytest.mark.parametrize(
    "body",
    [
        MAILBOX,
        {"data": MAILBOX},
        {"data": {**MAILBOX, "error": "none"}, "error": "ignored beside data"},
        {**MAILBOX, "error": None},
        {**MAILBOX, "emails": "alice@example.com"},
        {"name": "ALICE@EXAMPLE.COM", "type": "individual"},
        {"name": ALICE.key, "emails": None, "members": [], "quota": 5},
        {**MAILBOX, "members": "", "secrets": "hash"},
    ],
)
def test_every_form_of_a_mailbox_is_read(body: dict[str, Any]) -> None:
    """Envelopes, single strings, absent keys and unknown fields are no obstacle."""
    assert read_answer(GET, answer(200, body)) == Mailbox(ALICE)


def test_a_byte_order_mark_is_passed_over() -> None:
    """Some servers put one before their JSON."""
    body = b"\xef\xbb\xbf" + json.dumps(MAILBOX).encode()
    assert read_answer(GET, answer(200, body)) == Mailbox(ALICE)


def test_members_make_a_forwarder_and_a_count_does_not() -> None:
    """An individual with members forwards; a domain may say how many members it has."""
    rows = [
        {"name": "team@example.com", "type": "individual", "members": "a@example.net"},
        {"name": "example.com", "type": "domain", "members": 12},
    ]
    page = read_answer(LIST, answer(200, {"data": {"items": rows, "total": 2}}))
    members = frozenset({parse_address("a@example.net")})
    team = Forwarder(parse_address("team@example.com"), frozenset(), members)
    assert page.principals == (team, Domain(HOME))
    assert (page.total, page.size) == (2, 2)


@pytest.mark.parametrize("body", [{"data": 50}, {"data": None}, None, [], "ok", {"id": 50}])
def test_a_write_may_be_answered_with_nothing_of_use(body: Any) -> None:
    """A reply without the principal is a success that says nothing."""
    assert read_answer(CREATE, answer(200, body)) is None
    assert read_answer(UPDATE, answer(200, body)) is None


@pytest.mark.parametrize("body", [{"success": True}, {"data": None}, None, {"data": 1}])
def test_a_delete_may_be_answered_with_anything(body: Any) -> None:
    """Every success of a DELETE is one."""
    read_answer(DELETE, answer(200, body))


@pytest.mark.parametrize(
    ("value", "seconds"),
    [("7", 7.0), ("0", 0.0), (" 12 ", 12.0), ("", None), ("soon", None), ("-3", None), ("²", None)],
)
def test_retry_after_in_seconds(value: str, seconds: float | None) -> None:
    """A number of seconds is taken, what is none is passed over."""
    with pytest.raises(errors.Throttled) as caught:
        read_answer(GET, answer(429, None, retry_after=value))
    assert caught.value.retry_after == seconds


def test_retry_after_as_a_date() -> None:
    """A date in the future is waited for, one in the past not at all."""
    now = datetime.now(timezone.utc)
    for offset, low, high in ((120, 100, 120), (-120, 0, 0)):
        date = format_datetime(now + timedelta(seconds=offset), usegmt=True)
        with pytest.raises(errors.ServerFailed) as caught:
            read_answer(GET, answer(503, None, retry_after=date))
        assert caught.value.retry_after is not None
        assert low <= caught.value.retry_after <= high


ECHO = {"detail": f"bad: {PASSWORD} for {TOKEN}", "title": json.dumps(PASSWORD)}


@pytest.mark.parametrize("status", [200, 400, 401, 403, 409, 429, 500, 502])
def test_what_the_server_echoes_is_not_repeated(status: int) -> None:
    """Neither the password nor the token is in the sentence or the failure, in any form."""
    body = {**ECHO, "error": "other", "reason": PASSWORD}
    with pytest.raises(errors.ServiceError) as caught:
        read_answer(CREATE, answer(status, body), (TOKEN,))
    shown = f"{caught.value} {caught.value.failure} {caught.value!r} {caught.value.__cause__}"
    for secret in (PASSWORD, json.dumps(PASSWORD)[1:-1], TOKEN, "Zébra", "zX%41"):
        assert secret not in shown


@pytest.mark.parametrize("status", [200, 302, 404])
def test_a_page_that_echoes_is_not_repeated(status: int) -> None:
    """The title of a page and the target of a redirect are cleaned too."""
    page = f"<title>Error for {TOKEN}</title>".encode()
    target = f"https://elsewhere.example/?token={TOKEN}"
    with pytest.raises(errors.BadAnswer) as caught:
        read_answer(GET, answer(status, page, location=target), (TOKEN,))
    assert TOKEN not in f"{caught.value} {caught.value.failure}"


def test_secrets_of_a_principal_are_in_no_error() -> None:
    """What GET returns as ``secrets`` is not in the error about an answer that can't be read."""
    body = {**MAILBOX, "emails": 5, "secrets": ["$argon2id$Zq8"], "detail": "has $argon2id$Zq8"}
    with pytest.raises(errors.BadAnswer) as caught:
        read_answer(GET, answer(200, body))
    assert "Zq8" not in f"{caught.value} {caught.value.failure}"


def test_a_long_detail_is_cut_after_it_was_cleaned() -> None:
    """A secret across the place of the cut does not survive in part."""
    detail = "x" * 290 + TOKEN
    with pytest.raises(errors.Rejected) as caught:
        read_answer(GET, answer(400, {"detail": detail}), (TOKEN,))
    assert TOKEN[:4] not in str(caught.value)
    assert len(caught.value.failure.detail) <= 303
