# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""An end date takes back exactly what its own request has added and nobody has taken over."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import ClassVar, NamedTuple

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)

from ansible_collections.postroom.email.tests.bot.workflow.harness import (
    ALICE,
    BOB,
    NEW,
    FailingExecutor,
    Harness,
    InterruptedExecutor,
)
from postroom_bot.domain import END_OF_CHANGE, Action, Change, Reason, Request, State
from postroom_bot.errors import UserError
from postroom_bot.store import holdings
from postroom_bot.workflow import request_service
from postroom_bot.workflow.request_service import EXTENDED_BY
from postroom_bot.workflow.worker import Worker

CAROL = "carol@example.com"
ERIN = "erin@example.com"
TEAM = "team@example.com"
#: A policy under which nothing needs an approval.
AUTOMATIC = {
    "rules": [{"name": "all", "actions": [*Action][:4], "automatic": True}],
    "limits": {"open_requests": 1000, "requests_per_day": 10000, "aliases_per_mailbox": 1000},
}


@pytest.fixture
def harness(harness: Harness) -> Harness:
    """Provide the workflow with a policy under which nothing needs an approval."""
    harness.set_policy(**AUTOMATIC)
    return harness


def in_days(harness: Harness, change: Change, days: int | None) -> Change:
    """Return a change whose last day is this many days from now, or a permanent one."""
    today = harness.clock().date()
    return change if days is None else replace(change, last_day=today + timedelta(days=days))


def forward(*destinations: str) -> Change:
    """Return a change that adds destinations to the team's forwarder."""
    return Change(Action.FORWARD_ADD, TEAM, destinations=destinations)


def members(harness: Harness, forwarder: str = TEAM) -> set[str]:
    """Return the destinations of a forwarder."""
    return set(harness.api.get(forwarder).json().get("members", ()))


def extend(harness: Harness, request: Request, who: str = "alice") -> Request:
    """Press the button that extends a request, and let the worker process the new request."""
    press = harness.interaction(who, request_id=request.id)
    made = request_service.extend(harness.deps, press)
    harness.work()
    return harness.now(made)


def test_an_administrators_forwarder_survives_an_end(harness: Harness) -> None:
    """Destinations that existed before a request stay when the request ends."""
    harness.api.forwarder(TEAM, [ALICE, BOB])
    asked = in_days(harness, forward(ALICE, BOB, ERIN), 1)
    assert harness.ask("erin", asked).state is State.DONE
    assert members(harness) == {ALICE, BOB, ERIN}
    harness.pass_time(days=2)
    assert members(harness) == {ALICE, BOB}


def test_an_earlier_end_shortens_nothing(harness: Harness) -> None:
    """A later request with an earlier end does not shorten what an earlier request was granted."""
    harness.api.forwarder(TEAM, [BOB])
    first = harness.ask("alice", in_days(harness, forward(ALICE), 9))
    both = harness.ask("bob", in_days(harness, forward(ALICE, CAROL), 1))
    assert both.state is State.DONE
    refused = harness.ask("bob", in_days(harness, forward(ALICE), 1))
    assert refused.result == Reason("end.not_later", {"address": TEAM})
    harness.pass_time(days=2)
    assert members(harness) == {ALICE, BOB}
    harness.pass_time(days=8)
    assert members(harness) == {BOB}
    assert harness.now(first).removal_at is None


def test_an_extension_restores_nothing(harness: Harness) -> None:
    """An extension keeps what is left, and restores nothing that anyone has removed since."""
    first = harness.ask("alice", in_days(harness, forward(ALICE, BOB, CAROL, ERIN), 5))
    harness.ask("bob", Change(Action.FORWARD_REMOVE, TEAM, destinations=(BOB,)))
    harness.api.patch(TEAM, members=[ALICE, ERIN])
    extended = extend(harness, first)
    assert extended.state is State.DONE
    assert set(extended.change.destinations) == {ALICE, ERIN}
    assert extended.result == Reason(
        "end.extended", {"address": TEAM, "day": str(extended.change.last_day)}
    )
    assert members(harness) == {ALICE, ERIN}
    harness.pass_time(days=6)
    assert members(harness) == {ALICE, ERIN}
    harness.api.delete(TEAM)
    assert extend(harness, extended).result == Reason("end.replaced")
    assert members(harness) == set()


def test_an_extension_is_possible_until_the_removal(harness: Harness) -> None:
    """If the removal is late, an extension still stops it. After the removal, it is too late."""
    harness.api.patch(ALICE, emails=[ALICE])
    alias = harness.ask("alice", in_days(harness, Change(Action.ALIAS_ADD, NEW), 1))
    harness.clock.advance(days=2)
    harness.work(Worker(harness.with_(executor=FailingExecutor(retry_after=600))))
    (removal,) = [one for one in harness.requests_of("alice") if one.origin == END_OF_CHANGE]
    assert removal.is_open
    assert extend(harness, alias).state is State.DONE
    harness.pass_time(hours=1)
    assert harness.now(removal).result == Reason("end.replaced")
    assert NEW in harness.addresses()
    harness.pass_time(days=31)
    assert NEW not in harness.addresses()
    with pytest.raises(UserError, match=r"end\.replaced"):
        extend(harness, alias)


