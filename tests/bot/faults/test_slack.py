# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Each call that the work makes to Slack fails once, in each way; every request ends well.

A life is led again and again, and the fault waits for one call more each time, until there are no
more.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence

import pytest

from ansible_collections.postroom.email.tests.bot.faults.conftest import ERIN, Lives
from ansible_collections.postroom.email.tests.fakes.slack.faults import Faults
from postroom_bot.model import Request, State

#: How a call fails.
WAYS: dict[str, Callable[[Faults, int], None]] = {
    "429": lambda faults, skip: faults.rate_limit("*", retry_after=7, skip=skip),
    "500": lambda faults, skip: faults.fail("*", skip=skip),
    "silence": lambda faults, skip: faults.hang("*", seconds=0.4, skip=skip),
    "reset": lambda faults, skip: faults.reset("*", skip=skip),
    "lost": lambda faults, skip: faults.lose_answer("*", skip=skip),
}
#: Where one call fails in one way, and the next in another.
MIXED = tuple(WAYS)
#: What was asked before a failure is asked again after it: so many lookups and messages at most.
MORE_CALLS = 15


@pytest.fixture
def patience() -> float:
    """Give the mail service, which works here, as long as it needs."""
    return 60.0


@pytest.mark.parametrize(
    "ways", [MIXED, *(pytest.param((way,), marks=pytest.mark.full) for way in WAYS)], ids="-".join
)
def test_an_alias_is_added_once_and_all_are_notified(lives: Lives, ways: Sequence[str]) -> None:
    """The mailbox has it, the ledger has one entry, and its owner is notified."""
    office = lives.office
    for request, failed in _sweep(lives, ways, lives.alias):
        _is_right(lives, request, State.DONE, failed)
        assert request.wish.target in office.addresses(ERIN)
        told = [text for text in office.told("erin") if request.id in text]
        assert len(told) in _times(failed)
    lives.check_ledger()


@pytest.mark.full
def test_a_denial_stays_one(lives: Lives) -> None:
    """Nothing is created, and the requester gets the reason."""
    office = lives.office
    for request, failed in _sweep(lives, MIXED, lives.denial):
        _is_right(lives, request, State.DENIED, failed)
        assert "Not now." in office.told("alice")[-1]
    assert not [one for one in office.api.listing() if one["name"].startswith("project-")]


@pytest.mark.full
def test_a_password_is_made_once_by_its_owner_alone(lives: Lives) -> None:
    """However often they have to press."""
    for request, failed in _sweep(lives, MIXED, lives.password):
        _is_right(lives, request, State.DONE, failed)
        assert lives.office.events(request).count("request.executing") == 1


def _sweep(
    lives: Lives, ways: Sequence[str], live: Callable[[], Request]
) -> Iterator[tuple[Request, str]]:
    """Lead a life with its first call failing, then with its second one, and so on to the last."""
    slack = lives.office.slack
    lives.start_anew()
    yield live(), ways[0]
    usual = len(slack.world.calls)
    for skip in itertools.count():
        before, way = len(slack.world.calls), ways[skip % len(ways)]
        lives.start_anew()
        WAYS[way](slack.faults, skip)
        yield live(), way
        assert len(slack.world.calls) <= before + usual + MORE_CALLS, f"after {skip} calls"
        if not slack.faults.are_used_up:
            assert skip >= usual
            break
    slack.faults.clear()


def _is_right(lives: Lives, request: Request, state: State, way: str) -> None:
    """Check that a request ended well, and that its card and the requester have its end."""
    office = lives.office
    assert request.state is state, request
    assert office.events(request).count(f"request.{state}") == 1
    (card,) = [one for one in office.cards() if request.card and one.ts == request.card.ts]
    assert state.title() in card.text
    told = [text for text in office.told("alice") if request.id in text and state.title() in text]
    assert len(told) in _times(way)


def _times(way: str) -> tuple[int, ...]:
    """Return how often a person may be notified: after a lost answer a second time."""
    return (1, 2) if way == "lost" else (1,)
