# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Carrying out a tenant's plan: what is confirmed, what is reported, how it is interrupted."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from ansible_collections.postroom.email.plugins.module_utils._api.applying.bulk import (
    CHANGED,
    FAILED,
    carry_out,
)
from ansible_collections.postroom.email.plugins.module_utils._api.wire.client import Client
from ansible_collections.postroom.email.tests.fakes.mail_api.fussy import (
    Fussy,
    holders,
    many,
    names_of,
    plan_for,
    service_of,
)
from ansible_collections.postroom.email.tests.fakes.mail_api.quirky import (
    QuirkyService,
    forwarder,
    mailbox,
)
from ansible_collections.postroom.email.tests.fakes.mail_api.scripted import (
    Reply,
    Request,
    ScriptedServer,
    problem,
)
from ansible_collections.postroom.email.tests.support.clients import Clock
from ansible_collections.postroom.email.tests.support.planning import (
    FAR,
    Parts,
    forward,
    gone,
    mail,
)

Connect = Callable[..., Client]
Serve = Callable[[Callable[[Request], Reply]], ScriptedServer]

EDITS: Parts = {
    "mailboxes": [mail("alice", "x"), mail("bob", "y"), mail("carol")],
    "forwarders": [forward("team", FAR, "alice")],
}


def editable() -> QuirkyService:
    """Return a service where two mailboxes lack an alias and a forwarder a member."""
    boxes = (mailbox(f"{who}@example.com") for who in ("alice", "bob", "carol"))
    return service_of(*boxes, forwarder("team@example.com", FAR))


def test_edits_are_confirmed_by_one_list(serve: Serve, connect: Connect) -> None:
    """After a wait, in which writers with older copies may have written."""
    service, clock = editable(), Clock()
    planned = plan_for(service, EDITS)
    server = serve(service)
    carry_out(connect(server, clock), planned, concurrency=1)
    methods = [line.split()[0] for line in server.lines]
    assert methods == ["GET", "PATCH"] * 3 + ["GET"]
    assert server.lines[-1] == "GET /api/principal"
    assert clock.sleeps == [0.25]


def test_creates_and_deletes_need_no_confirmation(serve: Serve, connect: Connect) -> None:
    """Nobody writes an older copy of what was not there, or is not."""
    service = service_of(mailbox("old@example.com"))
    planned = plan_for(service, {"mailboxes": [mail("new"), gone("old")]}, passwords=["new"])
    server = serve(service)
    carry_out(connect(server), planned, concurrency=2)
    assert "GET /api/principal" not in server.lines


def test_lost_updates_are_repaired(serve: Serve, connect: Connect) -> None:
    """Only what another writer undid is written again; what they added stays."""
    service = editable()
    planned = plan_for(service, EDITS)
    stale = {"emails": ["alice@example.com", "theirs@example.com"]}
    counted: list[int] = []

    def undo() -> None:
        counted.append(1)
        if len(counted) == 3:
            service.principals["alice@example.com"].update(stale)
            service.principals["team@example.com"].update(members=[FAR])

    service.meddle("PATCH", undo, times=3)
    server = serve(service)
    results = carry_out(connect(server), planned, concurrency=1)
    assert {result.outcome for result in results} == {CHANGED}
    assert holders(service) == {"x": "alice", "theirs": "alice", "y": "bob"}
    assert set(service.principals["team@example.com"]["members"]) == {FAR, "alice@example.com"}
    assert [line.rpartition("/")[2] for line in server.writes[3:]] == [
        "alice%40example.com", "team%40example.com",
    ]  # fmt: skip


def test_what_vanished_after_it_was_written_is_told(serve: Serve, connect: Connect) -> None:
    """The list lacks it, so it is looked for, and is not there."""
    service = editable()
    planned = plan_for(service, {"mailboxes": [mail("alice", "x")]})
    service.meddle("PATCH", lambda: service.principals.pop("alice@example.com"))
    (result,) = carry_out(connect(serve(service)), planned, concurrency=1)
    assert (result.outcome, result.wrote) == (FAILED, True)
    assert "status 404" in result.reason


def test_replaced_passwords_are_told_though_the_repair_fails(
    serve: Serve, connect: Connect
) -> None:
    """The alias was undone by another writer and can't be repaired; the password is new."""
    service = editable()
    planned = plan_for(service, {"mailboxes": [mail("alice", "x")]}, passwords=["alice"])
    fussy = Fussy(service, {})

    def undo() -> None:
        service.principals["alice@example.com"]["emails"] = ["alice@example.com"]
        fussy.refusals["GET /api/principal/alice"] = problem(500)

    service.meddle("PATCH", undo)
    (result,) = carry_out(connect(serve(fussy)), planned, concurrency=1)
    assert (result.outcome, result.wrote) == (FAILED, True)


