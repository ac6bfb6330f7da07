# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Requests: what is kept of them, who may change them, and how they are found."""

from __future__ import annotations

import itertools
from dataclasses import replace
from datetime import date, timedelta
from functools import partial
from typing import Any

import pytest

from ansible_collections.postroom.email.tests.support.clock import Clock
from postroom_bot.model import FOLLOWING, ID_LENGTH, Action, Posted, Quorum, Request, State, Wish
from postroom_bot.store import requests
from postroom_bot.store.database import Database
from postroom_bot.store.rows import Lost

MINUTE = timedelta(minutes=1)
WISH = Wish(Action.ALIAS_ADD, "sales@example.com", "alice@example.com")
FORWARD = Wish(
    Action.FORWARD_ADD,
    "team@example.com",
    destinations=("bob@example.com", "alice@example.org"),
    reason="Christmas",
)


def added(database: Database, clock: Clock, **fields: Any) -> Request:
    """Add a request as given, of U1 for an alias unless it says otherwise."""
    usual: dict[str, Any] = {"wish": WISH, "requester": "U1", "team": "T1", "at": clock()}
    return database.write(partial(requests.add, **usual | fields))


def claimed(database: Database, clock: Clock, owner: str = "w1", **options: Any) -> Request | None:
    """Claim a request for ten minutes."""
    usual: dict[str, Any] = {"now": clock(), "lease": 10 * MINUTE}
    return database.write(partial(requests.claim, owner=owner, **usual | options))


def sure(request: Request | None) -> Request:
    """Say that there is one."""
    assert request is not None
    return request


def stored(database: Database, request: Request) -> Request:
    """Read a request again."""
    return sure(database.read(lambda c: requests.get(c, request.id)))


def test_everything_is_kept(database: Database, clock: Clock) -> None:
    """A request comes back from the database as it went in, times and tuples included."""
    soon = clock() + MINUTE
    made = added(
        database,
        clock,
        wish=replace(FORWARD, expires_on=date(2027, 1, 31)),
        state=State.PENDING,
        origin="expiry",
        requester_mailbox="alice@example.com",
        rule="forwarders",
        quorum=(Quorum("mail-admins", 2), Quorum("security", 1)),
        warnings=("Mail leaves the company.",),
        digest="d",
        policy_digest="p",
        expires_at=soon,
        remind_at=soon,
        card=Posted("C1", "1.2"),
        shown="pending",
        told="pending",
        attempts=1,
        progress={"job": 7},
        result="So far, so good.",
        ended_at=soon,
        due_at=soon,
    )
    assert stored(database, made) == made
    assert made.right_digest() == stored(database, made).right_digest()


def test_an_id_can_be_read_out(database: Database, clock: Clock) -> None:
    """Ids have no letters that look like others, and are found however they are typed."""
    made = added(database, clock)
    code = made.id.removeprefix("R-")
    assert len(code) == ID_LENGTH
    assert not set(code) & set("01ILOU")
    for typed in (made.id, made.id.lower(), code, f" {code.lower()} "):
        assert database.read(partial(requests.get, request_id=typed)) == made
    assert database.read(lambda c: requests.get(c, "R-0000")) is None


