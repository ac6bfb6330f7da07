# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A list is read to its end or refused; nothing is decided on a part of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ansible_collections.postroom.email.plugins.module_utils._api import errors
from ansible_collections.postroom.email.plugins.module_utils._api.wire.client import Client
from ansible_collections.postroom.email.tests.fakes.mail_api.quirky import (
    Quirks,
    QuirkyService,
    domain,
    mailbox,
)
from ansible_collections.postroom.email.tests.fakes.mail_api.scripted import (
    Reply,
    Request,
    Script,
    json_reply,
    problem,
)

Connect = Callable[..., Client]
Serve = Callable[..., Any]

LIST = "/api/principal"
ROWS = [domain(f"d{number}.example") for number in range(5)]


def page(*rows: dict[str, Any], total: int | None = None, link: str = "") -> Reply:
    """Return a page of a list."""
    reply = json_reply({"items": rows, "total": total} if total is not None else list(rows))
    return reply.having(Link=link) if link else reply


def names(client: Client) -> list[str]:
    """Return the names that a client lists."""
    return sorted(str(principal.name) for principal in client.list_principals())


@pytest.mark.parametrize("pages", ["total", "link"])
@pytest.mark.parametrize("rows", [1, 2, 5, 6])
def test_every_page_is_read(pages: Any, rows: int, serve: Serve, connect: Connect) -> None:
    """Whatever the size of a page and however the next one is told."""
    server = serve(QuirkyService(Quirks(page_rows=rows, pages=pages), *ROWS))
    assert names(connect(server)) == [f"d{number}.example" for number in range(5)]
    assert len(server.requests) == -(-5 // rows)


LINKS = [
    '</api/principal?page=2>; rel="next"',
    '<?page=2>; rel="next"',
    "<principal?page=2>; rel=next",
    '</api/principal?page=9>; rel="last", </api/principal?page=2>; rel="next"',
]


@pytest.mark.parametrize("link", LINKS)
def test_a_link_is_resolved_as_the_web_does(link: str, serve: Serve, connect: Connect) -> None:
    """Absolute paths, relative ones and queries alone."""
    script = Script(
        ("GET", LIST, page(ROWS[0], link=link)),
        ("GET", f"{LIST}?page=2", page(ROWS[1])),
    )
    assert names(connect(serve(script))) == ["d0.example", "d1.example"]


def test_an_absolute_link_to_the_same_origin_is_followed(serve: Serve, connect: Connect) -> None:
    """It is the configured origin, spelled out."""

    def answer(request: Request) -> Reply:
        target = f"http://{request.headers['host']}{LIST}?page=2"
        first = page(ROWS[0], link=f'<{target}>; rel="next"')
        return page(ROWS[1]) if "page=2" in request.target else first

    assert names(connect(serve(answer))) == ["d0.example", "d1.example"]


def test_a_link_to_another_origin_is_refused(serve: Serve, connect: Connect) -> None:
    """The token does not go there, and the list is not taken for whole."""
    other = serve(Script())
    link = f'<{other.url}{LIST}?page=2>; rel="next"'
    client = connect(serve(Script(("GET", LIST, page(ROWS[0], link=link)))))
    with pytest.raises(errors.BadAnswer, match="another origin"):
        client.list_principals()
    assert not other.requests


@pytest.mark.parametrize("target", ["http://[::1", "http://b\u00fccher.example:99999/", "//x:y/"])
def test_a_link_that_is_no_address_is_refused(target: str, serve: Serve, connect: Connect) -> None:
    """Where the list goes on can't be told, so it is not whole."""
    script = Script(("GET", LIST, page(ROWS[0], link=f'<{target}>; rel="next"')))
    with pytest.raises(errors.BadAnswer):
        connect(serve(script)).list_principals()


def test_links_in_a_circle_end(serve: Serve, connect: Connect) -> None:
    """A next page that brings nothing new is no next page."""
    link = f'<{LIST}>; rel="next"'
    server = serve(lambda _: page(ROWS[0], link=link))
    with pytest.raises(errors.BadAnswer, match="incomplete"):
        connect(server).list_principals()
    assert len(server.requests) == 2


def test_a_server_that_ignores_the_page_is_refused(serve: Serve, connect: Connect) -> None:
    """The same rows again do not fill the list up to its total."""
    server = serve(lambda _: page(*ROWS[:2], total=5))
    with pytest.raises(errors.BadAnswer, match="2 principals came and the service says 5"):
        connect(server).list_principals()


def test_a_total_that_is_not_reached_is_refused(serve: Serve, connect: Connect) -> None:
    """Pages end before the total does."""
    script = Script(
        ("GET", LIST, page(*ROWS[:2], total=5)),
        ("GET", f"{LIST}?page=2&limit=2", page(ROWS[2], total=5)),
        ("GET", f"{LIST}?page=3&limit=1", page(total=5)),
    )
    with pytest.raises(errors.BadAnswer, match="incomplete"):
        connect(serve(script)).list_principals()


def test_a_total_on_the_first_page_holds_for_all(serve: Serve, connect: Connect) -> None:
    """Later pages need not repeat it, and do not lower it by being silent."""
    link = f'<{LIST}?page=2>; rel="next"'
    script = Script(
        ("GET", LIST, page(*ROWS[:2], total=5, link=link)),
        ("GET", f"{LIST}?page=2", page(ROWS[2])),
        ("GET", f"{LIST}?page=3&limit=1", page()),
    )
    with pytest.raises(errors.BadAnswer, match="the service says 5"):
        connect(serve(script)).list_principals()


def test_a_list_that_changes_while_it_is_paged_is_read_again(
    serve: Serve, connect: Connect
) -> None:
    """A row deleted from the first page moves one from the second into the first, unseen."""
    service = QuirkyService(Quirks(page_rows=2), *ROWS)
    service.meddle("GET", lambda: service.principals.pop("d0.example"))
    client = connect(serve(service))
    assert names(client) == ["d1.example", "d2.example", "d3.example", "d4.example"]


def test_a_list_that_never_rests_is_refused(serve: Serve, connect: Connect) -> None:
    """Where rows come and go during every reading, nothing is decided on it."""
    rows = iter(range(5, 99))
    service = QuirkyService(Quirks(page_rows=2), *ROWS)
    service.meddle(
        "GET", lambda: service.principals.update({f"e{next(rows)}.x": domain("e.x")}), times=60
    )
    with pytest.raises(errors.BadAnswer, match="incomplete"):
        connect(serve(service)).list_principals()


def test_a_fault_on_a_later_page_is_repeated_there(serve: Serve, connect: Connect) -> None:
    """The pages before it are not asked for again."""
    service = QuirkyService(Quirks(page_rows=2), *ROWS)
    service.disturb("GET", problem(503), skip=1)
    server = serve(service)
    assert len(names(connect(server))) == 5
    assert len(server.requests) == 4


def test_a_fault_that_stays_on_a_later_page_loses_the_whole(serve: Serve, connect: Connect) -> None:
    """There is no list of the pages so far."""
    service = QuirkyService(Quirks(page_rows=2), *ROWS)
    service.disturb("GET", problem(500), skip=1)
    with pytest.raises(errors.ServerFailed):
        connect(serve(service)).list_principals()


def test_names_alone_are_asked_for(serve: Serve, connect: Connect) -> None:
    """Each by its own name; one that vanished meanwhile is not there."""
    script = Script(
        ("GET", LIST, json_reply(["d.example", "a@d.example"])),
        ("GET", f"{LIST}/d.example", json_reply(domain("d.example"))),
        ("GET", f"{LIST}/a%40d.example", problem(404)),
    )
    assert names(connect(serve(script))) == ["d.example"]


def test_a_vanished_name_below_the_total_is_refused(serve: Serve, connect: Connect) -> None:
    """Fewer principals than the total are not the whole, whatever the reason."""

    def answer(request: Request) -> Reply:
        if request.target.startswith(f"{LIST}/"):
            return problem(404)
        return json_reply({"items": ["d.example"], "total": 1})

    with pytest.raises(errors.BadAnswer, match="incomplete"):
        connect(serve(answer)).list_principals()


def test_an_empty_tenant_is_an_empty_list(serve: Serve, connect: Connect) -> None:
    """Nothing is a whole list, in each form."""
    bodies: list[Any] = [[], {"items": [], "total": 0}, {"data": []}, {"data": {"items": []}}]
    for body in bodies:
        script = Script(("GET", LIST, json_reply(body)))
        assert connect(serve(script)).list_principals() == []


def test_what_is_stored_under_two_spellings_is_one(serve: Serve, connect: Connect) -> None:
    """Names compare normalised in lists too."""
    rows = [mailbox("Alice@Example.COM"), mailbox("alice@example.com")]
    assert len(connect(serve(Script(("GET", LIST, json_reply(rows))))).list_principals()) == 1
