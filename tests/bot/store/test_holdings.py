# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What requests hold, until when, and the definition that the bot exports."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from dataclasses import replace
from datetime import UTC, date, datetime
from functools import partial
from typing import Any

import pytest

from ansible_collections.postroom.email.tests.bot.backends.sample_changes import (
    ALICE,
    BOB,
    SALES,
    TEAM,
    alias,
    forward,
    no_alias,
    no_forward,
)
from ansible_collections.postroom.email.tests.support.clock import Clock
from postroom_bot.domain import Change
from postroom_bot.store import holdings, requests
from postroom_client.tenant.declared import Definition
from postroom_client.tenant.problems import InvalidDefinition, Source
from postroom_client.tenant.read_definition import read_definition
from postroom_common.database import Database

NEW = "orders@example.com"
FAR = "partner@far.example"
NONE = frozenset[str]()

Record = Callable[..., str]


@pytest.fixture
def record(database: Database, clock: Clock) -> Record:
    """Provide a function that records an executed change, and returns the request's id.

    By default, an addition adds everything that it names, and a removal leaves nothing.
    """

    def record(
        change: Change, before: Collection[str] | None = None, after: Collection[str] | None = None
    ) -> str:
        named = change.deliveries or (FAR,)
        found, left = (NONE, named) if change.action.adds else (named, NONE)
        before, after = (found if before is None else before), (left if after is None else after)
        add = partial(requests.add, change=change, requester="U1", team="T1", at=clock())
        made = database.write(partial(add, removal_at=change.end_of_last_day(UTC)))
        database.write(lambda c: holdings.record(c, made, change, before=before, after=after))
        return made.id

    return record


@pytest.fixture
def held(database: Database) -> Callable[[str], tuple[str, ...]]:
    """Provide a function that returns what a request holds."""
    return lambda request_id: database.read(lambda c: holdings.held_by(c, request_id))


@pytest.fixture
def definition(database: Database) -> Callable[..., dict[str, Any]]:
    """Provide a function that exports the definition."""

    def definition(mailboxes: Collection[str] = (ALICE, BOB), **forwarders: Any) -> dict[str, Any]:
        recorded = database.read(holdings.everything)
        found = holdings.definition(recorded, mailboxes, {TEAM: forwarders.get("team", ())})
        listed: dict[str, Any] = json.loads(json.dumps(found))
        return listed

    return definition


Held = Callable[[str], tuple[str, ...]]


def until(change: Change, day: int) -> Change:
    """Return a change that ends after this day of November 2026."""
    return replace(change, last_day=date(2026, 11, day))


def test_a_request_holds_only_what_it_has_added(record: Record, held: Held) -> None:
    """A request holds what it names and what existed after its execution but not before."""
    asked = until(forward(TEAM, ALICE, BOB), 30)
    made = record(asked, before={ALICE, "carol@example.com"}, after={ALICE, BOB, FAR})
    assert held(made) == (BOB,)
    assert held(record(until(alias(SALES, BOB), 30), before={BOB})) == ()
    assert held(record(until(alias(NEW), 30))) == (ALICE,)


@pytest.mark.parametrize(
    ("first", "second", "is_taken"),
    [(20, 25, True), (20, None, True), (20, 20, False), (20, 15, False), (None, 15, False)],
)
def test_the_later_end_counts(
    record: Record, held: Held, first: int | None, second: int | None, is_taken: bool
) -> None:
    """A later request takes a destination over if it ends later. Otherwise, nothing changes."""
    one, other = (
        until(forward(TEAM, BOB), end) if end else forward(TEAM, BOB) for end in (first, second)
    )
    earlier = record(one, before={ALICE}, after={ALICE, BOB})
    later = record(other, before={ALICE, BOB}, after={ALICE, BOB})
    assert (held(earlier), held(later)) == (((), (BOB,)) if is_taken else ((BOB,), ()))


def test_what_was_removed_is_no_longer_held(record: Record, held: Held) -> None:
    """A request no longer holds what a later request, or another client, has removed."""
    first = record(until(forward(TEAM, ALICE, BOB, FAR), 30))
    record(no_forward(TEAM, BOB), {ALICE, BOB, FAR}, {ALICE, FAR})
    assert held(first) == (ALICE, FAR)
    # Another client has removed Alice.
    second = record(forward(TEAM, BOB), {FAR}, {BOB, FAR})
    assert (held(first), held(second)) == ((FAR,), (BOB,))
    third = record(until(forward(TEAM, ALICE), 30), {FAR, BOB}, {ALICE, FAR, BOB})
    # Another request was executed between two attempts of a removal.
    record(no_forward(TEAM, BOB), {FAR, BOB}, {ALICE, FAR})
    assert (held(first), held(second), held(third)) == ((FAR,), (), (ALICE,))
    record(no_forward(TEAM), {ALICE, FAR})
    assert (held(first), held(third)) == ((), ())


