# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Votes: one per person, and one per mailbox among the approvals that count."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from threading import Barrier
from typing import Any

import pytest
from sqlalchemy import Connection

from ansible_collections.postroom.email.tests.support.clock import Clock
from postroom_bot.model import Action, Posted, State, Vote, VoteState, Wish
from postroom_bot.store import requests, votes
from postroom_bot.store.database import Database
from postroom_bot.store.rows import Lost

WISH = Wish(Action.ALIAS_ADD, "sales@example.com", "alice@example.com")
ROUNDS = 10

Cast = Callable[..., Vote]


@pytest.fixture
def cast(database: Database, clock: Clock) -> Cast:
    """Give a way to cast votes on one pending request."""
    request = database.write(
        lambda c: requests.add(
            c, wish=WISH, requester="U1", team="T1", at=clock(), state=State.PENDING
        )
    )

    def cast(voter: str = "U2", **fields: Any) -> Vote:
        vote = Vote(
            request.id, voter, "T1", True, VoteState.CAST, clock(), Posted("C1", "1"), "Fine."
        )
        vote = replace(vote, **fields)
        assert database.write(lambda c: votes.cast(c, vote))
        return vote

    return cast


def settled(database: Database, vote: Vote, state: VoteState, **found: Any) -> Vote:
    """Settle a vote."""
    return database.write(lambda c: votes.settle(c, vote, state, **found))


def kept(database: Database, vote: Vote) -> list[Vote]:
    """Read all votes on the same request."""
    return database.read(lambda c: votes.of(c, vote.request))


def test_votes_are_kept_in_order(database: Database, clock: Clock, cast: Cast) -> None:
    """Votes come back as they were cast, in the order in which they were."""
    later = cast("U3", at=clock.advance(minutes=1), approves=False)
    first = cast("U2", at=clock.advance(minutes=-1), mailbox="bob@example.com", groups=("a", "b"))
    assert kept(database, first) == [first, later]
    assert database.read(lambda c: votes.of(c, "R-0000")) == []


def test_who_voted_has_voted(database: Database, cast: Cast) -> None:
    """A second vote of the same person is not taken while the first one stands."""
    vote = cast()
    again = replace(vote, approves=False, reason="No.")
    assert not database.write(lambda c: votes.cast(c, again))
    counted = settled(database, vote, VoteState.COUNTED)
    assert not database.write(lambda c: votes.cast(c, again))
    assert kept(database, vote) == [counted]


def test_who_was_refused_may_vote_again(database: Database, cast: Cast) -> None:
    """A vote that was refused makes place for another one of the same person."""
    vote = cast()
    refused = settled(database, vote, VoteState.REFUSED, reason="Not in the group.")
    assert kept(database, vote) == [refused]
    assert refused.reason == "Not in the group."
    again = cast(approves=False)
    assert kept(database, vote) == [again]


def test_what_the_judge_found_is_kept(database: Database, cast: Cast) -> None:
    """A counted vote says with which mailbox and groups it counts, and keeps its own reason."""
    vote = cast()
    counted = settled(
        database, vote, VoteState.COUNTED, mailbox="bob@example.com", groups={"b", "a"}
    )
    assert counted == replace(
        vote, state=VoteState.COUNTED, mailbox="bob@example.com", groups=("a", "b")
    )
    assert kept(database, vote) == [counted]


def test_a_vote_is_settled_once(database: Database, clock: Clock, cast: Cast) -> None:
    """Who settles a vote that was settled or replaced meanwhile is told so."""
    vote = cast()
    settled(database, vote, VoteState.REFUSED)
    with pytest.raises(Lost):
        settled(database, vote, VoteState.COUNTED)
    clock.advance(minutes=1)
    cast()
    with pytest.raises(Lost):
        settled(database, vote, VoteState.COUNTED)


def test_one_person_with_two_accounts_counts_once(database: Database, cast: Cast) -> None:
    """A mailbox approves once; the transaction can go on and say why the other didn't count."""
    first, second = cast("U2"), cast("U3")
    settled(database, first, VoteState.COUNTED, mailbox="bob@example.com")

    def judge(connection: Connection) -> Vote:
        with pytest.raises(votes.SamePerson):
            votes.settle(connection, second, VoteState.COUNTED, mailbox="bob@example.com")
        return votes.settle(connection, second, VoteState.REFUSED, reason="Counted already.")

    refused = database.write(judge)
    assert [vote.state for vote in kept(database, first)] == [VoteState.COUNTED, refused.state]


def test_people_without_mailbox_are_told_apart(database: Database, cast: Cast) -> None:
    """Approvals of people of whom no mailbox is known count each; so do denials."""
    for voter in ("U2", "U3"):
        settled(database, cast(voter), VoteState.COUNTED)
    for voter in ("U4", "U5"):
        vote = cast(voter, approves=False)
        settled(database, vote, VoteState.COUNTED, mailbox="bob@example.com")


def test_two_judges_count_one_person_once(database: Database, clock: Clock, cast: Cast) -> None:
    """Also at the same moment a mailbox's approval is counted only once."""
    barrier = Barrier(2)

    def judge(vote: Vote, mailbox: str) -> bool:
        barrier.wait(60)
        try:
            settled(database, vote, VoteState.COUNTED, mailbox=mailbox)
        except votes.SamePerson:
            return False
        return True

    for number in range(ROUNDS):
        pair = [cast(f"U{number}{which}") for which in "ab"]
        with ThreadPoolExecutor(2) as pool:
            counted = list(pool.map(partial(judge, mailbox=f"{number}@example.com"), pair))
        assert sorted(counted) == [False, True]
