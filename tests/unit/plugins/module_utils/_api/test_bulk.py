# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Carrying out a tenant's plan: what a failure stops, what is given back, what is confirmed."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from ansible_collections.postroom.email.plugins.module_utils._api.applying.bulk import (
    CHANGED,
    FAILED,
    NOT_ATTEMPTED,
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
    Parts,
    gone,
    mail,
)

Connect = Callable[..., Client]
Serve = Callable[[Callable[[Request], Reply]], ScriptedServer]

GONE_AWAY = "could not be given back to bob@example.com and may deliver nowhere now. Run again."


def test_a_failure_stops_only_what_needs_it(serve: Serve, connect: Connect) -> None:
    """A domain that can't be registered stops its mailbox; the others are done."""
    service = service_of(mailbox("old@example.com"))
    parts: Parts = {
        "domains": ["b.example", "c.example"],
        "mailboxes": [mail("alice"), {"name": "x@b.example"}, {"name": "y@c.example"}, gone("old")],
    }
    planned = plan_for(service, parts, passwords=["alice", "x@b.example", "y@c.example"])
    server = serve(Fussy(service, {"POST b.example": problem(422, "no")}))
    results = carry_out(connect(server), planned, concurrency=4)
    assert names_of(planned, results) == {
        "b.example": FAILED, "c.example": CHANGED, "alice": CHANGED, "x": NOT_ATTEMPTED,
        "y": CHANGED, "old": CHANGED,
    }  # fmt: skip
    assert [r.reason for r in results if r.outcome == NOT_ATTEMPTED] == [
        "it needs the domain b.example to be changed first"
    ]
    assert set(service.principals) == {
        "example.com", "c.example", "alice@example.com", "y@c.example",
    }  # fmt: skip


def test_a_domain_stays_while_what_is_on_it_could_not_be_deleted(
    serve: Serve, connect: Connect
) -> None:
    """Or else the service might take the rest with it."""
    service = service_of(mailbox("alice@example.com"))
    parts: Parts = {"domains": [{"name": "example.com", "state": "absent", "force": True}]}
    planned = plan_for(service, parts, max_deletions=9)
    server = serve(Fussy(service, {"DELETE /api/principal/alice": problem(422)}))
    results = carry_out(connect(server), planned, concurrency=4)
    assert names_of(planned, results) == {"alice": FAILED, "example.com": NOT_ATTEMPTED}
    assert set(service.principals) == {"example.com", "alice@example.com"}


MOVE: Parts = {"mailboxes": [mail("bob"), mail("alice", "x")]}
TWO_MOVES: Parts = {"mailboxes": [mail("bob"), mail("alice", "x"), mail("carol", "y")]}


def movers() -> QuirkyService:
    """Return a service where Bob has what others are to have."""
    return service_of(*map(mailbox, ("alice@example.com", "carol@example.com")),
                      mailbox("bob@example.com", "x@example.com", "y@example.com"))  # fmt: skip


def test_what_can_t_be_taken_is_given_back(serve: Serve, connect: Connect) -> None:
    """All of it: then nothing is changed of who gave it up."""
    service = movers()
    planned = plan_for(service, MOVE)
    server = serve(Fussy(service, {"PATCH /api/principal/alice": problem(422, "no")}))
    freed, claimed = carry_out(connect(server), planned, concurrency=4)
    assert holders(service) == {"x": "bob", "y": "bob"}
    assert (freed.outcome, freed.reason) == (NOT_ATTEMPTED, "what it gave up was given back")
    assert claimed.outcome == FAILED
    assert claimed.reason.endswith("x@example.com was given back to bob@example.com.")


def test_what_one_of_two_can_t_take_is_given_back(serve: Serve, connect: Connect) -> None:
    """The other's part stays moved, and both are told."""
    service = movers()
    planned = plan_for(service, TWO_MOVES)
    server = serve(Fussy(service, {"PATCH /api/principal/alice": problem(422, "no")}))
    results = carry_out(connect(server), planned, concurrency=4)
    assert holders(service) == {"x": "bob", "y": "carol"}
    assert names_of(planned, results) == {"bob": CHANGED, "alice": FAILED, "carol": CHANGED}
    assert results[0].reason.endswith("x@example.com was given back.")