def test_a_confirmation_that_fails_leaves_what_was_written_unknown(
    serve: Serve, connect: Connect
) -> None:
    """The edits are failures that were written; creates are known, for they were answered."""
    service = editable()
    parts: Parts = {"mailboxes": [mail("alice", "x"), mail("new")]}
    planned = plan_for(service, parts, passwords=["new"])
    fussy = Fussy(service, {})
    service.meddle("PATCH", lambda: fussy.refusals.update({"GET /api/principal": problem(500)}))
    server = serve(fussy)
    results = carry_out(connect(server, retries=0), planned, concurrency=1)
    assert names_of(planned, results) == {"alice": FAILED, "new": CHANGED}
    (told,) = [r for r in results if r.outcome == FAILED and r.wrote]
    assert told.reason.startswith("It was written, but how it stands now is not known. Listing")


def test_few_are_handed_out_ahead(serve: Serve, connect: Connect) -> None:
    """An interruption at any moment finds little that has been promised but not begun."""
    service = service_of()
    planned = many(service, 500)
    server = serve(service)

    def interrupt(_done: int, _total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        carry_out(connect(server), planned, concurrency=2, report=interrupt)
    assert len(server.writes) <= 3 * 2


def test_an_interrupt_leaves_nothing_begun_afterwards(serve: Serve, connect: Connect) -> None:
    """What was under way ends; what waited is never sent."""
    service = service_of()
    planned = many(service, 60)
    server = serve(service)

    def interrupt(done: int, _total: int) -> None:
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        carry_out(connect(server), planned, concurrency=2, report=interrupt)
    sent = len(server.writes)
    assert sent < 60
    assert not [t for t in threading.enumerate() if t.name.startswith("ThreadPool")]
    assert len(server.writes) == sent == len(service.principals) - 1


#: What is refused; the plan has five steps.
REPORTED = {
    "all goes well": {},
    "the first fails, and what needs it": {"POST b.example": problem(422)},
    "nothing is accepted": {"POST ": problem(401), "PATCH ": problem(401), "DELETE ": problem(401)},
}


@pytest.mark.parametrize("case", REPORTED)
def test_the_report_ends_when_all_is_through(case: str, serve: Serve, connect: Connect) -> None:
    """Whatever became of the steps: it grows, and its last word is the total."""
    service = service_of(mailbox("alice@example.com"))
    parts: Parts = {
        "domains": ["b.example"],
        "mailboxes": [mail("alice", "x"), {"name": "x@b.example"}, {"name": "y@b.example"}],
        "forwarders": [{"name": "z@b.example", "members": [FAR]}],
    }
    planned = plan_for(service, parts, passwords=["x@b.example", "y@b.example"])
    told: list[tuple[int, int]] = []
    server = serve(Fussy(service, REPORTED[case]))
    carry_out(connect(server), planned, concurrency=2, report=lambda *so_far: told.append(so_far))
    assert told[-1] == (5, 5)
    assert told == sorted(told)


def test_the_report_goes_back_for_repairs(serve: Serve, connect: Connect) -> None:
    """What has to be done again is not through, and in the end all is."""
    service = editable()
    planned = plan_for(service, EDITS)
    counted: list[int] = []

    def undo() -> None:
        counted.append(1)
        if len(counted) == 3:
            service.principals["alice@example.com"].update(emails=["alice@example.com"])

    service.meddle("PATCH", undo, times=3)
    told: list[int] = []
    carry_out(
        connect(serve(service)), planned, concurrency=1,
        report=lambda done, _total: told.append(done),
    )  # fmt: skip
    assert told == [1, 2, 3, 3]


def test_one_throttled_run_is_done_in_the_end(serve: Serve, connect: Connect) -> None:
    """Where every other write is asked to wait, none fails."""
    service = service_of()
    planned = many(service, 40)
    for number in range(0, 40, 2):
        service.disturb("POST", problem(429).having(Retry_After="1"), skip=number % 3)
    # The clock is every thread's: what is late to one may only have been slept by another.
    results = carry_out(connect(serve(service), retries=40), planned, concurrency=4)
    assert {result.outcome for result in results} == {CHANGED}
