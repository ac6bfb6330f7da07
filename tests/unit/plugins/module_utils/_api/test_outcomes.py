# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Writes whose outcome is not known: a fresh GET decides, and nothing is created twice."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from ansible_collections.postroom.email.plugins.module_utils._api import errors
from ansible_collections.postroom.email.plugins.module_utils._api.models import Edit, Mailbox
from ansible_collections.postroom.email.plugins.module_utils._api.names import parse_address
from ansible_collections.postroom.email.plugins.module_utils._api.wire.client import Client
from ansible_collections.postroom.email.tests.fakes.mail_api.quirky import (
    Quirks,
    QuirkyService,
    domain,
    mailbox,
)
from ansible_collections.postroom.email.tests.fakes.mail_api.scripted import (
    RESET,
    Reply,
    Script,
    html,
    json_reply,
    problem,
    redirect,
    text_reply,
)

Connect = Callable[..., Client]
Serve = Callable[..., Any]

ALICE = parse_address("alice@example.com")
SALES = parse_address("sales@example.com")
BOX = Mailbox(ALICE)
PASSWORDS = ("pw-8Kd!q0-Zebra",)
ADD_SALES = Edit(add_aliases=frozenset({SALES}))
PATH = "/api/principal/alice%40example.com"
STORED = json_reply({"name": "alice@example.com", "type": "individual", "emails": []})

#: Answers that leave open whether the write took effect, and whether it may be sent again.
UNKNOWN = {
    "reset": (RESET, True),
    "cut short": (Reply(200, b'{"na', {"Content-Type": "application/json"}, missing=40), True),
    "closed": (Reply(200, b"", missing=1), True),
    "500": (problem(500), False),
    "502 page": (html(502), True),
    "503": (problem(503), True),
    "504 without a body": (Reply(504), True),
    "page in place of JSON": (html(200, "Welcome"), False),
    "half a JSON text": (text_reply('{"name": "al', 200, "application/json"), False),
}


def service_with(*principals: dict[str, Any]) -> QuirkyService:
    """Return a service that holds the domain and these."""
    return QuirkyService(None, domain("example.com"), *principals)


@pytest.mark.parametrize("fault", UNKNOWN)
def test_a_create_that_took_effect_is_found_and_not_repeated(
    fault: str, serve: Serve, connect: Connect
) -> None:
    """One POST, however its answer was lost."""
    service = service_with()
    service.disturb("POST", UNKNOWN[fault][0], effect=True)
    server = serve(service)
    assert connect(server).create(BOX, PASSWORDS) == BOX
    assert server.writes == ["POST /api/principal"]


@pytest.mark.parametrize("fault", UNKNOWN)
def test_a_create_without_effect_is_repeated_only_after_a_look(
    fault: str, serve: Serve, connect: Connect
) -> None:
    """Between two POSTs there is a GET that did not find the name; what is final is raised."""
    reply, is_transient = UNKNOWN[fault]
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
def test_a_conflict_after_an_unknown_create_is_settled_by_a_look(
    quirks: Quirks, serve: Serve, connect: Connect
) -> None:
    """The first POST takes effect late, after the look; the second one is told of a conflict."""
    service = QuirkyService(quirks, domain("example.com"))
    service.disturb("POST", RESET)
    service.meddle("GET", lambda: service.principals.update({ALICE.key: mailbox(ALICE.key)}))
    server = serve(service)
    assert connect(server).create(BOX, PASSWORDS) == BOX
    posts = [line for line in server.lines if line.startswith("POST")]
    assert len(posts) == 2


def test_a_conflict_on_the_first_create_is_no_success(serve: Serve, connect: Connect) -> None:
    """Who never lost an answer has not created what is there."""
    server = serve(service_with(mailbox(ALICE.key)))
    with pytest.raises(errors.AlreadyExists):
        connect(server).create(BOX, PASSWORDS)
    assert server.lines == ["POST /api/principal"]


def test_something_else_under_the_name_is_no_success(serve: Serve, connect: Connect) -> None:
    """After a lost answer, a mailbox that looks otherwise was made by another hand."""
    service = service_with()
    service.disturb("POST", RESET)
    service.principals[ALICE.key] = mailbox(ALICE.key, "other@example.com")
    with pytest.raises(errors.AlreadyExists, match="someone else"):
        connect(serve(service)).create(BOX, PASSWORDS)


@pytest.mark.parametrize("effect", [True, False], ids=["took effect", "did not"])
@pytest.mark.parametrize("fault", UNKNOWN)
def test_a_delete_is_settled_by_a_look(
    fault: str, effect: bool, serve: Serve, connect: Connect
) -> None:
    """Gone is gone; where it is still there, the DELETE is repeated or its error raised."""
    reply, is_transient = UNKNOWN[fault]
    service = service_with(mailbox(ALICE.key))
    service.disturb("DELETE", reply, effect=effect)
    server = serve(service)
    if effect or is_transient:
        connect(server).delete(ALICE)
        assert ALICE.key not in service.principals
        assert len(server.writes) == (1 if effect else 2)
    else:
        with pytest.raises(errors.ServiceError):
            connect(server).delete(ALICE)
        assert len(server.writes) == 1


@pytest.mark.parametrize("quirks", [Quirks(), Quirks(errors_as_200=True)], ids=["404", "200"])
def test_deleting_what_is_gone_is_a_success(quirks: Quirks, serve: Serve, connect: Connect) -> None:
    """A positive not-found for the very name ends a DELETE well."""
    server = serve(QuirkyService(quirks))
    connect(server).delete(ALICE)
    assert server.lines == [f"DELETE {PATH}"]


