# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Reading responses, hiding secrets in errors, and repeating requests."""

from __future__ import annotations

import json
import pickle
import time
import traceback
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from email.utils import format_datetime
from typing import Any
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.postroom.email.plugins.module_utils._api import errors, models
from ansible_collections.postroom.email.plugins.module_utils._api.client import endpoints as calls
from ansible_collections.postroom.email.plugins.module_utils._api.client.client import (
    Client,
    result_of,
)
from ansible_collections.postroom.email.plugins.module_utils._api.client.endpoints import Response
from ansible_collections.postroom.email.plugins.module_utils._api.client.pacing import RateLimit
from ansible_collections.postroom.email.plugins.module_utils._api.names import (
    parse_address,
    parse_domain,
)
from ansible_collections.postroom.email.plugins.module_utils._api.tenant.declared import Passwords
from ansible_collections.postroom.email.plugins.module_utils._api.tenant.plan import (
    Change,
    Plan,
    as_diff,
)
from ansible_collections.postroom.email.plugins.module_utils._api.tenant.problems import Reason
from ansible_collections.postroom.email.tests.fakes.mail_api.in_memory_service import (
    InMemoryService,
    domain,
)
from ansible_collections.postroom.email.tests.fakes.mail_api.scripted import (
    HANG,
    RESET,
    Reply,
    Request,
    html,
    json_reply,
    problem,
    text_reply,
)
from ansible_collections.postroom.email.tests.support.clients import (
    TOKEN,
    Clock,
    Connect,
    Serve,
    transport_to,
)

ALICE = parse_address("alice@example.com")
HOME = parse_domain("example.com")
PASSWORD = 'pw-"8Kd"\\q0/Zé bra%'

GET = calls.get(ALICE)
LIST = calls.list_page()
DNS = calls.dns_records(HOME)
CREATE = calls.create(models.Mailbox(ALICE), (PASSWORD,))
UPDATE = calls.update(models.Mailbox(ALICE), models.Mailbox(ALICE))
DELETE = calls.delete(ALICE)

PAGE = b"<html><head><title>404 Not Found</title></head><body>nginx</body></html>"
NOT_FOUND = {"error": "notFound", "item": "alice@example.com"}
PROBLEM = {"type": "about:blank", "title": "Not Found", "status": 404}
LONG = "The client has sent more than its share and is asked to wait. " * 2

#: The call, the status, the body, and the expected error.
FAILURES: list[tuple[calls.Call[Any], int, Any, type[errors.ServiceError]]] = [
    # A 404 means an absent object only if it is JSON or has no body, and names the right object.
    (GET, 404, None, errors.NotFound),
    (GET, 404, PROBLEM, errors.NotFound),
    (GET, 200, {"error": "notFound", "item": "ALICE@Example.com"}, errors.NotFound),
    (GET, 200, {"error": "notFound", "item": "bob@example.com"}, errors.Rejected),
    (GET, 500, NOT_FOUND, errors.ServerFailed),
    (GET, 404, PAGE, errors.BadAnswer),
    (GET, 404, b'{"type": "about', errors.BadAnswer),
    (DELETE, 200, NOT_FOUND, errors.NotFound),
    (DNS, 200, {"error": "notFound", "item": "example.com"}, errors.NotFound),
    (CREATE, 404, PROBLEM, errors.Rejected),
    (LIST, 404, PROBLEM, errors.BadAnswer),
    # Error words, and the statuses with the same meaning.
    (CREATE, 200, {"error": "fieldAlreadyExists", "field": "name"}, errors.AlreadyExists),
    (CREATE, 409, {"title": "Conflict"}, errors.AlreadyExists),
    (UPDATE, 200, {"error": "assertFailed"}, errors.Rejected),
    (GET, 404, {"error": "unsupported"}, errors.Rejected),
    # Error statuses.
    (GET, 405, PAGE, errors.Rejected),
    (GET, 401, PAGE, errors.Unauthorized),
    (GET, 429, None, errors.Throttled),
    (GET, 403, {"title": "Forbidden", "detail": "Rate limit exceeded"}, errors.Throttled),
    (GET, 403, f"{LONG} Too many requests.".encode(), errors.Throttled),
    (GET, 403, PAGE, errors.ProxyRefused),
    (GET, 502, PAGE, errors.ServerFailed),
    # Responses that are not from this API.
    (GET, 200, b'{"name": "al', errors.BadAnswer),
    (GET, 200, b"[" * 100_000, errors.BadAnswer),
    (GET, 200, [], errors.BadAnswer),
    (GET, 200, {"name": ALICE.key, "type": 5}, errors.BadAnswer),
    (GET, 200, {"name": "bob@example.com", "type": "individual"}, errors.BadAnswer),
    (GET, 200, {"name": ALICE.key, "members": [None]}, errors.BadAnswer),
    (GET, 302, None, errors.BadAnswer),
    (LIST, 200, {"items": {}, "total": 1}, errors.BadAnswer),
    (LIST, 200, {"items": [], "total": True}, errors.BadAnswer),
    (DNS, 200, {"mx": [], "txt": None}, errors.BadAnswer),
    (DNS, 200, {"mx": [{"host": "@", "value": "m"}], "txt": []}, errors.BadAnswer),
    (DNS, 200, {"mx": [], "txt": [{"host": "@"}]}, errors.BadAnswer),
    (DNS, 200, {"mx": ["m"], "txt": []}, errors.BadAnswer),
    (DELETE, 200, {"success": False}, errors.BadAnswer),
]


