# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Applying a tenant's plan: what a failure stops, and how results are confirmed and reported."""

from __future__ import annotations

import threading
from functools import partial

import pytest

from ansible_collections.postroom.email.plugins.module_utils._api import errors
from ansible_collections.postroom.email.plugins.module_utils._api.tenant.apply import (
    CHANGED,
    FAILED,
    NOT_ATTEMPTED,
    UNCHANGED,
    apply_plan,
)
from ansible_collections.postroom.email.tests.fakes.mail_api.in_memory_service import (
    InMemoryService,
    domain,
    forwarder,
    mailbox,
)
from ansible_collections.postroom.email.tests.fakes.mail_api.refusing_service import (
    RefusingService,
    holders,
    many,
    names_of,
    plan_for,
    service_of,
)
from ansible_collections.postroom.email.tests.fakes.mail_api.scripted import problem
from ansible_collections.postroom.email.tests.support.clients import Clock, Connect, Serve
from ansible_collections.postroom.email.tests.support.planning import (
    FAR,
    Parts,
    forward,
    mail,
)

run = partial(apply_plan, deadline_per_change=True)


def test_a_domain_that_was_not_emptied_stays(serve: Serve, connect: Connect) -> None:
    """A domain is not deleted while it contains an object that could not be deleted."""
    service = service_of(mailbox("alice@example.com"))
    parts: Parts = {"domains": [{"name": "example.com", "state": "absent", "force": True}]}
    planned = plan_for(service, parts, max_deletions=9)
    server = serve(RefusingService(service, {"DELETE /api/principal/alice": problem(422)}))
    results = run(connect(server), planned, concurrency=4)
    assert names_of(planned, results) == {"alice": FAILED, "example.com": NOT_ATTEMPTED}
    assert set(service.principals) == {"example.com", "alice@example.com"}


def test_an_address_that_another_run_moved_is_not_given_back(
    serve: Serve, connect: Connect
) -> None:
    """An address that another run has already moved is not returned to its previous owner."""
    service = service_of(mailbox("alice@example.com", "x@example.com"))
    parts: Parts = {"mailboxes": [mail("alice"), mail("bob", "x")]}
    planned = plan_for(service, parts, passwords=["bob@example.com"])
    for row in (mailbox("alice@example.com"), mailbox("bob@example.com", "x@example.com")):
        service.principals[row["name"]] = row
    results = run(connect(serve(service)), planned, concurrency=1)
    assert [result.outcome for result in results] == [CHANGED, UNCHANGED]
    assert holders(service) == {"x": "bob"}
    assert "given back" not in "".join(result.reason for result in results)


@pytest.mark.parametrize("always", [False, True])
def test_an_object_that_another_run_creates_is_unchanged(
    always: bool, serve: Serve, connect: Connect
) -> None:
    """An object that another run creates first is not changed, unless passwords are always set."""
    service = service_of()
    parts: Parts = {"domains": ["new.example"], "mailboxes": ["a@new.example", "b@new.example"]}
    names = ["a@new.example", "b@new.example"]
    planned = plan_for(service, parts, passwords=names, replace=always)
    other = [domain("new.example"), mailbox(names[0]), mailbox(names[1], "c@new.example")]
    service.principals |= {row["name"]: row for row in other}
    server = serve(service)
    results = run(connect(server), planned, concurrency=1)
    outcomes = [UNCHANGED, CHANGED if always else UNCHANGED, FAILED]
    assert [result.outcome for result in results] == outcomes
    assert isinstance(results[2].error, errors.AlreadyExists)
    assert len([line for line in server.lines if line.startswith("PATCH")]) == always


MOVE: Parts = {"mailboxes": [mail("bob"), mail("alice", "x")]}
TWO_MOVES: Parts = {"mailboxes": [mail("bob"), mail("alice", "x"), mail("carol", "y")]}


def movers() -> InMemoryService:
    """Return a service on which Bob has the addresses that other mailboxes should get."""
    return service_of(
        *map(mailbox, ("alice@example.com", "carol@example.com")),
        mailbox("bob@example.com", "x@example.com", "y@example.com"),
    )


#: The definition, the refused objects, the final owners of the addresses, and the outcomes.
RETURNED: dict[str, tuple[Parts, list[str], dict[str, str], list[str]]] = {
    "the only one": (MOVE, ["alice"], {"x": "bob", "y": "bob"}, [NOT_ATTEMPTED, FAILED]),
    "one of two": (TWO_MOVES, ["alice"], {"x": "bob", "y": "carol"}, [CHANGED, FAILED, CHANGED]),
    "both": (
        TWO_MOVES,
        ["alice", "carol"],
        {"x": "bob", "y": "bob"},
        [NOT_ATTEMPTED, FAILED, FAILED],
    ),
}


