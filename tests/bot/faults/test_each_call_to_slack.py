# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Each call that the work makes to Slack fails once, in each way; every request has its end.

Which calls there are is not written down here: a life is led again and again, and the fault waits
for one call more each time, until there are no more.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence

import pytest

from ansible_collections.postroom.email.tests.bot.faults.lives import ERIN, Lives
from ansible_collections.postroom.email.tests.fakes.slack.faults import Faults
from postroom_bot.model import Request, State
from postroom_bot.store import audit, ledger

#: How a call fails.
WAYS: dict[str, Callable[[Faults, int], None]] = {
    "429": lambda faults, skip: faults.rate_limit("*", retry_after=7, skip=skip),
    "500": lambda faults, skip: faults.fail("*", skip=skip),
    "silence": lambda faults, skip: faults.hang("*", seconds=0.4, skip=skip),
    "reset": lambda faults, skip: faults.reset("*", skip=skip),
    "lost": lambda faults, skip: faults.lose_answer("*", skip=skip),
}
#: What was asked before a failure is asked again after it: so many lookups and messages at most.
MORE_CALLS = 15
#: What these lives call, as the stand-in has recorded it: a method less, and they try less.
METHODS = {
    "chat.postMessage",
    "chat.update",
    "conversations.open",
    "usergroups.users.list",
    "users.info",
    "users.lookupByEmail",
}

#: Where one call fails in one way, and the next in another.
MIXED = tuple(WAYS)


@pytest.mark.parametrize("way", WAYS)
def test_an_alias_is_there_once_and_everybody_knows(lives: Lives, way: str) -> None:
    """The mailbox has it, the ledger has one line, and its owner was told."""
    office = lives.office
    for request, failed in _sweep(lives, [way], lives.alias):
        _is_right(lives, request, State.DONE, failed)
        assert request.wish.target in office.addresses(ERIN)
        told = [text for text in office.told("erin") if request.id in text]
        assert len(told) in _times(failed)
    entries = office.deps.database.read(ledger.entries)
    assert len({one.request_id for one in entries}) == len(entries)
    assert {call.method for call in office.slack.world.calls} == METHODS


def test_a_denial_stays_one(lives: Lives) -> None:
    """Nothing is set up, and the requester hears the reason."""
    office = lives.office
    for request, failed in _sweep(lives, MIXED, lives.denial):
        _is_right(lives, request, State.DENIED, failed)
        assert "Not now." in office.told("alice")[-1]
    assert not [one for one in office.api.listing() if one["name"].startswith("project-")]


def test_a_password_is_made_once_by_its_owner_alone(lives: Lives) -> None:
    """However often they have to press."""
    for request, failed in _sweep(lives, MIXED, lives.password):
        _is_right(lives, request, State.DONE, failed)
        assert lives.events(request).count("request.executing") == 1


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
    lives.office.deps.database.read(audit.verify)


def _is_right(lives: Lives, request: Request, state: State, way: str) -> None:
    """See that a request ended well, and that its card and the requester know."""
    office = lives.office
    assert request.state is state, request
    assert lives.events(request).count(f"request.{state}") == 1
    (card,) = [one for one in office.cards() if request.card and one.ts == request.card.ts]
    assert state.title() in card.text
    told = [text for text in office.told("alice") if request.id in text and state.title() in text]
    assert len(told) in _times(way)


def _times(way: str) -> tuple[int, ...]:
    """Return how often somebody may be told: after a lost answer once more."""
    return (1, 2) if way == "lost" else (1,)
