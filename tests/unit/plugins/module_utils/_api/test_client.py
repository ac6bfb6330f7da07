# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Writes with an unknown outcome are verified, and lost updates are repaired."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from ansible_collections.postroom.email.plugins.module_utils._api import errors
from ansible_collections.postroom.email.plugins.module_utils._api.client.client import Client
from ansible_collections.postroom.email.plugins.module_utils._api.models import Edit, Mailbox
from ansible_collections.postroom.email.plugins.module_utils._api.names import parse_address
from ansible_collections.postroom.email.tests.fakes.mail_api.in_memory_service import (
    InMemoryService,
    Quirks,
    domain,
    mailbox,
)
from ansible_collections.postroom.email.tests.fakes.mail_api.scripted import (
    RESET,
    Reply,
    Request,
    Script,
    html,
    json_reply,
    problem,
    redirect,
    text_reply,
)
from ansible_collections.postroom.email.tests.support.clients import Clock, Connect, Serve

ALICE = parse_address("alice@example.com")
SALES = parse_address("sales@example.com")
THEIRS = parse_address("theirs@example.com")
BOX = Mailbox(ALICE)
PASSWORDS = ("pw-8Kd!q0-Zebra",)
ADD_SALES = Edit(add_aliases=frozenset({SALES}))
PATH = "/api/principal/alice%40example.com"
STALE = [ALICE.key, THEIRS.key]

#: Responses that leave the outcome of a write unknown, and whether the write may be repeated.
UNKNOWN = {
    "reset": (RESET, True),
    "cut short": (Reply(200, b'{"na', {"Content-Type": "application/json"}, missing=40), True),
    "500": (problem(500), False),
    "503": (problem(503), True),
    "page in place of JSON": (html(200, "Welcome"), False),
    "half a JSON text": (text_reply('{"name": "al', 200, "application/json"), False),
}


def service_with(*principals: dict[str, Any], quirks: Quirks | None = None) -> InMemoryService:
    """Return a service with the domain and these principals."""
    return InMemoryService(quirks, domain("example.com"), *principals)


@pytest.mark.parametrize("fault", UNKNOWN)
def test_a_create_is_verified_first(fault: str, serve: Serve, connect: Connect) -> None:
    """After an unknown outcome, a create is repeated only if a GET does not find the object."""
    reply, is_transient = UNKNOWN[fault]
    service = service_with()
    service.disturb("POST", reply, effect=True)
    server = serve(service)
    assert connect(server).create(BOX, PASSWORDS) == BOX
    assert server.writes == ["POST /api/principal"]
    service = service_with()
    service.disturb("POST", reply)
    server = serve(service)
    if is_transient:
        assert connect(server).create(BOX, PASSWORDS) == BOX
        assert server.lines == ["POST /api/principal", f"GET {PATH}", "POST /api/principal"]
    else:
        with pytest.raises(errors.ServiceError):
            connect(server).create(BOX, PASSWORDS)
        assert server.lines == ["POST /api/principal", f"GET {PATH}"]


@pytest.mark.parametrize("quirks", [Quirks(), Quirks(errors_as_200=True)], ids=["409", "200"])
def test_a_get_settles_a_conflict(quirks: Quirks, serve: Serve, connect: Connect) -> None:
    """If a lost POST takes effect late, a GET resolves the conflict that the second POST gets."""
    service = service_with(quirks=quirks)
    service.disturb("POST", RESET)
    service.interfere("GET", lambda: service.principals.update({ALICE.key: mailbox(ALICE.key)}))
    server = serve(service)
    assert connect(server).create(BOX, PASSWORDS) == BOX
    assert server.writes == ["POST /api/principal"] * 2