SERVICE = "http://mail.test:8025/path"
#: The kinds of failures that concern an object, and not the service or the token.
OF_OBJECTS = (errors.AlreadyExists, errors.NotFound, errors.Rejected)


def answer(status: int, body: Any, **headers: str) -> Response:
    """Return a response whose body is bytes or JSON."""
    if body is None:
        body = b""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    lower = {name.replace("_", "-"): text for name, text in headers.items()}
    return Response(status, lower, content, SERVICE)


@pytest.mark.parametrize("row", range(len(FAILURES)))
def test_a_failure_raises_its_own_error(row: int) -> None:
    """Each kind of failure raises its own exception class with the status, method and path."""
    call, status, body, kind = FAILURES[row]
    with pytest.raises(errors.ServiceError) as caught:
        result_of(call, answer(status, body))
    assert caught.type is kind
    failure = caught.value.failure
    assert (failure.status, failure.method, failure.path) == (status, call.method, call.path)
    place = "" if kind in OF_OBJECTS else f" at {SERVICE}"
    assert f"{place} failed with status {status}" in str(caught.value)
    transient = kind in (errors.Throttled, errors.ProxyRefused) or status == 502
    assert caught.value.transient is transient


MAILBOX = {"id": 7, "name": ALICE.key, "type": "individual", "emails": ["alice@example.com"]}


def test_members_make_a_forwarder_and_a_count_does_not() -> None:
    """A principal with a list of members is a forwarder, but a domain may have a member count."""
    rows = [
        {"name": "team@example.com", "type": "individual", "members": "a@example.net"},
        {"name": "example.com", "type": "domain", "members": 12},
        {"name": "staff@example.com", "type": "group"},
    ]
    page = result_of(LIST, answer(200, {"data": {"items": rows, "total": 3}}))
    members = frozenset({parse_address("a@example.net")})
    team = models.Forwarder(parse_address("team@example.com"), frozenset(), members)
    staff = models.UnmanagedPrincipal(parse_address("staff@example.com"), "group")
    assert page.principals == (team, models.Domain(HOME), staff)
    assert (page.total, page.next_path) == (3, None)
    assert staff.as_dict() == {"name": "staff@example.com", "kind": "group"}


SECONDS = {"0": 0.0, " 12 ": 12.0, "soon": None, "-3": None, "²": None}
SECONDS["Fri, 31 Dec 99999 23:59:59 GMT"] = None


@pytest.mark.parametrize("value", SECONDS)
def test_retry_after_in_seconds(value: str) -> None:
    """Retry-After is read as a number of seconds, and an invalid value is ignored."""
    with pytest.raises(errors.Throttled) as caught:
        result_of(GET, answer(429, None, retry_after=value))
    assert caught.value.retry_after == SECONDS[value]


def test_retry_after_as_a_date() -> None:
    """Retry-After is read as a date. A date in the past counts as zero."""
    now = datetime.now(timezone.utc)
    for offset, low, high in ((120, 100, 120), (-120, 0, 0)):
        date = format_datetime(now + timedelta(seconds=offset), usegmt=True)
        with pytest.raises(errors.ServerFailed) as caught:
            result_of(GET, answer(503, None, retry_after=date))
        assert caught.value.retry_after is not None
        assert low <= caught.value.retry_after <= high