@pytest.mark.parametrize("case", RETURNED)
def test_a_refused_address_is_given_back(case: str, serve: Serve, connect: Connect) -> None:
    """If the new owner can't take an address, it is returned to its previous owner."""
    parts, refused, after, outcomes = RETURNED[case]
    service = movers()
    planned = plan_for(service, parts)
    refusals = {f"PATCH /api/principal/{who}": problem(422, "no") for who in refused}
    results = run(connect(serve(RefusingService(service, refusals))), planned, concurrency=4)
    assert holders(service) == after
    assert [result.outcome for result in results] == outcomes
    assert "was given back to bob@example.com" in results[1].reason
    assert "given back" in results[0].reason


def test_an_address_of_an_unattempted_step_is_given_back(serve: Serve, connect: Connect) -> None:
    """If a mailbox needs addresses of two owners and one move fails, the other move is undone."""
    boxes: tuple[tuple[str, list[str]], ...] = (
        ("alice", []),
        ("bob", ["x@example.com"]),
        ("carol", ["y@example.com"]),
    )
    service = service_of(*(mailbox(f"{who}@example.com", *held) for who, held in boxes))
    parts: Parts = {"mailboxes": [mail("alice", "x", "y"), mail("bob"), mail("carol")]}
    planned = plan_for(service, parts)
    server = serve(RefusingService(service, {"PATCH /api/principal/carol": problem(422, "no")}))
    results = run(connect(server), planned, concurrency=4)
    assert [result.outcome for result in results] == [NOT_ATTEMPTED, FAILED, NOT_ATTEMPTED]
    assert holders(service) == {"x": "bob", "y": "carol"}


def test_an_address_that_can_not_be_given_back_is_reported(serve: Serve, connect: Connect) -> None:
    """An address that can't be returned is reported, because it may no longer receive mail."""
    service = movers()
    planned = plan_for(service, MOVE)
    refusing = RefusingService(service, {"PATCH /api/principal/alice": problem(422, "no")})
    service.interfere(
        "PATCH", lambda: refusing.refusals.update({"PATCH /api/principal/bob": problem(422, "no")})
    )
    freed, claimed = run(connect(serve(refusing)), planned, concurrency=4)
    assert (freed.outcome, claimed.outcome) == (CHANGED, FAILED)
    assert "could not be given back" in claimed.reason
    assert holders(service) == {"y": "bob"}


@pytest.mark.parametrize("lost", ["the confirmation", "the answer and its verification"])
def test_an_address_that_may_have_moved_stays(lost: str, serve: Serve, connect: Connect) -> None:
    """An address that may have reached its new owner is not returned to the previous one."""
    service = movers()
    planned = plan_for(service, MOVE)
    refusing = RefusingService(service, {})
    is_known = lost == "the confirmation"
    read = "GET /api/principal" if is_known else "GET /api/principal/alice"
    patches = iter([{}, {read: problem(500)}])
    service.interfere("PATCH", lambda: refusing.refusals.update(next(patches)), times=2)
    if not is_known:
        service.disturb("PATCH", problem(500), effect=True, skip=1)
    server = serve(refusing)
    freed, claimed = run(connect(server), planned, concurrency=4)
    assert holders(service) == {"x": "alice", "y": "bob"}
    assert (freed.outcome, claimed.outcome, claimed.wrote) == (CHANGED, FAILED, is_known)
    assert "given back" not in claimed.reason
    assert "unknown" in claimed.reason
    assert len(server.writes) == 2


def test_a_pause_beyond_the_deadline_stops_the_rest(serve: Serve, connect: Connect) -> None:
    """If a requested pause exceeds the deadline, the run stops without waiting or changing more."""
    service = service_of()
    planned = many(service, 40)
    server = serve(RefusingService(service, {"POST b": problem(429).having(Retry_After="86400")}))
    clock = Clock()
    results = run(connect(server, clock), planned, concurrency=2)
    assert {result.outcome for result in results} == {FAILED, NOT_ATTEMPTED}
    assert len(server.writes) < 10
    assert max(clock.sleeps, default=0) < 30


@pytest.mark.parametrize("concurrency", [1, 4])
def test_a_refused_token_stops_the_rest(concurrency: int, serve: Serve, connect: Connect) -> None:
    """Once a token is rejected, no thread starts another change."""
    service = service_of()
    planned = many(service, 40)
    server = serve(RefusingService(service, {"POST b": problem(401)}))
    results = run(connect(server), planned, concurrency=concurrency)
    failed = [result for result in results if result.outcome == FAILED]
    assert len(server.writes) == len(failed) <= concurrency
    assert len(failed) + sum(r.outcome == NOT_ATTEMPTED for r in results) == 40