def test_a_conflict_with_another_writer_is_an_error(serve: Serve, connect: Connect) -> None:
    """A conflict with an object created by another client is an error."""
    for there, is_same in (((ALICE.key,), True), ((ALICE.key, "o@example.com"), False)):
        server = serve(service_with(mailbox(*there)))
        with pytest.raises(errors.AlreadyExists, match="another client") as caught:
            connect(server).create(BOX, PASSWORDS)
        assert isinstance(caught.value, errors.CreatedMeanwhile) is is_same
        assert server.writes == ["POST /api/principal"]
    service = service_with(mailbox(ALICE.key, "other@example.com"))
    service.disturb("POST", RESET)
    with pytest.raises(errors.AlreadyExists, match="another client"):
        connect(serve(service)).create(BOX, PASSWORDS)


@pytest.mark.parametrize("effect", [True, False], ids=["took effect", "did not"])
@pytest.mark.parametrize("fault", UNKNOWN)
@pytest.mark.parametrize("method", ["DELETE", "PATCH"])
def test_other_writes_are_verified(
    method: str, fault: str, effect: bool, serve: Serve, connect: Connect
) -> None:
    """Other writes with an unknown outcome are also verified before they are repeated."""
    reply, is_transient = UNKNOWN[fault]
    service = service_with(mailbox(ALICE.key))
    service.disturb(method, reply, effect=effect)
    server = serve(service)

    def write() -> None:
        if method == "DELETE":
            connect(server).delete(ALICE)
            assert ALICE.key not in service.principals
        else:
            assert connect(server).edit(ALICE, ADD_SALES) == Mailbox(ALICE, frozenset({SALES}))

    if effect or is_transient:
        write()
        assert len(server.writes) == (1 if effect else 2)
    else:
        with pytest.raises(errors.ServiceError):
            write()
        assert len(server.writes) == 1


@pytest.mark.parametrize("quirks", [Quirks(), Quirks(errors_as_200=True)], ids=["404", "200"])
def test_deleting_an_absent_mailbox(quirks: Quirks, serve: Serve, connect: Connect) -> None:
    """Deleting an absent mailbox succeeds with one request."""
    server = serve(InMemoryService(quirks))
    connect(server).delete(ALICE)
    assert server.lines == [f"DELETE {PATH}"]


def test_passwords_are_sent_again_or_unknown(serve: Serve, connect: Connect) -> None:
    """Passwords can't be read back, so they are sent again or their outcome is unknown."""
    service = service_with(mailbox(ALICE.key))
    service.disturb("PATCH", RESET, effect=True)
    server = serve(service)
    connect(server).edit_once(ALICE, Edit(), PASSWORDS)
    bodies = [request.json for request in server.requests if request.method == "PATCH"]
    assert bodies == [{"secrets": list(PASSWORDS)}] * 2
    service.disturb("PATCH", problem(500), effect=True)
    with pytest.raises(errors.ServerFailed, match="password was replaced"):
        connect(serve(service)).edit_once(ALICE, Edit(), PASSWORDS)
    service.disturb("PATCH", RESET, effect=True)
    service.disturb("PATCH", problem(401))
    with pytest.raises(errors.Unauthorized, match="password was replaced"):
        connect(serve(service)).edit_once(ALICE, Edit(), PASSWORDS)


@pytest.mark.parametrize(
    "reply",
    [problem(401), problem(403), problem(500), html(404), redirect("/login")],
    ids=["401", "403", "500", "404 page", "redirect"],
)
def test_a_failed_verification_is_no_absence(reply: Reply, serve: Serve, connect: Connect) -> None:
    """If verification fails, the object is not considered absent, and the error says so."""
    service = service_with()
    service.disturb("POST", RESET, effect=True)
    service.disturb("GET", reply, times=9)
    server = serve(service)
    with pytest.raises(errors.ConnectionBroken, match="whether the request took effect") as caught:
        connect(server).create(BOX, PASSWORDS)
    assert caught.value.unsure
    assert server.writes == ["POST /api/principal"]


def test_a_hanging_create_is_verified_before_the_deadline(serve: Serve, connect: Connect) -> None:
    """A hanging POST is aborted early enough for a GET to verify its outcome."""
    service = service_with()
    service.disturb("POST", Reply(hang=True), effect=True)
    # This test uses real time, because the socket does the waiting.
    client = connect(serve(service), clock=time.monotonic, timeout=2.0)
    assert client.create(BOX, PASSWORDS) == BOX


