# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Requests, votes, deliveries, locks, profile email addresses and tombstones."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from datetime import date, datetime, timedelta
from functools import partial
from threading import Barrier
from typing import Any

import pytest
from sqlalchemy import Connection

from ansible_collections.postroom.email.tests.support.clock import Clock
from postroom_bot.domain import (
    FOLLOWING,
    ID_LENGTH,
    Action,
    Change,
    MessageRef,
    Person,
    Quorum,
    Reason,
    Request,
    State,
    Vote,
    VoteState,
)
from postroom_bot.errors import LeaseLost
from postroom_bot.store import (
    audit,
    idempotency_keys,
    profile_email_changes,
    requests,
    tombstones,
    votes,
)
from postroom_bot.store.profile_email_changes import ProfileEmail
from postroom_common.database import Database

MINUTE = timedelta(minutes=1)
MAILBOX = "alice@example.com"
WISH = Change(Action.ALIAS_ADD, "sales@example.com", MAILBOX)
FORWARD = Change(
    Action.FORWARD_ADD,
    "team@example.com",
    destinations=("bob@example.com", "alice@example.org"),
    justification="Christmas",
)
SHOWN = Reason("password.shown")


def added(database: Database, clock: Clock, **fields: Any) -> Request:
    """Add a request with the given fields. By default, U1 requests an alias."""
    usual: dict[str, Any] = {"change": WISH, "requester": "U1", "team": "T1", "at": clock()}
    return database.write(partial(requests.add, **usual | fields))


def claimed(database: Database, clock: Clock, owner: str = "w1", **options: Any) -> Request | None:
    """Claim a request for ten minutes."""
    usual: dict[str, Any] = {"now": clock(), "lease": 10 * MINUTE}
    return database.write(partial(requests.lease_next, holder=owner, **usual | options))


def sure(request: Request | None) -> Request:
    """Return a request after checking that it is not None."""
    assert request is not None
    return request


def stored(database: Database, request: Request) -> Request:
    """Read a request from the database again."""
    return sure(database.read(lambda c: requests.get(c, request.id)))


def test_everything_is_kept(database: Database, clock: Clock) -> None:
    """A request is read from the database exactly as it was written, including times and tuples."""
    soon = clock() + MINUTE
    made = added(
        database,
        clock,
        change=replace(FORWARD, last_day=date(2027, 1, 31)),
        state=State.PENDING,
        origin="expiry",
        requester_mailbox="alice@example.com",
        rule="forwarders",
        quorum=(Quorum("mail-admins", 2), Quorum("security", 1)),
        warnings=(Reason("warning.password"), Reason("policy.deny", {"text": "Well."})),
        digest="d",
        policy_digest="p",
        decide_by=soon,
        execute_by=soon,
        remind_at=soon,
        card=MessageRef("C1", "1.2"),
        card_state="pending",
        attempts=1,
        failures=2,
        blocked=Reason("mail.unavailable"),
        notes={"job": 7},
        lock="team@example.com",
        result=Reason("domain.missing", {"domain": "x.example"}),
        closed_at=soon,
        due_at=soon,
    )
    assert stored(database, made) == made
    assert made.computed_digest() == stored(database, made).computed_digest()