#: Fields in which a server may repeat parts of the request.
ECHO = {"detail": f"bad: {PASSWORD} for {TOKEN}", "title": json.dumps(PASSWORD), "error": "other"}


@pytest.mark.parametrize(
    ("call", "status", "body"),
    [
        *((CREATE, status, {**ECHO, "reason": PASSWORD}) for status in (200, 401, 409, 429, 502)),
        # A page's title, a redirect's target, and the end of a long detail.
        (GET, 404, f"<title>Error for {TOKEN}</title>".encode()),
        (GET, 302, b""),
        (GET, 400, {"detail": "x" * 290 + TOKEN}),
        # Secrets that only the server knows.
        (GET, 200, b'{"name":"a@example.com","secrets":["tok-stored"],"ema'),
        (
            GET,
            200,
            {**MAILBOX, "emails": 5, "secrets": ["tok-$argon2id"], "detail": "tok-$argon2id"},
        ),
    ],
)
def test_no_part_of_an_answer_leaks_a_secret(call: calls.Call[Any], status: int, body: Any) -> None:
    """No part of a response can put a secret into an error."""
    reply = answer(status, body, location=f"https://elsewhere.example/?token={TOKEN}")
    with pytest.raises(errors.ServiceError) as caught:
        result_of(call, reply, (TOKEN,))
    shown = f"{caught.value} {caught.value.failure} {caught.value!r} {caught.value.__cause__}"
    for secret in (PASSWORD, json.dumps(PASSWORD)[1:-1], TOKEN, "tok-", "Zé bra", "zX%41"):
        assert secret not in shown
    assert len(caught.value.failure.detail) <= 303