def test_an_incomplete_reply_is_followed_by_a_get(serve: Serve, connect: Connect) -> None:
    """An incomplete response is followed by a GET, whose error reveals no password."""
    script = Script(
        ("POST", "/api/principal", json_reply({"data": 50})),
        ("GET", PATH, problem(400, f"secrets: {PASSWORDS[0]}")),
    )
    with pytest.raises(errors.Rejected) as caught:
        connect(serve(script)).create(BOX, PASSWORDS)
    assert PASSWORDS[0] not in f"{caught.value} {caught.value.failure}"


def emails(service: InMemoryService) -> set[str]:
    """Return the mailbox's stored addresses."""
    return set(service.principals[ALICE.key]["emails"])


def replacing(service: InMemoryService, values: list[str]) -> Callable[[], None]:
    """Return a function that replaces the list of addresses, as another client would."""
    return lambda: service.principals[ALICE.key].update(emails=list(values))


def test_an_edit_is_verified_after_a_while(serve: Serve, connect: Connect) -> None:
    """An edit is verified after a pause. An edit that changes nothing only reads the object."""
    server, clock = serve(service_with(mailbox(ALICE.key, THEIRS.key))), Clock()
    client = connect(server, clock)
    for _time in range(2):
        edited = client.edit(ALICE, ADD_SALES)
        assert edited == Mailbox(ALICE, frozenset({SALES, THEIRS}))
    assert [line.split()[0] for line in server.lines] == ["GET", "PATCH", "GET", "GET"]
    assert len(clock.sleeps) == 1


def test_a_lost_update_is_repaired(serve: Serve, connect: Connect) -> None:
    """An edit is repeated if another client overwrites it with an older list."""
    service = service_with(mailbox(ALICE.key))
    service.interfere("PATCH", replacing(service, STALE))
    server = serve(service)
    edited = connect(server).edit(ALICE, ADD_SALES)
    assert edited == Mailbox(ALICE, frozenset({SALES, THEIRS}))
    assert emails(service) == {ALICE.key, SALES.key, THEIRS.key}
    assert len(server.writes) == 2
    service.interfere("PATCH", replacing(service, [*STALE, SALES.key]))
    connect(server).edit(ALICE, Edit(remove_aliases=ADD_SALES.add_aliases))
    assert emails(service) == {ALICE.key, THEIRS.key}


def test_repairs_are_bounded(serve: Serve, connect: Connect) -> None:
    """The number of repairs is limited, and no repair is made after the deadline."""
    service = service_with(mailbox(ALICE.key))
    service.interfere("PATCH", replacing(service, STALE), times=99)
    server = serve(service)
    with pytest.raises(errors.LostUpdate, match=r"^alice@example.com: ") as caught:
        connect(server, timeout=600.0).edit(ALICE, ADD_SALES)
    assert len(server.writes) == 1 + 12
    assert caught.value.failure.method == "PATCH"
    server = serve(service)
    with pytest.raises(errors.DeadlineExceeded):
        connect(server, timeout=0.7).edit(ALICE, ADD_SALES)
    assert len(server.writes) < 12


@pytest.mark.parametrize("writers", [2, pytest.param(8, marks=pytest.mark.full)])
def test_many_writers_lose_nothing(writers: int, serve: Serve, connect: Connect) -> None:
    """Concurrent clients that edit the same mailbox don't lose each other's aliases."""
    service = service_with(mailbox(ALICE.key))
    server = serve(service)
    start = threading.Barrier(writers)

    def add(writer: int) -> None:
        real = {"clock": time.monotonic, "sleep": time.sleep, "rng": random.random}
        client = connect(server, **real, timeout=60.0)
        start.wait()
        for number in range(2):
            alias = parse_address(f"w{writer}n{number}@example.com")
            client.edit(ALICE, Edit(add_aliases=frozenset({alias})))

    with ThreadPoolExecutor(writers) as pool:
        list(pool.map(add, range(writers)))
    wanted = {f"w{w}n{n}@example.com" for w in range(writers) for n in range(2)}
    assert emails(service) == wanted | {ALICE.key}