def test_an_id_is_unambiguous(
    database: Database, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Request IDs contain no confusable letters, are found in any spelling, and never run out."""
    made = added(database, clock)
    code = made.id.removeprefix("R-")
    assert len(code) == ID_LENGTH
    assert not set(code) & set("01ILOU")
    for typed in (made.id.lower(), f" {code.lower()} "):
        assert database.read(partial(requests.get, request_id=typed)) == made
    assert database.read(lambda c: requests.get(c, "R-0000")) is None
    monkeypatch.setattr(requests, "ID_ALPHABET", "2")
    assert [added(database, clock).id for _ in range(2)] == ["R-2222", "R-22222"]
    # The audit may name a request that was deleted.
    row = partial(audit.append, event="request.done", actor="U1", request_id="R-222222")
    database.write(partial(row, at=clock()))
    assert added(database, clock).id == "R-2222222"


def test_the_most_overdue_is_claimed_first(database: Database, clock: Clock) -> None:
    """Due requests are claimed once, the most overdue first. Other requests are claimed by ID."""
    late = added(database, clock, due_at=clock() - MINUTE)
    later = added(database, clock, due_at=clock() - 2 * MINUTE)
    future = added(database, clock, due_at=clock() + MINUTE)
    found = [claimed(database, clock) for _ in range(3)]
    assert [one and one.id for one in found] == [later.id, late.id, None]
    assert sure(claimed(database, clock, only=future.id)).id == future.id
    assert claimed(database, clock, only=future.id) is None


@pytest.mark.parametrize("owner", ["w1", "w2"])
def test_an_expired_lease_is_free(database: Database, clock: Clock, owner: str) -> None:
    """A request with an expired lease can be claimed. Its former holder can't write to it."""
    added(database, clock)
    first = sure(claimed(database, clock, "w1"))
    clock.advance(9 * MINUTE)
    assert claimed(database, clock, owner) is None
    until = clock() + 2 * MINUTE
    assert database.write(lambda c: requests.renew(c, first, until=until))
    clock.advance(MINUTE)
    assert claimed(database, clock, owner) is None
    assert database.write(lambda c: requests.save(c, first, attempts=1)).attempts == 1
    clock.advance(MINUTE)
    second = sure(claimed(database, clock, owner))
    with pytest.raises(LeaseLost):
        database.write(lambda c: requests.save(c, first, result=SHOWN))
    with pytest.raises(LeaseLost):
        database.write(lambda c: requests.transition(c, first, State.PENDING, at=clock()))
    assert not database.write(lambda c: requests.renew(c, first, until=clock()))
    database.write(lambda c: requests.release(c, first, due_at=None))
    database.write(lambda c: requests.save(c, second, result=SHOWN))
    assert stored(database, second).lease_holder == owner


@pytest.mark.parametrize(
    ("poked", "released", "due"),
    [(None, None, None), (None, 1, 1), (0, None, 0), (0, 1, 0), (5, 1, 1)],
)
def test_the_earlier_of_a_release_and_a_poke_counts(
    database: Database, clock: Clock, poked: int | None, released: int | None, due: int | None
) -> None:
    """A request is due at the time from its release or from `mark_due`, whichever is earlier."""
    made = added(database, clock)

    def after(minutes: int | None) -> datetime | None:
        return None if minutes is None else clock() + minutes * MINUTE

    held = sure(claimed(database, clock))
    if at := after(poked):
        assert database.write(lambda c: requests.mark_due(c, made.id, at=at))
    held = database.write(lambda c: requests.transition(c, held, State.PENDING, at=clock()))
    held = database.write(lambda c: requests.save(c, held, card_state="pending"))
    database.write(lambda c: requests.release(c, held, due_at=after(released)))
    assert stored(database, made).due_at == after(due)
    assert stored(database, made).lease_holder is None
    assert not database.write(lambda c: requests.mark_due(c, "R-0000", at=clock()))


def test_a_state_is_followed_only_as_the_model_says(database: Database, clock: Clock) -> None:
    """Only transitions in the model are allowed, and the time of a final state is recorded."""
    for state, to in itertools.product(State, State):
        made = added(database, clock, state=state)
        step = partial(requests.transition, request=made, to=to, at=clock(), result=SHOWN)
        if to in FOLLOWING.get(state, ()):
            moved = database.write(step)
            assert moved == stored(database, made)
            assert (moved.state, moved.result) == (to, SHOWN)
            assert moved.closed_at == (None if moved.is_open else clock())
        else:
            with pytest.raises(ValueError, match=f"{state} to {to}"):
                database.write(step)


def test_changes_are_returned_and_kept(database: Database, clock: Clock) -> None:
    """Saved changes are returned and stored, even if they remove a card or change nothing."""
    made = added(database, clock, card=MessageRef("C1", "1"))
    changed = database.write(
        lambda c: requests.save(
            c, made, change=FORWARD, card=None, quorum=(Quorum("g", 1),), notes={"a": [1]}
        )
    )
    assert changed == stored(database, made)
    assert (changed.change, changed.card) == (FORWARD, None)
    assert database.write(lambda c: requests.save(c, changed)) == changed


def test_each_request_is_claimed_by_one_of_many_workers(
    database: Database, database_url: str, clock: Clock
) -> None:
    """Each request is claimed by exactly one of many concurrent workers."""
    made = {added(database, clock).id for _ in range(40)}
    begun: list[str] = []
    at_work = Barrier(4)

    def work(name: str) -> None:
        at_work.wait(60)
        with closing(Database(database_url)) as own:
            while held := claimed(own, clock, name):
                begun.append(held.id)
                held = own.write(
                    partial(requests.transition, request=held, to=State.REFUSED, at=clock())
                )
                own.write(partial(requests.release, request=held, due_at=None))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, "abcd"))
    assert sorted(begun) == sorted(made)
    assert not sum(database.read(requests.count_open).values())