def test_an_interrupted_request_is_credited_before_others(harness: Harness) -> None:
    """Another request waits for an interrupted one, and then knows what that one has added."""
    harness.api.forwarder(TEAM, [BOB])
    first = harness.submit("alice", in_days(harness, forward(ALICE), 1))
    cut = InterruptedExecutor(harness.deps.executor)
    Worker(harness.with_(executor=cut)).step()
    assert members(harness) == {ALICE, BOB}
    other = harness.submit("bob", forward(ALICE, CAROL))
    harness.work()
    assert harness.now(first).state is State.EXECUTING
    assert harness.now(other).state is State.APPROVED
    harness.pass_time(minutes=1)
    assert {harness.now(first).state, harness.now(other).state} == {State.DONE}
    # The second request is permanent, so it has taken Alice over.
    harness.pass_time(days=2)
    assert members(harness) == {ALICE, BOB, CAROL}


def test_a_cancelled_removal_keeps_the_alias_in_the_definition(harness: Harness) -> None:
    """If an operator cancels a removal, the alias stays without an end, also in the definition."""
    asked = harness.ask("alice", in_days(harness, Change(Action.ALIAS_ADD, NEW), 1))
    harness.clock.advance(days=2)
    harness.work(Worker(harness.with_(executor=FailingExecutor(retry_after=600))))
    (removal,) = [one for one in harness.requests_of("alice") if one.origin == END_OF_CHANGE]
    database, clock = harness.deps.database, harness.deps.clock
    request_service.cancel_as_operator(database, clock, removal.id, "operator:root")
    harness.pass_time(days=1)
    assert NEW in harness.addresses()
    held = database.read(lambda c: holdings.held_at(c, NEW, Action.ALIAS_ADD))
    assert {(one.request, one.ends_at) for one in held.values()} == {(asked.id, None)}


def test_an_interrupted_request_ends(harness: Harness) -> None:
    """A request holds what it added before it was interrupted, so it is removed at its end."""
    harness.api.forwarder(TEAM, [BOB])
    harness.submit("alice", in_days(harness, forward(ALICE), 1))
    Worker(harness.with_(executor=InterruptedExecutor(harness.deps.executor))).step()
    harness.pass_time(minutes=1)
    assert members(harness) == {ALICE, BOB}
    harness.pass_time(days=2)
    assert members(harness) == {BOB}


PEOPLE = {"alice": ALICE, "bob": BOB}
DESTINATIONS = st.sets(st.sampled_from([ALICE, BOB, CAROL]), min_size=1)
DAYS = st.sampled_from([None, 0, 1, 2, 3])
WHO = st.sampled_from(sorted(PEOPLE))
#: An address, and the mailbox or the destination to which it delivers.
Delivery = tuple[str, str]


class Credit(NamedTuple):
    """The request that has added a delivery, and when the delivery ends."""

    request: str
    end: datetime | None