LIST = "/api/principal"
ROWS = [domain(f"d{number}.example") for number in range(5)]


def page(*rows: dict[str, Any], total: int | None = None, link: str = "") -> Reply:
    """Return one page of a list."""
    reply = json_reply({"items": rows, "total": total} if total is not None else list(rows))
    return reply.having(Link=link) if link else reply


def names(client: Client) -> list[str]:
    """Return the names in a client's list."""
    return sorted(str(principal.name) for principal in client.list_principals())


@pytest.mark.parametrize("pages", ["total", "link"])
@pytest.mark.parametrize("rows", [2, 5])
def test_every_page_is_read(pages: Any, rows: int, serve: Serve, connect: Connect) -> None:
    """All pages of a list are read, whether it has a total or links."""
    server = serve(InMemoryService(Quirks(page_rows=rows, pages=pages), *ROWS))
    assert names(connect(server)) == [f"d{number}.example" for number in range(5)]
    assert len(server.requests) == -(-5 // rows)


def test_a_link_to_another_origin_is_refused(serve: Serve, connect: Connect) -> None:
    """A link to another origin is refused, so that the token is never sent there."""
    other = serve(Script())
    for target in (f"{other.url}{LIST}?page=2", "http://[::1"):
        first = page(ROWS[0], link=f'<{target}>; rel="next"')
        with pytest.raises(errors.BadAnswer, match="another origin"):
            connect(serve(Script(("GET", LIST, first)))).list_principals()
    assert not other.requests


@pytest.mark.parametrize(
    "repeated",
    [page(ROWS[0], link=f'<{LIST}>; rel="next"'), page(*ROWS[:2], total=5)],
    ids=["a link to itself", "the page number ignored"],
)
def test_a_page_that_repeats_is_refused(repeated: Reply, serve: Serve, connect: Connect) -> None:
    """A page without new rows is refused as an incomplete list."""
    server = serve(lambda _: repeated)
    with pytest.raises(errors.BadAnswer, match="incomplete"):
        connect(server).list_principals()
    assert len(server.requests) == 2


def test_a_list_that_changes_is_read_again(serve: Serve, connect: Connect) -> None:
    """A list that changes while it is being read is read again, up to three times."""
    service = InMemoryService(Quirks(page_rows=2), *ROWS)
    service.interfere("GET", lambda: service.principals.pop("d0.example"))
    client = connect(serve(service))
    assert names(client) == ["d1.example", "d2.example", "d3.example", "d4.example"]
    rows = iter(range(5, 99))
    service.interfere(
        "GET", lambda: service.principals.update({f"e{next(rows)}.x": domain("e.x")}), times=60
    )
    with pytest.raises(errors.BadAnswer, match="incomplete"):
        client.list_principals()


def test_the_lists_by_type_are_read_at_the_same_time(serve: Serve, connect: Connect) -> None:
    """The lists by type are read concurrently, and an error in one of them is raised."""
    both = threading.Barrier(2, timeout=10)

    def reply(request: Request) -> Reply:
        both.wait()
        return problem(401) if "domain" in request.target else json_reply([])

    with pytest.raises(errors.Unauthorized):
        connect(serve(reply)).check_list(set())


def test_a_row_that_came_meanwhile_is_no_cut(serve: Serve, connect: Connect) -> None:
    """A complete list is accepted even if a new name appears only in the lists by type."""
    server = serve(InMemoryService(None, domain("d.example")))
    connect(server).check_list(set())
    assert server.lines[-1] == f"GET {LIST}"


def test_a_name_that_vanishes_is_left_out(serve: Serve, connect: Connect) -> None:
    """If a list contains only names, each object is fetched, and vanished objects are left out."""
    listed = ["d.example", "a@d.example"]
    replies = {LIST: json_reply(listed), f"{LIST}/d.example": json_reply(domain("d.example"))}
    client = connect(serve(lambda request: replies.get(request.target, problem(404))))
    assert names(client) == ["d.example"]