def test_requests_are_found(database: Database, clock: Clock) -> None:
    """Requests are found by requester, state, time and target."""
    made = []
    for state in (State.PENDING, State.DONE, State.NEW):
        made.append(added(database, clock, state=state).id)
        clock.advance(MINUTE)
    other = added(database, clock, change=FORWARD, requester="U2")
    ids = [one.id for one in database.read(lambda c: requests.open_by(c, "U1"))]
    assert ids == [made[0], made[2]]
    ids = [one.id for one in database.read(lambda c: requests.recent_by(c, "U1", limit=2))]
    assert ids == [made[2], made[1]]
    since = clock() - 2 * MINUTE
    # Removals that the bot requests do not count.
    added(database, clock, state=State.DONE, origin="expiry", at=since)
    for before, counts in (
        ((clock(), ""), (2, 2)),
        # Of requests made at the same time, the lower id is the earlier one.
        ((clock() - MINUTE, made[2]), (1, 1)),
        ((clock() - MINUTE, f"{made[2]}+"), (2, 2)),
    ):
        count = partial(requests.count_earlier, requester="U1", since=since, before=before)
        assert database.read(count) == counts
    open_ = {State.NEW: 2, State.PENDING: 1, State.APPROVED: 0, State.EXECUTING: 0}
    assert database.read(requests.count_open) == open_
    same = replace(FORWARD, destinations=FORWARD.destinations[::-1], justification="Again")
    assert database.read(lambda c: requests.open_duplicate(c, same, "U2")) == other
    assert database.read(lambda c: requests.open_duplicate(c, same, "U1")) is None
    assert (
        database.read(lambda c: requests.open_duplicate(c, replace(same, target="x@y.z"), "U2"))
        is None
    )
    database.write(lambda c: requests.transition(c, other, State.CANCELLED, at=clock()))
    assert database.read(lambda c: requests.open_duplicate(c, same, "U2")) is None


def test_the_requests_that_wait_for_a_vote_are_found(database: Database, clock: Clock) -> None:
    """Only pending requests of others, on which the person may vote, are loaded and counted."""
    admins, others = (Quorum("admins", 1), Quorum("others", 2)), (Quorum("others", 1),)
    fields: dict[str, Any]
    for fields in (
        {"quorum": others},
        {"quorum": ()},
        {"requester": "U9"},
        {"requester_mailbox": "zoe@example.com"},
        {"state": State.APPROVED},
    ):
        added(database, clock, **{"state": State.PENDING, "quorum": admins, **fields})
    made = [
        added(database, clock, state=State.PENDING, quorum=admins, requester_mailbox=mailbox)
        for mailbox in (None, *["a@example.com"] * 11)
    ]
    person = Person("U9", "zoe@example.com", frozenset({"everyone", "admins"}))
    found, count = database.read(lambda c: requests.pending_for(c, person, 10))
    assert count == 12
    assert {one.id for one in found} < {one.id for one in made}
    assert len(found) == 10
    strange = replace(person, groups=frozenset({"everyone"}))
    assert database.read(lambda c: requests.pending_for(c, strange, 10)) == ([], 0)
    unknown = replace(person, mailbox=None)
    assert database.read(lambda c: requests.pending_for(c, unknown, 10))[1] == 13


def test_one_of_many_threads_moves_a_request(database: Database, clock: Clock) -> None:
    """Of several threads that move a request from the same state, exactly one succeeds."""
    following = sorted(FOLLOWING[State.PENDING])[:4]
    barrier = Barrier(len(following))

    def move(to: State, request: Request) -> Request | None:
        barrier.wait(60)
        try:
            return database.write(lambda c: requests.transition(c, request, to, at=clock()))
        except LeaseLost:
            return None

    for _ in range(5):
        request = added(database, clock, state=State.PENDING)
        with ThreadPoolExecutor(len(following)) as pool:
            won = [one for one in pool.map(partial(move, request=request), following) if one]
        assert won == [stored(database, request)]


