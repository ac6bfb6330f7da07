# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The smaller tables: deliveries, locks, identities, tombstones and the ledger."""

from __future__ import annotations

from datetime import date, timedelta
from functools import partial

import pytest
from sqlalchemy import Connection

from ansible_collections.postroom.email.tests.support.clock import Clock
from postroom_bot.model import Action, Wish
from postroom_bot.store import identities, inbox, ledger, locks, requests, tombstones
from postroom_bot.store.database import Database
from postroom_bot.store.identities import Seen
from postroom_bot.store.tombstones import Tombstone

MINUTE = timedelta(minutes=1)
MAILBOX = "alice@example.com"


def test_only_the_first_delivery_counts(database: Database, clock: Clock) -> None:
    """A key is new once, until it is forgotten."""

    def first(key: str) -> bool:
        return database.write(lambda c: inbox.first(c, key, at=clock()))

    assert [first("a"), first("a"), first("b")] == [True, False, True]
    clock.advance(MINUTE)
    first("c")
    assert database.write(lambda c: inbox.purge(c, clock())) == 2
    assert [first("a"), first("c")] == [True, False]


def test_an_undone_delivery_may_come_again(database: Database, clock: Clock) -> None:
    """A key counts only with what was done for it."""

    def work(connection: Connection) -> None:
        inbox.first(connection, "a", at=clock())
        raise LookupError

    with pytest.raises(LookupError):
        database.write(work)
    assert database.write(lambda c: inbox.first(c, "a", at=clock()))


def test_keys_have_an_end(database: Database, clock: Clock) -> None:
    """A key of 200 characters is taken, and a longer one is a mistake on every database."""
    assert database.write(lambda c: inbox.first(c, "k" * 200, at=clock()))
    with pytest.raises(ValueError, match="200"):
        database.write(lambda c: inbox.first(c, "k" * 201, at=clock()))


def test_a_mailbox_has_one_holder(database: Database, clock: Clock) -> None:
    """A locked mailbox is its holder's until given back or run out; other mailboxes are free."""

    def take(owner: str, mailbox: str = MAILBOX) -> bool:
        now, until = clock(), clock() + MINUTE
        return database.write(lambda c: locks.take(c, mailbox, owner=owner, now=now, until=until))

    assert [take("a"), take("b"), take("a"), take("b", "bob@example.com")] == [
        *(True, False, True, True)
    ]
    database.write(lambda c: locks.free(c, MAILBOX, owner="b"))
    assert not take("b")
    database.write(lambda c: locks.free(c, MAILBOX, owner="a"))
    assert take("b")
    clock.advance(MINUTE)
    assert take("a")


def test_a_renewed_lock_holds(database: Database, clock: Clock) -> None:
    """A lock is renewed by its holder only, and not once it is another's."""

    def renew(owner: str) -> bool:
        until = clock() + MINUTE
        return database.write(lambda c: locks.renew(c, MAILBOX, owner=owner, until=until))

    def take(owner: str) -> bool:
        until = clock() + MINUTE
        return database.write(
            lambda c: locks.take(c, MAILBOX, owner=owner, now=clock(), until=until)
        )

    assert not renew("a")
    take("a")
    clock.advance(seconds=50)
    assert [renew("a"), renew("b")] == [True, False]
    clock.advance(seconds=50)
    assert not take("b")
    clock.advance(seconds=10)
    assert [take("b"), renew("a")] == [True, False]


def test_a_first_address_is_no_change(database: Database, clock: Clock) -> None:
    """What is known of a user begins with the first sight, and stays where nothing changes."""
    begin = clock()
    assert database.read(lambda c: identities.get(c, "U1")) is None
    for _ in range(2):
        found = database.write(lambda c: identities.seen(c, "U1", MAILBOX, at=clock()))
        assert found == Seen(MAILBOX, begin, None)
        clock.advance(MINUTE)


def test_another_address_is_a_change(database: Database, clock: Clock) -> None:
    """A user's new address is written down with its time, as is the way back."""
    database.write(lambda c: identities.seen(c, "U1", MAILBOX, at=clock()))
    for email in ("mallory@example.com", MAILBOX):
        at = clock.advance(MINUTE)
        found = database.write(partial(identities.seen, user="U1", email=email, at=at))
        assert found == Seen(email, at, at)
    assert database.read(lambda c: identities.get(c, "U1")) == Seen(MAILBOX, clock(), clock())


def test_a_freed_address_has_a_grave(database: Database, clock: Clock) -> None:
    """A tombstone counts until its end, can be replaced and lifted, and is purged after."""
    now = clock()
    for address, owner, minutes in (("a", "x", 1), ("a", "y", 3), ("b", "x", 2), ("c", "x", 9)):
        until = now + minutes * MINUTE
        database.write(partial(tombstones.bury, address=address, owner=owner, at=now, until=until))
    database.write(lambda c: tombstones.lift(c, "c"))
    clock.advance(2 * MINUTE)
    found = [
        database.read(partial(tombstones.grave, address=address, now=clock())) for address in "abc"
    ]
    assert found == [Tombstone("a", "y", now + 3 * MINUTE), None, None]
    assert database.write(lambda c: tombstones.purge(c, clock())) == 1
    assert database.write(lambda c: tombstones.purge(c, clock() + MINUTE)) == 1


def test_the_ledger_has_each_change_once(database: Database, clock: Clock) -> None:
    """Changes stand in the order in which they were made, each once however often it is told."""
    wishes = [
        Wish(Action.FORWARD_ADD, "team@example.com", destinations=("b@example.com", "a@x.org")),
        Wish(Action.ALIAS_ADD, "sales@example.com", MAILBOX, expires_on=date(2027, 1, 31)),
    ]
    made = [
        database.write(partial(requests.add, wish=wish, requester="U1", team="T1", at=clock()))
        for wish in wishes
    ]
    for request in (made[1], made[0], made[1]):
        at = clock.advance(MINUTE)
        database.write(partial(ledger.record, request_id=request.id, wish=request.wish, at=at))
    found = database.read(ledger.entries)
    assert [(one.request_id, one.wish) for one in found] == [
        (made[1].id, wishes[1]),
        (made[0].id, wishes[0]),
    ]
    assert found[0].at + MINUTE == found[1].at