def test_an_alias_is_held_until_it_is_moved(record: Record, held: Held) -> None:
    """An alias is held until it is removed from its mailbox or added to another one."""
    first = record(until(alias(NEW), 30))
    record(no_alias(NEW, BOB), before=())
    assert held(first) == (ALICE,)
    second = record(alias(NEW, BOB))
    assert (held(first), held(second)) == ((), (BOB,))
    record(no_alias(NEW, BOB))
    third = record(forward(NEW, BOB))
    record(no_alias(NEW, BOB), before=())
    assert (held(second), held(third)) == ((), (BOB,))


def read(*data: dict[str, Any]) -> Definition:
    """Read definitions as email_tenant does. The first definition is the administrator's."""
    sources = [Source(f"{n}.json", each) for n, each in enumerate(data)]
    return read_definition(sources, datetime(2026, 11, 21, 12, tzinfo=UTC))


Export = Callable[..., dict[str, Any]]


def test_the_latest_change_of_an_address_counts(record: Record, definition: Export) -> None:
    """The exported definition contains the latest change to each address."""
    assert not read(definition()).individuals
    record(alias(NEW, BOB))
    record(no_alias(NEW, BOB))
    record(forward(NEW, FAR))
    record(no_forward(NEW))
    record(alias(NEW))
    record(forward(TEAM, ALICE))
    record(forward(TEAM, BOB, ALICE), {ALICE}, {ALICE, BOB})
    record(forward("x@example.com", BOB))
    record(no_forward("x@example.com"))
    record(no_alias(SALES, BOB))
    found = definition()
    assert len(read(found).individuals) == 4
    assert found == {
        "mailboxes": [
            {"name": ALICE, "aliases": [NEW]},
            {"name": BOB, "aliases": [{"address": SALES, "state": "absent"}]},
        ],
        "forwarders": [
            {"name": TEAM, "members": [ALICE, BOB]},
            {"name": "x@example.com", "state": "absent"},
        ],
    }


def test_a_forwarder_keeps_its_other_destinations(record: Record, definition: Export) -> None:
    """A forwarder is exported with all destinations, since the definition would remove others."""
    assert definition(team=(ALICE, BOB))["forwarders"] == []
    record(forward(TEAM, FAR), {ALICE, BOB}, {ALICE, BOB, FAR})
    found = definition(team=(ALICE, BOB, FAR))
    assert found["forwarders"] == [{"name": TEAM, "members": [ALICE, BOB, FAR]}]
    assert definition()["forwarders"] == [{"name": TEAM, "members": [FAR]}]


@pytest.mark.parametrize("theirs", [alias(NEW, BOB), forward(NEW, FAR), no_alias(NEW, BOB)])
def test_a_removal_from_one_mailbox_leaves_the_others_alone(
    record: Record, definition: Export, theirs: Change
) -> None:
    """Removing an alias from one mailbox does not affect another mailbox that uses the address."""
    record(theirs)
    others = definition()
    record(no_alias(NEW))
    own = {"name": ALICE, "aliases": [{"address": NEW, "state": "absent"}]}
    both = definition()
    assert both == {**others, "mailboxes": [own, *others["mailboxes"]]}
    assert len(read(both).individuals) == sum(map(len, both.values()))


def test_an_alias_is_declared_absent_after_its_last_day(record: Record, definition: Export) -> None:
    """After its last day, an alias is declared absent, so another mailbox may use the address."""
    for day in (20, 21):
        record(until(alias(NEW), day))
        ending = definition()
        (found,) = read(ending).individuals.values()
        there, absent = (
            [each.key for each in x or ()] for x in (found.aliases, found.absent_aliases)
        )
        assert (there, absent) == (([NEW], []) if day == 21 else ([], [NEW]))
        if absent:
            read({"mailboxes": [{"name": BOB, "aliases": [NEW]}]}, ending)


def test_a_mailbox_that_is_gone_is_not_declared_and_a_contradiction_is_an_error(
    record: Record, definition: Export
) -> None:
    """A deleted mailbox is not declared. The error for a contradiction names both files."""
    record(no_alias(SALES, BOB))
    assert definition({ALICE}) == {"mailboxes": [], "forwarders": []}
    with pytest.raises(InvalidDefinition) as error:
        read({"mailboxes": [{"name": BOB, "aliases": [SALES]}]}, definition())
    assert all(part in str(error.value) for part in (SALES, "0.json", "1.json"))