def test_only_the_first_delivery_counts(database: Database, clock: Clock) -> None:
    """A delivery key is new only once, unless it is purged or its transaction is rolled back."""

    def first(key: str) -> bool:
        return database.write(lambda c: idempotency_keys.record_if_new(c, key, at=clock()))

    def undone(connection: Connection) -> None:
        idempotency_keys.record_if_new(connection, "a", at=clock())
        raise LookupError

    with pytest.raises(LookupError):
        database.write(undone)
    assert [first("a"), first("a"), first("b")] == [True, False, True]
    clock.advance(MINUTE)
    assert first("c")
    assert database.write(lambda c: idempotency_keys.purge(c, clock())) == 2
    assert [first("a"), first("c")] == [True, False]


def test_a_mailbox_is_locked_by_one_request(database: Database, clock: Clock) -> None:
    """A mailbox is locked by one request at a time. Requests that have to wait are not leased."""
    begun, waiting = (added(database, clock, state=State.APPROVED) for _ in range(2))
    other = added(database, clock, state=State.APPROVED, change=FORWARD)
    ended = added(database, clock, state=State.DONE)

    def lock(request: Request) -> Request | None:
        until = clock() + MINUTE
        return database.write(lambda c: requests.lock(c, request, until=until))

    def leased(owner: str) -> set[str]:
        found = [claimed(database, clock, owner) for _ in range(4)]
        return {one.id for one in found if one}

    held = sure(claimed(database, clock, only=begun.id))
    held = sure(lock(held))
    assert lock(held) == held
    assert leased("w2") == {other.id, ended.id}
    assert lock(sure(claimed(database, clock, only=waiting.id))) is None
    clock.advance(10 * MINUTE)
    # The lease has expired, but the request still has its lock.
    assert leased("w3") == {begun.id, other.id, ended.id}
    with pytest.raises(LeaseLost):
        lock(held)
    again = stored(database, begun)
    again = database.write(lambda c: requests.save(c, again, notes={"before": []}))
    database.write(lambda c: requests.release(c, again, due_at=None))
    assert leased("w4") == set()
    again = database.write(
        lambda c: requests.transition(c, stored(database, begun), State.FAILED, at=clock())
    )
    assert again.lock is None
    assert leased("w5") == {waiting.id}


def test_a_changed_address_is_recorded_with_its_time(database: Database, clock: Clock) -> None:
    """Each change to a user's address is recorded with its time.

    The first address is not recorded as a change.
    """
    assert database.read(lambda c: profile_email_changes.latest(c, "U1")) is None
    for _ in range(2):
        database.write(lambda c: profile_email_changes.record(c, "U1", MAILBOX, at=clock()))
        found = database.read(lambda c: profile_email_changes.latest(c, "U1"))
        assert found == ProfileEmail(MAILBOX, None)
        clock.advance(MINUTE)
    for email in ("mallory@example.com", MAILBOX):
        at = clock.advance(MINUTE)
        database.write(partial(profile_email_changes.record, user="U1", email=email, at=at))
        found = database.read(lambda c: profile_email_changes.latest(c, "U1"))
        assert found == ProfileEmail(email, at)


def test_a_reservation_counts_until_its_end(database: Database, clock: Clock) -> None:
    """A reservation is valid until its end, unless it is replaced or released."""
    now = clock()
    for address, owner, minutes in (("a", "x", 1), ("a", "y", 3), ("b", "x", 2), ("c", "x", 9)):
        until = now + minutes * MINUTE
        database.write(partial(tombstones.add, address=address, owner=owner, at=now, until=until))
    database.write(lambda c: tombstones.remove(c, "c"))
    clock.advance(2 * MINUTE)
    found = [
        database.read(partial(tombstones.owner_of, address=address, now=clock()))
        for address in "abc"
    ]
    assert found == ["y", None, None]
    assert database.write(lambda c: tombstones.purge(c, clock())) == 1
    assert database.write(lambda c: tombstones.purge(c, clock() + MINUTE)) == 1


