# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What is sent again, how often, after which pause, and until when."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from email.utils import format_datetime
from typing import Any

import pytest

from ansible_collections.postroom.email.plugins.module_utils._api import errors
from ansible_collections.postroom.email.plugins.module_utils._api.models import (
    Domain,
    Edit,
    Mailbox,
)
from ansible_collections.postroom.email.plugins.module_utils._api.names import (
    parse_address,
    parse_domain,
)
from ansible_collections.postroom.email.plugins.module_utils._api.wire.client import Client
from ansible_collections.postroom.email.tests.fakes.mail_api.quirky import (
    QuirkyService,
    domain,
    mailbox,
)
from ansible_collections.postroom.email.tests.fakes.mail_api.scripted import (
    HANG,
    RESET,
    Reply,
    html,
    json_reply,
    problem,
    redirect,
    text_reply,
    wire_error,
)
from ansible_collections.postroom.email.tests.support.clients import Clock

Connect = Callable[..., Client]
Serve = Callable[..., Any]

HOME = parse_domain("example.com")
ALICE = parse_address("alice@example.com")
BOX = Mailbox(ALICE)
PASSWORDS = ("pw-8Kd!q0-Zebra",)

PASSES = {
    "429": problem(429),
    "502": html(502),
    "503": Reply(503),
    "504": html(504, "Gateway Time-out"),
    "throttled as 403": text_reply("Rate limit exceeded, slow down", 403),
    "reset": RESET,
    "cut short": Reply(200, b"{", missing=9),
}
STAYS = {
    "400": problem(400),
    "401": problem(401),
    "402": problem(402),
    "403": problem(403),
    "500": problem(500),
    "page": html(200, "Welcome"),
    "page under 404": html(404, "Not Found"),
    "redirect": redirect("https://login.example/"),
    "error as 200": wire_error("unsupported"),
    "nonsense": json_reply(7),
}


@pytest.mark.parametrize("fault", PASSES)
def test_a_read_is_repeated_after_what_passes(fault: str, serve: Serve, connect: Connect) -> None:
    """Three faults, a fourth attempt that succeeds, and a pause before each repetition."""
    service = QuirkyService(None, domain("example.com"))
    service.disturb("GET", PASSES[fault], times=3)
    server, clock = serve(service), Clock()
    assert connect(server, clock).find(HOME) == Domain(HOME)
    assert len(server.requests) == 4
    assert clock.sleeps == [0.25, 0.5, 1.0]


@pytest.mark.parametrize("fault", PASSES)
def test_a_read_is_repeated_only_so_often(fault: str, serve: Serve, connect: Connect) -> None:
    """With two retries there are three attempts, and then the last error."""
    service = QuirkyService(None, domain("example.com"))
    service.disturb("GET", PASSES[fault], times=9)
    server = serve(service)
    with pytest.raises(errors.ServiceError):
        connect(server, retries=2).find(HOME)
    assert len(server.requests) == 3


@pytest.mark.parametrize("fault", STAYS)
def test_what_stays_is_not_repeated(fault: str, serve: Serve, connect: Connect) -> None:
    """One request, one error, and never "absent"."""
    service = QuirkyService(None, domain("example.com"))
    service.disturb("GET", STAYS[fault])
    server = serve(service)
    with pytest.raises(errors.ServiceError):
        connect(server).find(HOME)
    assert len(server.requests) == 1


@pytest.mark.parametrize("fault", ["429", "throttled as 403"])
@pytest.mark.parametrize("method", ["POST", "PATCH", "DELETE"])
def test_a_throttled_write_is_repeated(
    method: str, fault: str, serve: Serve, connect: Connect
) -> None:
    """Throttled is refused, so nothing happened, and the write may be sent again."""
    stored = [domain("example.com")] + [mailbox(ALICE.key)] * (method != "POST")
    service = QuirkyService(None, *stored)
    service.disturb(method, PASSES[fault], times=2)
    server = serve(service)
    client = connect(server)
    if method == "POST":
        client.create(BOX, PASSWORDS)
    elif method == "PATCH":
        client.edit(ALICE, Edit(), PASSWORDS)
    else:
        client.delete(ALICE)
    assert [line.split()[0] for line in server.writes] == [method] * 3


def test_connections_that_are_reset_unread_are_tried_again(serve: Serve, connect: Connect) -> None:
    """A server that drops connections before it reads is met with patience."""
    server = serve(QuirkyService(None, domain("example.com")))
    server.reset_connections(2)
    assert connect(server).find(HOME) == Domain(HOME)
    assert server.connections == 3