FORMS: dict[str, Callable[[str], str]] = {
    "raw": str,
    "JSON": lambda secret: json.dumps(secret)[1:-1],
    "JSON in UTF-8": lambda secret: json.dumps(secret, ensure_ascii=False)[1:-1],
    "percent-encoded": lambda secret: quote(secret, safe=""),
    "percent-encoded, with slashes": quote,
    "percent-encoded in small letters": lambda secret: "".join(
        f"%{byte:02x}" if quote(chr(byte), safe="") != chr(byte) else chr(byte)
        for byte in secret.encode()
    ),
    "form-encoded": quote_plus,
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("secret", [PASSWORD, TOKEN], ids=["password", "token"])
def test_every_form_of_a_secret_is_hidden(form: str, secret: str) -> None:
    """A secret is hidden in every encoding."""
    text = f"before <{FORMS[form](secret)}> after"
    assert errors.redact(text, [secret]) == "before <********> after"


@settings(max_examples=50)
@given(st.text(max_size=40), st.text(min_size=1, max_size=20), st.text(max_size=40))
def test_a_hidden_text_never_holds_the_secret(before: str, secret: str, after: str) -> None:
    """A secret is hidden in any text. Of two overlapping secrets, the longer is hidden first."""
    shown = errors.hide(before + secret + after, [secret])
    assert secret not in shown.replace("********", "") or secret in before + after + "*"
    assert errors.hide("said winter-2026-x", ["winter", "winter-2026-x"]) == "said ********"
    assert errors.hide("plain text", ["", "\n"]) == "plain text"


def test_representations_hold_no_secret() -> None:
    """The representations of objects that hold secrets don't show the secrets."""
    transport = transport_to("http://127.0.0.1:9")
    wanted = Passwords({ALICE: (PASSWORD,)})
    change = Change(
        "create", None, models.Mailbox(ALICE), (Reason("missing"),), secrets=(PASSWORD,)
    )
    call = calls.create(models.Mailbox(ALICE), (PASSWORD,))
    things = [call, change, Plan((change,)), wanted, transport, Client(transport), change.as_dict()]
    (diff,) = as_diff([change])
    assert (diff["before_header"], diff["after"]["passwords"]) == (f"mailbox {ALICE}", "set")
    shown = " ".join(f"{thing!r} {thing}" for thing in [*things, diff])
    for form in FORMS.values():
        assert form(PASSWORD) not in shown
        assert form(TOKEN) not in shown
    assert repr(PASSWORD)[1:-1] not in shown
    for thing in (transport, Client(transport), call):
        with pytest.raises((TypeError, AttributeError, pickle.PicklingError)):
            pickle.dumps(thing)
    transport.close()


def test_a_traceback_of_a_refused_connection_holds_no_token() -> None:
    """The traceback of a refused connection does not contain the token."""
    transport = transport_to("http://127.0.0.1:1")
    with pytest.raises(errors.Unreachable) as caught:
        transport.send(calls.create(models.Mailbox(ALICE), (PASSWORD,)), 5.0)
    transport.close()
    shown = "".join(traceback.format_exception(caught.value))
    assert TOKEN not in shown
    assert PASSWORD not in shown
    assert caught.value.__suppress_context__


THROTTLED = {"429": problem(429), "403": text_reply("Rate limit exceeded, slow down", 403)}
TRANSIENT = {
    **THROTTLED,
    "503": Reply(503),
    "403 of a proxy": html(403),
    "reset": RESET,
    "cut short": Reply(200, b"{", missing=9),
}
FINAL = {"403": problem(403), "500": problem(500), "page": html(404), "nonsense": json_reply(7)}


def failing(reply: Reply, times: int = 1) -> InMemoryService:
    """Return a service that answers the first reads with the given reply."""
    service = InMemoryService(None, domain(HOME.key))
    service.disturb("GET", reply, times=times)
    return service


@pytest.mark.parametrize("fault", TRANSIENT)
def test_a_transient_fault_repeats_a_read(fault: str, serve: Serve, connect: Connect) -> None:
    """After a transient fault, a read is retried with pauses, a limited number of times."""
    server, clock = serve(failing(TRANSIENT[fault], 3)), Clock()
    assert connect(server, clock).find(HOME) == models.Domain(HOME)
    assert len(server.requests) == 4
    assert clock.sleeps == [0.25, 0.5, 1.0]
    server = serve(failing(TRANSIENT[fault], 9))
    with pytest.raises(errors.ServiceError):
        connect(server, retries=2).find(HOME)
    assert len(server.requests) == 3


@pytest.mark.parametrize("fault", FINAL)
def test_a_final_error_is_not_repeated(fault: str, serve: Serve, connect: Connect) -> None:
    """After a permanent error, a read is not retried, and the object is not considered absent."""
    server = serve(failing(FINAL[fault]))
    with pytest.raises(errors.ServiceError):
        connect(server).find(HOME)
    assert len(server.requests) == 1


@pytest.mark.parametrize("fault", THROTTLED)
def test_throttled_writes_are_repeated(fault: str, serve: Serve, connect: Connect) -> None:
    """A throttled write is retried, because it had no effect."""
    service = InMemoryService(None, domain(HOME.key))
    for method in ("POST", "PATCH", "DELETE"):
        service.disturb(method, THROTTLED[fault], times=2)
    server = serve(service)
    client = connect(server)
    client.create(models.Mailbox(ALICE), ("pw-8Kd!q0-Zebra",))
    client.edit_once(ALICE, models.Edit(), ("pw-8Kd!q0-Zebra",))
    client.delete(ALICE)
    methods = [line.split()[0] for line in server.writes]
    assert methods == ["POST"] * 3 + ["PATCH"] * 3 + ["DELETE"] * 3


def test_a_lost_or_refused_connection_is_tried_again(serve: Serve, connect: Connect) -> None:
    """A lost or refused connection is retried. If this fails, the error names the address."""
    server, clock = serve(InMemoryService(None, domain("example.com"))), Clock()
    server.reset_connections(2)
    assert connect(server).find(HOME) == models.Domain(HOME)
    assert server.connections == 3
    client = connect(server, clock, retries=3)
    server.stop()
    with pytest.raises(errors.Unreachable, match=f"127.0.0.1:{server.port}"):
        client.find(HOME)
    assert len(clock.sleeps) == 3


def test_backoff_doubles_to_a_limit(serve: Serve, connect: Connect) -> None:
    """The pause doubles up to eight seconds, and jitter only shortens it."""
    clock = Clock()
    connect(serve(failing(Reply(503), 8)), clock, retries=8, timeout=300.0).find(HOME)
    assert clock.sleeps == [0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 8.0, 8.0]
    clock = Clock()
    connect(serve(failing(Reply(503), 3)), clock, rng=lambda: 0.5).find(HOME)
    assert clock.sleeps == [0.125, 0.25, 0.5]


@pytest.mark.parametrize("status", [429, 503])
def test_retry_after_is_a_lower_bound(status: int, serve: Serve, connect: Connect) -> None:
    """A pause is at least as long as Retry-After, unless that would exceed the deadline."""
    clock = Clock()
    connect(serve(failing(problem(status).having(Retry_After="9"))), clock).find(HOME)
    assert clock.sleeps == [9.0]
    clock = Clock()
    with pytest.raises(errors.ServiceError):
        connect(serve(failing(problem(status).having(Retry_After="3600"))), clock).find(HOME)
    assert clock.sleeps == []


def test_one_deadline_covers_all_requests(serve: Serve, connect: Connect) -> None:
    """All requests of a task share one deadline."""
    server, clock = serve(InMemoryService(None, domain("example.com"))), Clock()
    client = connect(server, clock, timeout=10.0)
    client.find(HOME)
    clock.sleep(11.0)
    with pytest.raises(errors.DeadlineExceeded, match="10 s"):
        client.find(HOME)
    assert len(server.requests) == 1


SLOW = {
    "hang": HANG,
    "body dripped": Reply(200, b" " * 2000, drip=0.01),
    "head dripped": Reply(200, b"{}", {"X-Filler": "x" * 2000}, drip=0.01, drip_head=True),
}


@pytest.mark.parametrize("fault", SLOW)
def test_a_slow_answer_ends_with_the_deadline(fault: str, serve: Serve, connect: Connect) -> None:
    """A slow response is aborted at the deadline, whichever part of it is slow."""
    server = serve(failing(SLOW[fault], 9))
    client = connect(server, clock=time.monotonic, timeout=1.0, retries=0)
    with pytest.raises(errors.ConnectionBroken):
        client.find(HOME)
    # A client that waits for the complete response would receive it only after the deadline.
    assert server.completed == 0


def waits(limit: RateLimit, count: int) -> list[float]:
    """Take several places in the queue, and return the rounded waiting times."""
    return [round(limit.reserve(), 6) for _place in range(count)]


def test_after_a_complaint_all_wait_and_then_follow_each_other() -> None:
    """After a 429, all clients wait for the pause and then send requests at intervals."""
    clock = Clock()
    limit = RateLimit(clock)
    seen = [limit.recently_succeeded]
    limit.succeed()
    assert waits(limit, 3) == [0, 0, 0]
    limit.throttle(5.0, clock())
    assert waits(limit, 3) == [5.0, 5.02, 5.04]
    for seconds in (4.5, 0.5, 2.5, 0.5):
        clock.sleep(seconds)
        seen += [limit.is_paused, limit.recently_succeeded]
    assert seen == [False, True, True, False, True, False, True, False, False]


def test_complaints_widen_to_a_limit_and_success_narrows() -> None:
    """Each 429 widens the interval, up to two seconds, and each success narrows it."""
    clock = Clock()
    limit = RateLimit(clock)
    intervals = []
    for _complaint in range(14):
        limit.throttle(0.0, clock())
        # This is the response to a request that was sent before the pause.
        limit.throttle(0.0, clock() - 1.0)
        clock.sleep(10.0)
        intervals.append(waits(limit, 2)[1])
    assert intervals[:4] == [0.02, 0.03, 0.045, 0.0675]
    assert intervals[-1] == 2.0
    clock.sleep(10.0)
    limit.succeed()
    assert waits(limit, 2) == [0.0, 1.6]
    clock.sleep(10.0)
    for _success in range(40):
        limit.succeed()
    assert waits(limit, 3) == [0.0, 0.0, 0.0]


def test_a_pause_is_for_all_clients_of_a_task(serve: Serve, connect: Connect) -> None:
    """A pause applies to all clients of a task. If it exceeds the deadline, they send nothing."""
    clock = Clock()
    service = failing(problem(429).having(Retry_After="7"))
    sent: list[float] = []

    def answer(request: Request) -> Reply:
        sent.append(clock() - 1000.0)
        return service(request)

    client = connect(serve(answer), clock, retries=0)
    with pytest.raises(errors.Throttled):
        client.find(HOME)
    with pytest.raises(errors.DeadlineExceeded):
        client.with_new_deadline(3.0).find(HOME)
    assert (sent, clock()) == ([0.0], 1003.0)
    client.with_new_deadline(1.0, extend_when_throttled=True).find(HOME)
    client.with_new_deadline(30.0).find(HOME)
    assert sent == pytest.approx([0.0, 7.04, 7.06], abs=0.02)