def test_a_delete_that_says_it_had_no_success_is_looked_at(serve: Serve, connect: Connect) -> None:
    """``{"success": false}`` is no success while the mailbox is there."""
    script = Script(
        ("DELETE", PATH, json_reply({"success": False})),
        ("GET", PATH, STORED),
    )
    with pytest.raises(errors.BadAnswer):
        connect(serve(script)).delete(ALICE)


@pytest.mark.parametrize("effect", [True, False], ids=["took effect", "did not"])
@pytest.mark.parametrize("fault", UNKNOWN)
def test_an_edit_is_settled_by_a_look(
    fault: str, effect: bool, serve: Serve, connect: Connect
) -> None:
    """A PATCH that took effect is not repeated; one that did not is, where that may help."""
    reply, is_transient = UNKNOWN[fault]
    service = service_with(mailbox(ALICE.key))
    service.disturb("PATCH", reply, effect=effect)
    server = serve(service)
    if effect or is_transient:
        assert connect(server).edit(ALICE, ADD_SALES) == Mailbox(ALICE, frozenset({SALES}))
        assert len(server.writes) == (1 if effect else 2)
    else:
        with pytest.raises(errors.ServiceError):
            connect(server).edit(ALICE, ADD_SALES)
        assert len(server.writes) == 1


@pytest.mark.parametrize("fault", [name for name, (_fault, again) in UNKNOWN.items() if again])
def test_new_passwords_are_sent_again(fault: str, serve: Serve, connect: Connect) -> None:
    """Nothing can read passwords back, and replacing them twice is the same as once."""
    service = service_with(mailbox(ALICE.key))
    service.disturb("PATCH", UNKNOWN[fault][0], effect=True)
    server = serve(service)
    connect(server).edit(ALICE, Edit(), PASSWORDS)
    bodies = [request.json for request in server.requests if request.method == "PATCH"]
    assert bodies == [{"secrets": list(PASSWORDS)}] * 2


def test_passwords_that_may_have_been_replaced_are_told(serve: Serve, connect: Connect) -> None:
    """A plain 500 is not repeated, and nothing can tell what became of them."""
    service = service_with(mailbox(ALICE.key))
    service.disturb("PATCH", problem(500), effect=True)
    with pytest.raises(errors.ServerFailed, match="passwords were replaced is not known"):
        connect(serve(service)).edit(ALICE, Edit(), PASSWORDS)


def test_an_outcome_that_stays_unknown_is_said_to_be(serve: Serve, connect: Connect) -> None:
    """Where the look fails too, the first error is raised and says that the effect is unknown."""
    service = service_with()
    service.disturb("POST", RESET, effect=True)
    service.disturb("GET", problem(500), times=9)
    with pytest.raises(errors.ConnectionBroken, match="Whether it took effect is not known"):
        connect(serve(service)).create(BOX, PASSWORDS)


@pytest.mark.parametrize(
    "reply", [problem(401), problem(403), problem(500), html(404), html(200), redirect("/login")],
    ids=["401", "403", "500", "404 page", "200 page", "redirect"],
)  # fmt: skip
def test_a_look_that_is_not_answered_never_counts_as_absent(
    reply: Reply, serve: Serve, connect: Connect
) -> None:
    """After a lost answer to a POST nothing but a positive not-found allows another POST."""
    service = service_with()
    service.disturb("POST", RESET)
    service.disturb("GET", reply, times=9)
    server = serve(service)
    with pytest.raises(errors.ConnectionBroken):
        connect(server).create(BOX, PASSWORDS)
    assert server.writes == ["POST /api/principal"]


def test_a_mailbox_that_vanishes_during_an_edit_is_not_found(
    serve: Serve, connect: Connect
) -> None:
    """The service did answer: the mailbox is gone, and that is what the error says."""
    service = service_with(mailbox(ALICE.key))
    service.disturb("PATCH", RESET)
    service.meddle("GET", lambda: service.principals.pop(ALICE.key))
    with pytest.raises(errors.NotFound):
        connect(serve(service)).edit(ALICE, ADD_SALES)


def test_a_hanging_create_is_asked_about_before_the_deadline(
    serve: Serve, connect: Connect
) -> None:
    """A POST may take half of the time that is left, so that a GET can still tell what it did."""
    service = service_with()
    service.disturb("POST", Reply(hang=True), effect=True)
    # In real time, for it is the socket that waits here.
    client = connect(serve(service), clock=time.monotonic, timeout=2.0)
    assert client.create(BOX, PASSWORDS) == BOX


def test_a_password_is_hidden_in_later_answers_too(serve: Serve, connect: Connect) -> None:
    """The look after a create shows the password that the create had sent."""
    script = Script(
        ("POST", "/api/principal", json_reply({"data": 50})),
        ("GET", PATH, problem(400, f"secrets: {PASSWORDS[0]}")),
    )
    with pytest.raises(errors.Rejected) as caught:
        connect(serve(script)).create(BOX, PASSWORDS)
    assert PASSWORDS[0] not in f"{caught.value} {caught.value.failure}"


def test_a_reply_that_lacks_what_was_sent_is_looked_up(serve: Serve, connect: Connect) -> None:
    """A terse reply to a create is not taken for a mailbox without its aliases."""
    with_alias = Mailbox(ALICE, frozenset({SALES}))
    full = {"name": ALICE.key, "type": "individual", "emails": [ALICE.key, SALES.key]}
    script = Script(
        ("POST", "/api/principal", json_reply({"id": 7, "name": ALICE.key})),
        ("GET", PATH, json_reply(full)),
    )
    assert connect(serve(script)).create(with_alias, PASSWORDS) == with_alias