def test_ids_grow_when_they_run_out(
    database: Database, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where all short ids are taken, longer ones are."""
    monkeypatch.setattr(requests, "ID_ALPHABET", "2")
    assert [added(database, clock).id for _ in range(3)] == ["R-2222", "R-22222", "R-222222"]


def test_the_most_overdue_is_claimed_first(database: Database, clock: Clock) -> None:
    """Due requests are claimed in the order in which they were due, each once; others are not."""
    late = added(database, clock, due_at=clock() - MINUTE)
    later = added(database, clock, due_at=clock() - 2 * MINUTE)
    added(database, clock, due_at=clock() + MINUTE)
    found = [claimed(database, clock) for _ in range(3)]
    assert [one and one.id for one in found] == [later.id, late.id, None]


def test_a_lease_that_ran_out_is_free(database: Database, clock: Clock) -> None:
    """A request is another's once the lease is over, and the first holder can write no more."""
    added(database, clock)
    first = sure(claimed(database, clock, "w1"))
    clock.advance(9 * MINUTE)
    assert claimed(database, clock, "w2") is None
    clock.advance(MINUTE)
    assert sure(claimed(database, clock, "w2")).id == first.id
    with pytest.raises(Lost):
        database.write(lambda c: requests.change(c, first, result="late"))
    with pytest.raises(Lost):
        database.write(lambda c: requests.move(c, first, State.PENDING, at=clock()))
    assert not database.write(lambda c: requests.renew(c, first, owner="w1", until=clock()))


def test_leases_of_one_owner_differ(database: Database, clock: Clock) -> None:
    """Two threads that call themselves the same are told apart by the lease's number."""
    added(database, clock)
    first = sure(claimed(database, clock))
    clock.advance(10 * MINUTE)
    second = sure(claimed(database, clock))
    with pytest.raises(Lost):
        database.write(lambda c: requests.change(c, first, result="late"))
    database.write(lambda c: requests.release(c, first, due_at=None))
    database.write(lambda c: requests.change(c, second, result="in time"))
    assert stored(database, second).lease_owner == "w1"


def test_a_renewed_lease_lasts(database: Database, clock: Clock) -> None:
    """A renewed lease holds on, and what was claimed before it can still be written."""
    added(database, clock)
    held = sure(claimed(database, clock))
    until = clock() + 20 * MINUTE
    assert database.write(lambda c: requests.renew(c, held, owner="w1", until=until))
    clock.advance(15 * MINUTE)
    assert claimed(database, clock, "w2") is None
    assert database.write(lambda c: requests.change(c, held, attempts=1)).attempts == 1


def test_one_request_can_be_claimed_before_it_is_due(database: Database, clock: Clock) -> None:
    """By its id a request is claimed whether it is due or not, unless another has it."""
    wanted = added(database, clock, due_at=clock() + MINUTE)
    added(database, clock)
    assert sure(claimed(database, clock, only=wanted.id)).id == wanted.id
    assert claimed(database, clock, only=wanted.id) is None


def test_released_requests_are_due_as_told(database: Database, clock: Clock) -> None:
    """A released request is due when its holder said, or never again."""
    made = added(database, clock)
    for due in (clock() + MINUTE, None):
        held = sure(claimed(database, clock, only=made.id))
        database.write(partial(requests.release, request=held, due_at=due))
        assert stored(database, made).due_at == due
        assert stored(database, made).lease_owner is None


@pytest.mark.parametrize("later", [None, MINUTE])
def test_a_poke_during_the_lease_is_not_lost(
    database: Database, clock: Clock, later: timedelta | None
) -> None:
    """Who votes while somebody is at the request is heard after that, whatever is written."""
    made = added(database, clock)
    held = sure(claimed(database, clock))
    assert database.write(lambda c: requests.poke(c, made.id, at=clock()))
    held = database.write(lambda c: requests.move(c, held, State.PENDING, at=clock()))
    held = database.write(lambda c: requests.change(c, held, shown="pending"))
    due = clock() + later if later else None
    database.write(lambda c: requests.release(c, held, due_at=due))
    assert sure(claimed(database, clock)).id == made.id


def test_an_early_return_comes_before_a_late_poke(database: Database, clock: Clock) -> None:
    """Of the holder's time and a poke's the earlier one counts."""
    made = added(database, clock)
    held = sure(claimed(database, clock))
    database.write(lambda c: requests.poke(c, made.id, at=clock() + 5 * MINUTE))
    database.write(lambda c: requests.release(c, held, due_at=clock() + MINUTE))
    assert stored(database, made).due_at == clock() + MINUTE


def test_nothing_to_poke(database: Database, clock: Clock) -> None:
    """A request that isn't there is told apart."""
    assert not database.write(lambda c: requests.poke(c, "R-0000", at=clock()))


def test_only_the_model_s_steps(database: Database, clock: Clock) -> None:
    """A state is followed only by those that the model names, and final ones have an end."""
    for state, to in itertools.product(State, State):
        made = added(database, clock, state=state)
        step = partial(requests.move, request=made, to=to, at=clock(), result="Well.")
        if to in FOLLOWING.get(state, ()):
            moved = database.write(step)
            assert moved == stored(database, made)
            assert (moved.state, moved.result) == (to, "Well.")
            assert moved.ended_at == (None if moved.is_open else clock())
        else:
            with pytest.raises(ValueError, match=f"{state} to {to}"):
                database.write(step)


def test_changes_are_returned_and_kept(database: Database, clock: Clock) -> None:
    """What was changed stands in what is returned and in the database, a card's removal too."""
    made = added(database, clock, card=Posted("C1", "1"))
    changed = database.write(
        lambda c: requests.change(
            c, made, wish=FORWARD, card=None, quorum=(Quorum("g", 1),), progress={"a": [1]}
        )
    )
    assert changed == stored(database, made)
    assert (changed.wish, changed.card) == (FORWARD, None)
    assert database.write(lambda c: requests.change(c, changed)) == changed


@pytest.mark.parametrize("name", ["due_at", "state", "id", "lease_until", "version"])
def test_some_changes_have_functions_of_their_own(
    database: Database, clock: Clock, name: str
) -> None:
    """What claims, pokes and releases rest on can't be written past them."""
    made = added(database, clock)
    with pytest.raises(ValueError, match=name):
        database.write(lambda c: requests.change(c, made, **{name: None}))


def test_a_step_is_made_once(database: Database, clock: Clock) -> None:
    """Of two who read the same state the second one to move it loses."""
    made = added(database, clock, state=State.PENDING)
    database.write(lambda c: requests.move(c, made, State.CANCELLED, at=clock()))
    with pytest.raises(Lost):
        database.write(lambda c: requests.move(c, made, State.APPROVED, at=clock()))
    assert stored(database, made).state is State.CANCELLED


def test_requests_are_found_by_their_person(database: Database, clock: Clock) -> None:
    """A person's requests are listed and counted, open ones and recent ones; others' are not."""
    made = []
    for state in (State.PENDING, State.DONE, State.NEW):
        made.append(added(database, clock, state=state).id)
        clock.advance(MINUTE)
    added(database, clock, requester="U2")
    ids = [one.id for one in database.read(lambda c: requests.open_by(c, "U1"))]
    assert ids == [made[0], made[2]]
    ids = [one.id for one in database.read(lambda c: requests.recent_by(c, "U1", limit=2))]
    assert ids == [made[2], made[1]]
    since = clock() - 2 * MINUTE
    assert database.read(lambda c: requests.count_since(c, "U1", since)) == 2


def test_what_waits_is_listed_and_counted(database: Database, clock: Clock) -> None:
    """Pending requests are listed, and open ones counted by state, none included."""
    pending = added(database, clock, state=State.PENDING)
    for state in (State.NEW, State.NEW, State.DONE):
        added(database, clock, state=state)
    assert database.read(requests.waiting) == [pending]
    assert database.read(requests.count_open) == {
        State.NEW: 2,
        State.PENDING: 1,
        State.APPROVED: 0,
        State.EXECUTING: 0,
    }


def test_twins_are_found(database: Database, clock: Clock) -> None:
    """The same wish of the same person is found while open, in any order and for any reason."""
    made = added(database, clock, wish=FORWARD)
    same = replace(FORWARD, destinations=FORWARD.destinations[::-1], reason="Again")
    assert database.read(lambda c: requests.twin(c, same, "U1")) == made
    assert database.read(lambda c: requests.twin(c, same, "U2")) is None
    assert database.read(lambda c: requests.twin(c, replace(same, target="x@y.z"), "U1")) is None
    database.write(lambda c: requests.move(c, made, State.CANCELLED, at=clock()))
    assert database.read(lambda c: requests.twin(c, same, "U1")) is None