BOB = "bob@example.com"
Cast = Callable[..., Vote]


@pytest.fixture
def cast(database: Database, clock: Clock) -> Cast:
    """Provide a function that casts votes on one pending request."""
    add = partial(requests.add, change=WISH, requester="U1", team="T1", state=State.PENDING)
    request = database.write(lambda c: add(c, at=clock()))

    def cast(voter: str = "U2", **fields: Any) -> Vote:
        vote = Vote(
            request.id, voter, "T1", True, VoteState.CAST, clock(), MessageRef("C1", "1"), "Fine."
        )
        vote = replace(vote, **fields)
        assert database.write(lambda c: votes.cast(c, vote))
        return vote

    return cast


def settled(database: Database, vote: Vote, state: VoteState, **found: Any) -> Vote:
    """Settle a vote, and return it."""
    return database.write(lambda c: votes.set_state(c, vote, state, **found))


def kept(database: Database, vote: Vote) -> list[Vote]:
    """Read all votes on a vote's request."""
    return database.read(lambda c: votes.on_request(c, vote.request))


def test_a_person_votes_once(database: Database, clock: Clock, cast: Cast) -> None:
    """A person can vote once per request, and can replace only a refused vote."""
    vote = cast(at=clock.advance(minutes=1))
    first = cast("U3", at=clock.advance(minutes=-1), mailbox=BOB, groups=("a", "b"), approves=False)
    assert kept(database, vote) == [first, vote]
    assert database.read(lambda c: votes.on_request(c, "R-0000")) == []
    again = replace(vote, approves=False, justification="No.")
    assert not database.write(lambda c: votes.cast(c, again))
    counted = settled(database, vote, VoteState.COUNTED, mailbox=BOB, groups={"b", "a"})
    assert counted == replace(vote, state=VoteState.COUNTED, mailbox=BOB, groups=("a", "b"))
    assert not database.write(lambda c: votes.cast(c, again))
    refused = settled(database, first, VoteState.REFUSED, refusal=SHOWN)
    assert kept(database, vote) == [refused, counted]
    assert (refused.justification, refused.refusal) == (first.justification, SHOWN)
    later = cast("U3", approves=False, at=clock.advance(minutes=5))
    assert kept(database, vote) == [counted, later]


def test_a_vote_is_settled_once(database: Database, clock: Clock, cast: Cast) -> None:
    """Settling a vote raises LeaseLost if the vote was settled or replaced in the meantime."""
    vote = cast()
    settled(database, vote, VoteState.REFUSED)
    with pytest.raises(LeaseLost):
        settled(database, vote, VoteState.COUNTED)
    clock.advance(minutes=1)
    cast()
    with pytest.raises(LeaseLost):
        settled(database, vote, VoteState.COUNTED)


def test_one_mailbox_approves_once(database: Database, cast: Cast) -> None:
    """A mailbox counts as one approval. A second approval is not counted, and can be refused."""
    first, second = cast("U2"), cast("U3")
    settled(database, first, VoteState.COUNTED, mailbox=BOB)
    with pytest.raises(votes.MailboxAlreadyApproved):
        settled(database, second, VoteState.COUNTED, mailbox=BOB)
    settled(database, second, VoteState.REFUSED)
    assert [vote.state for vote in kept(database, first)] == [
        VoteState.COUNTED,
        VoteState.REFUSED,
    ]
    for voter in ("U4", "U5"):
        settled(database, cast(voter, approves=False), VoteState.COUNTED, mailbox=BOB)
        settled(database, cast(f"{voter}X"), VoteState.COUNTED)


def test_concurrent_tallies_count_one_mailbox_once(database: Database, cast: Cast) -> None:
    """If two accounts share a mailbox, concurrent tallies count exactly one of them."""
    barrier = Barrier(2)

    def tally(vote: Vote, mailbox: str) -> bool:
        barrier.wait(60)
        try:
            settled(database, vote, VoteState.COUNTED, mailbox=mailbox)
        except votes.MailboxAlreadyApproved:
            return False
        return True

    for number in range(5):
        pair = [cast(f"U{number}{which}") for which in "ab"]
        with ThreadPoolExecutor(2) as pool:
            counted = list(pool.map(partial(tally, mailbox=f"{number}@example.com"), pair))
        assert sorted(counted) == [False, True]