def test_what_nobody_can_take_is_given_back_one_after_the_other(
    serve: Serve, connect: Connect
) -> None:
    """In the end nothing of it is changed."""
    service = movers()
    planned = plan_for(service, TWO_MOVES)
    refusals = {f"PATCH /api/principal/{who}": problem(422, "no") for who in ("alice", "carol")}
    results = carry_out(connect(serve(Fussy(service, refusals))), planned, concurrency=4)
    assert holders(service) == {"x": "bob", "y": "bob"}
    assert names_of(planned, results) == {"bob": NOT_ATTEMPTED, "alice": FAILED, "carol": FAILED}


def test_what_waits_for_someone_else_is_given_back(serve: Serve, connect: Connect) -> None:
    """Alice is not attempted, for one of two that she waits for failed; the other gets his back."""
    service = service_of(
        mailbox("alice@example.com"), mailbox("bob@example.com", "x@example.com"),
        mailbox("carol@example.com", "y@example.com"),
    )  # fmt: skip
    parts: Parts = {"mailboxes": [mail("alice", "x", "y"), mail("bob"), mail("carol")]}
    planned = plan_for(service, parts)
    server = serve(Fussy(service, {"PATCH /api/principal/carol": problem(422, "no")}))
    results = carry_out(connect(server), planned, concurrency=4)
    assert [result.outcome for result in results] == [NOT_ATTEMPTED, FAILED, NOT_ATTEMPTED]
    assert holders(service) == {"x": "bob", "y": "carol"}


def test_what_can_t_be_given_back_is_told(serve: Serve, connect: Connect) -> None:
    """The address may deliver nowhere, and a second run mends it."""
    service = movers()
    planned = plan_for(service, MOVE)
    fussy = Fussy(service, {"PATCH /api/principal/alice": problem(422, "no")})
    service.meddle(
        "PATCH", lambda: fussy.refusals.update({"PATCH /api/principal/bob": problem(422, "no")})
    )
    freed, claimed = carry_out(connect(serve(fussy)), planned, concurrency=4)
    assert (freed.outcome, claimed.outcome) == (CHANGED, FAILED)
    assert claimed.reason.endswith(f"x@example.com {GONE_AWAY}")
    assert holders(service) == {"y": "bob"}


def test_what_was_written_is_not_given_back(serve: Serve, connect: Connect) -> None:
    """The claim went through, only how it stands is not known: the address has its new owner."""
    service = movers()
    planned = plan_for(service, MOVE)
    fussy = Fussy(service, {})
    patches = iter([{}, {"GET /api/principal": problem(500)}])
    service.meddle("PATCH", lambda: fussy.refusals.update(next(patches)), times=2)
    server = serve(fussy)
    freed, claimed = carry_out(connect(server), planned, concurrency=4)
    assert holders(service) == {"x": "alice", "y": "bob"}
    assert (freed.outcome, claimed.outcome, claimed.wrote) == (CHANGED, FAILED, True)
    assert claimed.reason.startswith("It was written, but how it stands now is not known. ")
    assert "given back" not in claimed.reason
    assert len(server.writes) == 2


def test_what_may_have_been_written_is_not_given_back(serve: Serve, connect: Connect) -> None:
    """The answer and the look after it were lost: the address stays where it may be."""
    service = movers()
    planned = plan_for(service, MOVE)
    fussy = Fussy(service, {})
    patches = iter([{}, {"GET /api/principal/alice": problem(500)}])
    service.meddle("PATCH", lambda: fussy.refusals.update(next(patches)), times=2)
    service.disturb("PATCH", problem(500), effect=True, skip=1)
    server = serve(fussy)
    freed, claimed = carry_out(connect(server), planned, concurrency=4)
    assert holders(service) == {"x": "alice", "y": "bob"}
    assert (freed.outcome, claimed.outcome) == (CHANGED, FAILED)
    assert claimed.reason.endswith("Who has x@example.com now is not known. Run again.")
    assert len(server.writes) == 2