class EndDates(RuleBasedStateMachine):
    """Requests, extensions, manual changes and days, on a forwarder and an alias of each run."""

    harness: ClassVar[Harness]
    runs: ClassVar[Iterator[int]]

    def __init__(self) -> None:
        super().__init__()
        number = next(self.runs)
        self.team, self.alias = f"team-{number}@example.com", f"alias-{number}@example.com"
        self.made: list[tuple[str, Request]] = []
        self.credits: dict[Delivery, Credit] = {}

    @property
    def deliveries(self) -> set[Delivery]:
        """Where the forwarder and the alias deliver, as the mail service reports."""
        owners = [one for one in PEOPLE.values() if self.alias in self.harness.addresses(one)]
        team = members(self.harness, self.team)
        return {(self.team, one) for one in team} | {(self.alias, one) for one in owners}

    @initialize(destinations=st.sets(st.sampled_from([ALICE, BOB, CAROL])), owner=st.none() | WHO)
    def begin(self, destinations: set[str], owner: str | None) -> None:
        """Create a forwarder and an alias which the bot does not know."""
        self.set_destinations(destinations)
        self.move_alias(owner)

    @rule(destinations=st.sets(st.sampled_from([ALICE, BOB, CAROL])))
    def set_destinations(self, destinations: set[str]) -> None:
        """Change the forwarder by hand."""
        api, there = self.harness.api, members(self.harness, self.team)
        if not destinations:
            api.delete(self.team)
        elif there:
            api.patch(self.team, members=sorted(destinations))
        else:
            api.forwarder(self.team, sorted(destinations))

    @rule(owner=st.none() | WHO)
    def move_alias(self, owner: str | None) -> None:
        """Move or remove the alias by hand."""
        for name, mailbox in sorted(PEOPLE.items(), key=lambda one: one[0] == owner):
            emails = self.harness.addresses(mailbox) - {self.alias}
            emails |= {self.alias} if name == owner else set()
            self.harness.api.patch(mailbox, emails=[mailbox, *sorted(emails - {mailbox})])

    @rule(who=WHO, destinations=DESTINATIONS, days=DAYS, is_cut=st.booleans())
    def add_destinations(
        self, who: str, destinations: set[str], days: int | None, *, is_cut: bool
    ) -> None:
        """Request destinations."""
        change = Change(Action.FORWARD_ADD, self.team, destinations=tuple(sorted(destinations)))
        self._ask(who, in_days(self.harness, change, days), is_cut=is_cut)

    @rule(who=WHO, destinations=st.sets(st.sampled_from([ALICE, BOB, CAROL])))
    def remove_destinations(self, who: str, destinations: set[str]) -> None:
        """Request the removal of destinations or of the forwarder."""
        named = tuple(sorted(destinations))
        self._ask(who, Change(Action.FORWARD_REMOVE, self.team, destinations=named))

    @rule(who=WHO, days=DAYS, is_cut=st.booleans())
    def add_alias(self, who: str, days: int | None, *, is_cut: bool) -> None:
        """Request the alias."""
        change = Change(Action.ALIAS_ADD, self.alias, PEOPLE[who])
        self._ask(who, in_days(self.harness, change, days), is_cut=is_cut)

    @rule(who=WHO)
    def remove_alias(self, who: str) -> None:
        """Request the removal of the alias."""
        self._ask(who, Change(Action.ALIAS_REMOVE, self.alias, PEOPLE[who]))

    @precondition(lambda self: self.made)
    @rule(data=st.data())
    def extend(self, data: st.DataObject) -> None:
        """Extend an earlier request. The mail service does not change."""
        who, request = data.draw(st.sampled_from(self.made))
        before = self.deliveries
        own = {one for one, credit in self.credits.items() if credit.request == request.id}
        if not own or request.change.last_day is None:
            with pytest.raises(UserError, match=r"end\.replaced"):
                extend(self.harness, request, who)
            return
        extended = extend(self.harness, request, who)
        assert self.deliveries == before
        assert extended.state is (State.DONE if own & before else State.REFUSED), extended
        if extended.state is State.DONE:
            named = {(extended.change.target, one) for one in extended.change.deliveries}
            assert named == own & before
            assert extended.change.last_day is not None
            assert extended.change.last_day >= request.change.last_day + EXTENDED_BY
            self._learn(who, extended, before, before)

    @rule(days=st.sampled_from([1, 2, 31]))
    def pass_days(self, days: int) -> None:
        """After some days, exactly the additions that have ended are gone."""
        before, now = self.deliveries, self.harness.clock.advance(days=days)
        self.harness.work()
        after = self.deliveries
        ended = {one for one, credit in self.credits.items() if credit.end and credit.end <= now}
        assert after == before - ended
        # The removal of a destination also shows which others are gone.
        team = {one for one in self.credits if one[0] == self.team}
        self._forget((ended | team if team & ended else ended) - after)

    def teardown(self) -> None:
        """Let everything end."""
        self.pass_days(100)

    def _ask(self, who: str, change: Change, *, is_cut: bool = False) -> None:
        before = self.deliveries
        request = self.harness.submit(who, change)
        if is_cut:
            cut = InterruptedExecutor(self.harness.deps.executor)
            Worker(self.harness.with_(executor=cut)).step()
            self.harness.clock.advance(seconds=5)
        self.harness.work()
        request, after = self.harness.now(request), self.deliveries
        named = {(change.target, one) for one in change.deliveries} or {
            one for one in before if one[0] == change.target
        }
        if request.state is not State.DONE:
            # With a list from before a manual change, only the execution notices an address.
            taken = Reason("address.taken", {"address": change.target})
            assert request.state is State.REFUSED or request.result == taken, request
            assert after == before
            return
        assert after == (before | named if change.action.adds else before - named)
        self._learn(who, request, before, after)

    def _learn(
        self, who: str, request: Request, before: set[Delivery], after: set[Delivery]
    ) -> None:
        """Note what a request has added, according to the mail service."""
        change = request.change
        end = change.end_of_last_day(UTC)
        named = {(change.target, one) for one in change.deliveries}
        about = {one for one in self.credits if one[0] == change.target}
        if change.action is Action.ALIAS_REMOVE:
            about &= named
        self._forget(about - (before & after if change.action.adds else after))
        if not change.action.adds:
            return
        self.made.append((who, request))
        for one in named & after:
            known = self.credits.get(one)
            is_later = known and known.end and (end is None or end > known.end)
            if one not in before or is_later:
                self.credits[one] = Credit(request.id, end)

    def _forget(self, deliveries: set[Delivery]) -> None:
        for one in deliveries:
            self.credits.pop(one, None)


@pytest.mark.parametrize(("runs", "steps"), [(6, 12), pytest.param(25, 20, marks=pytest.mark.full)])
def test_an_end_takes_back_exactly_what_was_added(harness: Harness, runs: int, steps: int) -> None:
    """After a day, exactly the additions that ended and that nobody took over are gone."""
    machine = type("Machine", (EndDates,), {"harness": harness, "runs": itertools.count()})
    run_state_machine_as_test(
        machine,
        settings=settings(max_examples=runs, stateful_step_count=steps, deadline=None),
    )