def test_many_failures_in_a_row_stop_the_rest(serve: Serve, connect: Connect) -> None:
    """Sixteen failures in a row stop other changes, but a success or refusal resets the count."""
    service = service_of()
    planned = many(service, 40)
    server = serve(RefusingService(service, {"POST b": problem(500)}))
    results = run(connect(server, retries=0), planned, concurrency=1)
    failed = [result.outcome for result in results].count(FAILED)
    assert failed in (16, 17, 18)
    assert [result.outcome for result in results[failed:]] == [NOT_ATTEMPTED] * (40 - failed)
    for refusal in ({}, {"POST b": problem(422)}):
        refusals = {f"POST b{number:03}": problem(500) for number in range(40) if number % 8}
        server = serve(RefusingService(service, refusals | refusal))
        results = run(connect(server, retries=0), planned, concurrency=1)
        assert [result.outcome for result in results].count(NOT_ATTEMPTED) == 0


EDITS: Parts = {
    "mailboxes": [mail("alice", "x"), mail("bob", "y"), mail("carol")],
    "forwarders": [forward("team", FAR, "alice")],
}


def editable() -> InMemoryService:
    """Return a service in which two mailboxes lack an alias and a forwarder lacks a member."""
    boxes = (mailbox(f"{who}@example.com") for who in ("alice", "bob", "carol"))
    return service_of(*boxes, forwarder("team@example.com", FAR))


def test_edits_are_confirmed_by_one_list(serve: Serve, connect: Connect) -> None:
    """Edits are confirmed with one list, after a pause in which other clients may write."""
    service, clock = editable(), Clock()
    planned = plan_for(service, EDITS)
    server = serve(service)
    run(connect(server, clock), planned, concurrency=1)
    methods = [line.split()[0] for line in server.lines]
    assert methods == ["GET", "PATCH"] * 3 + ["GET"]
    assert server.lines[-1] == "GET /api/principal"
    assert clock.sleeps == [0.25]


def test_lost_updates_are_repaired(serve: Serve, connect: Connect) -> None:
    """A lost update is repaired without removing what another client has added."""
    service = editable()
    planned = plan_for(service, EDITS)
    stale = {"emails": ["alice@example.com", "theirs@example.com"]}
    counted: list[int] = []

    def undo() -> None:
        counted.append(1)
        if len(counted) == 3:
            service.principals["alice@example.com"].update(stale)
            service.principals["team@example.com"].update(members=[FAR])

    service.interfere("PATCH", undo, times=3)
    server = serve(service)
    reported: list[int] = []
    results = apply_plan(
        connect(server),
        planned,
        deadline_per_change=True,
        concurrency=1,
        report=lambda done, _total: reported.append(done),
    )
    assert {result.outcome for result in results} == {CHANGED}
    assert reported == [1, 2, 3, 2, 3]
    assert holders(service) == {"x": "alice", "theirs": "alice", "y": "bob"}
    assert set(service.principals["team@example.com"]["members"]) == {FAR, "alice@example.com"}
    assert [line.rpartition("/")[2] for line in server.writes[3:]] == [
        "alice%40example.com",
        "team%40example.com",
    ]


def test_an_edit_that_can_not_be_repaired_was_written(serve: Serve, connect: Connect) -> None:
    """An edit that can't be repaired is a failure, but counts as a change."""
    service = editable()
    planned = plan_for(service, {"mailboxes": [mail("alice", "x")]})
    service.interfere("PATCH", lambda: service.principals.pop("alice@example.com"))
    (result,) = run(connect(serve(service)), planned, concurrency=1)
    assert (result.outcome, result.wrote) == (FAILED, True)
    assert "status 404" in result.reason


def test_a_failed_confirmation_leaves_edits_unknown(serve: Serve, connect: Connect) -> None:
    """If the confirmation fails, edits count as failed but written, and creations as done."""
    service = editable()
    parts: Parts = {"mailboxes": [mail("alice", "x"), mail("new")]}
    planned = plan_for(service, parts, passwords=["new"])
    refusing = RefusingService(service, {})
    service.interfere(
        "PATCH", lambda: refusing.refusals.update({"GET /api/principal": problem(500)})
    )
    server = serve(refusing)
    results = run(connect(server, retries=0), planned, concurrency=1)
    assert names_of(planned, results) == {"alice": FAILED, "new": CHANGED}
    (failure,) = [r for r in results if r.outcome == FAILED and r.wrote]
    assert failure.reason.startswith("It was written")


def test_an_interrupt_starts_nothing_more(serve: Serve, connect: Connect) -> None:
    """After an interrupt, running changes finish, no others start, and no thread remains."""
    service = service_of()
    planned = many(service, 40)
    server = serve(service)

    def interrupt(done: int, _total: int) -> None:
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(connect(server), planned, concurrency=2, report=interrupt)
    assert len(server.writes) <= 3 + 3 * 2
    assert not [t for t in threading.enumerate() if t.name.startswith("ThreadPool")]
    assert len(server.writes) == len(service.principals) - 1