def test_a_service_that_asks_for_more_time_than_there_is_is_not_waited_for(
    serve: Serve, connect: Connect
) -> None:
    """Nobody sleeps for it, and nothing more is attempted."""
    service = service_of()
    planned = many(service, 60)
    server = serve(Fussy(service, {"POST b": problem(429).having(Retry_After="86400")}))
    clock = Clock()
    results = carry_out(connect(server, clock), planned, concurrency=2)
    assert {result.outcome for result in results} == {FAILED, NOT_ATTEMPTED}
    assert len(server.writes) < 10
    assert max(clock.sleeps, default=0) < 30


@pytest.mark.parametrize("concurrency", [1, 4])
def test_a_token_that_is_refused_stops_the_rest_at_once(
    concurrency: int, serve: Serve, connect: Connect
) -> None:
    """No thread begins another change after it has met a 401."""
    service = service_of()
    planned = many(service, 60)
    server = serve(Fussy(service, {"POST b": problem(401)}))
    results = carry_out(connect(server), planned, concurrency=concurrency)
    failed = [result for result in results if result.outcome == FAILED]
    assert len(server.writes) == len(failed) <= concurrency
    reasons = {result.reason for result in results if result.outcome == NOT_ATTEMPTED}
    assert all(reason.startswith("the service refuses all of it: ") for reason in reasons)
    assert len(failed) + sum(r.outcome == NOT_ATTEMPTED for r in results) == 60


def test_silence_many_times_in_a_row_stops_the_rest(serve: Serve, connect: Connect) -> None:
    """Sixteen failures without an answer are enough."""
    service = service_of()
    planned = many(service, 60)
    server = serve(Fussy(service, {"POST b": problem(500)}))
    results = carry_out(connect(server, retries=0), planned, concurrency=1)
    outcomes = [result.outcome for result in results]
    assert outcomes.count(FAILED) in (16, 17, 18)
    assert outcomes == [FAILED] * outcomes.count(FAILED) + [NOT_ATTEMPTED] * (
        60 - outcomes.count(FAILED)
    )
    assert results[-1].reason.startswith("many in a row came to nothing, the last so: Creating")


@pytest.mark.parametrize("status", [200, 422])
def test_an_answer_between_breaks_the_row(status: int, serve: Serve, connect: Connect) -> None:
    """Be it a success or a refusal, the service is there."""
    service = service_of()
    planned = many(service, 60)
    refusals = {f"POST b{number:03}": problem(500) for number in range(60) if number % 8}
    refusals |= {"POST b": problem(status)} if status == 422 else {}
    results = carry_out(connect(serve(Fussy(service, refusals)), retries=0), planned, concurrency=1)
    assert [r.outcome for r in results].count(NOT_ATTEMPTED) == 0


class Crowd:
    """Answers from a service, counts how many requests are under way at a time.

    Each waits until so many are there together, or for a while.
    """

    def __init__(self, service: QuirkyService, together: int) -> None:
        self.service = service
        self.most = 0
        self._now = 0
        self._lock = threading.Lock()
        self._together = threading.Barrier(together)

    def __call__(self, request: Request) -> Reply:
        """Answer one request."""
        with self._lock:
            self._now += 1
            self.most = max(self.most, self._now)
        if request.method == "POST":
            self._together.wait(60)
        reply = self.service(request)
        with self._lock:
            self._now -= 1
        return reply


@pytest.mark.parametrize("concurrency", [1, 3, 8])
def test_so_many_are_under_way_and_no_more(
    concurrency: int, serve: Serve, connect: Connect
) -> None:
    """As the server counts them."""
    service = service_of()
    planned = many(service, 24)
    crowd = Crowd(service, concurrency)
    results = carry_out(connect(serve(crowd)), planned, concurrency=concurrency)
    assert {result.outcome for result in results} == {CHANGED}
    assert crowd.most == concurrency