def test_a_refused_connection_is_tried_again_and_then_told(serve: Serve, connect: Connect) -> None:
    """Nothing listens: every attempt is refused, and the error names the address."""
    server, clock = serve(QuirkyService()), Clock()
    client = connect(server, clock, retries=3)
    server.stop()
    with pytest.raises(errors.Unreachable, match=f"127.0.0.1:{server.port} can't be reached"):
        client.find(HOME)
    assert len(clock.sleeps) == 3


def test_backing_off_grows_to_a_limit(serve: Serve, connect: Connect) -> None:
    """The pause doubles up to eight seconds, and chance takes from it, never adds."""
    service = QuirkyService(None, domain("example.com"))
    service.disturb("GET", Reply(503), times=8)
    clock = Clock()
    connect(serve(service), clock, retries=8, timeout=300.0).find(HOME)
    assert clock.sleeps == [0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 8.0, 8.0]
    service.disturb("GET", Reply(503), times=3)
    clock = Clock()
    connect(serve(service), clock, rng=lambda: 0.5).find(HOME)
    assert clock.sleeps == [0.125, 0.25, 0.5]


@pytest.mark.parametrize("status", [429, 503])
def test_retry_after_in_seconds_is_waited_for(status: int, serve: Serve, connect: Connect) -> None:
    """The service's wish is a lower bound of the pause."""
    service = QuirkyService(None, domain("example.com"))
    service.disturb("GET", problem(status).having(Retry_After="9"))
    clock = Clock()
    connect(serve(service), clock).find(HOME)
    assert clock.sleeps == [9.0]


def test_retry_after_as_a_date_is_waited_for(serve: Serve, connect: Connect) -> None:
    """A date is the time from now until then."""
    date = format_datetime(datetime.now(timezone.utc) + timedelta(seconds=200), usegmt=True)
    service = QuirkyService(None, domain("example.com"))
    service.disturb("GET", problem(429).having(Retry_After=date))
    clock = Clock()
    connect(serve(service), clock, timeout=900.0).find(HOME)
    assert 100 < clock.sleeps[0] <= 200


def test_retry_after_beyond_the_deadline_is_not_waited_for(serve: Serve, connect: Connect) -> None:
    """Where the service wants more time than the task has, the task ends at once."""
    service = QuirkyService(None, domain("example.com"))
    service.disturb("GET", problem(429).having(Retry_After="3600"))
    clock = Clock()
    with pytest.raises(errors.Throttled, match="Try again later"):
        connect(serve(service), clock).find(HOME)
    assert clock.sleeps == []


def test_one_deadline_is_over_all_requests(serve: Serve, connect: Connect) -> None:
    """Time that the task slept away is gone for every later request."""
    server, clock = serve(QuirkyService(None, domain("example.com"))), Clock()
    client = connect(server, clock, timeout=10.0)
    client.find(HOME)
    clock.sleep(11.0)
    with pytest.raises(errors.DeadlineExceeded, match="10 s were used up before reading"):
        client.find(HOME)
    assert len(server.requests) == 1


SLOW = {
    "hang": HANG,
    "body dripped": Reply(200, b" " * 2000, drip=0.01),
    "head dripped": Reply(200, b"{}", {"X-Filler": "x" * 2000}, drip=0.01, drip_head=True),
    "all dripped slower than a read": Reply(200, b" " * 200, drip=0.2, drip_head=True),
}


@pytest.mark.parametrize("fault", SLOW)
def test_what_never_ends_is_ended_by_the_deadline(
    fault: str, serve: Serve, connect: Connect
) -> None:
    """However a server plays for time, in whichever part of its answer."""
    service = QuirkyService(None, domain("example.com"))
    service.disturb("GET", SLOW[fault], times=99)
    server = serve(service)
    client = connect(server, clock=time.monotonic, timeout=0.5, retries=0)
    with pytest.raises(errors.ConnectionBroken):
        client.find(HOME)
    # A client that waits for the end of the answer gets it, late.
    assert server.completed == 0


@pytest.mark.parametrize(
    ("timeout", "retries"),
    [(0.0, 4), (-1.0, 4), (30.0, -1), (float("nan"), 4), (float("inf"), 4), (1e12, 4)],
)
def test_settings_out_of_range_are_refused(timeout: float, retries: int, connect: Connect) -> None:
    """One sentence, before anything is sent."""

    class Nowhere:
        url = "http://127.0.0.1:9"

    with pytest.raises(errors.InvalidInput):
        connect(Nowhere, timeout=timeout, retries=retries)
