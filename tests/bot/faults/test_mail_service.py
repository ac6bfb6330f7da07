# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The mail service fails at each request that the work sends it, and for a while altogether."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

import pytest

from ansible_collections.postroom.email.tests.bot.faults.lives import ERIN, Lives
from ansible_collections.postroom.email.tests.fakes.mail_api.scripted import (
    HANG,
    RESET,
    Reply,
    problem,
)
from postroom_bot.model import Request, State
from postroom_bot.store import audit, ledger
from postroom_bot.work.deps import Refusal


class Way(NamedTuple):
    """How a request fails.

    :param after: whether the service has done its part by then
    """

    reply: Reply
    after: bool = False


WAYS: Mapping[str, Way] = MappingProxyType(
    {
        "500": Way(problem(500)),
        "500 after": Way(problem(500), after=True),
        "429": Way(problem(429).having(Retry_After="3")),
        "reset": Way(RESET),
        "reset after": Way(RESET, after=True),
        "401": Way(problem(401)),
        "silence": Way(HANG),
        "silence after": Way(HANG, after=True),
    }
)
#: In a life where all goes well, and in one try while nothing works.
MOST_REQUESTS = 30


@pytest.mark.parametrize("way", WAYS)
def test_an_alias_is_set_once_whichever_request_fails(lives: Lives, way: str) -> None:
    """A failure that passes delays it; nothing is done or told twice."""
    office, spoiler = lives.office, lives.spoiler
    for skip in itertools.count():
        spoiler.spoil(WAYS[way].reply, skip=skip, after=WAYS[way].after)
        request = lives.alias()
        assert request.state is State.DONE, request
        assert lives.events(request).count("request.done") == 1
        assert request.wish.target in office.addresses(ERIN)
        assert sum("Done" in text and request.id in text for text in office.told("alice")) == 1
        assert len(spoiler.take()) <= MOST_REQUESTS
        if not spoiler.is_spent:
            break
    spoiler.heal()
    office.deps.database.read(audit.verify)
    entries = office.deps.database.read(ledger.entries)
    assert len({one.request_id for one in entries}) == len(entries)


@pytest.mark.parametrize("way", ["500", "429", "reset", "401", "silence"])
def test_an_outage_is_waited_for(lives: Lives, way: str) -> None:
    """While nothing works, it is tried now and then, and done when it works again."""
    office, spoiler = lives.office, lives.spoiler
    request = _approved(lives)
    spoiler.take()
    spoiler.spoil(WAYS[way].reply, times=10_000, after=WAYS[way].after)
    for tries in (2, 3, 4):
        office.pass_time(minutes=5)
        assert office.now(request).state is State.APPROVED
        assert office.now(request).attempts == tries
    assert len(spoiler.take()) <= 3 * MOST_REQUESTS
    spoiler.heal()
    request = lives.settled(request)
    assert request.state is State.DONE
    assert "Done" in office.told("alice")[-1]
    office.deps.database.read(audit.verify)


def test_what_was_not_decided_before_an_outage_is_decided_after_it(lives: Lives) -> None:
    """The approval is kept; meanwhile the requester hears once what is in the way."""
    office = lives.office
    request = lives.pending_alias()
    lives.spoiler.spoil(problem(503), times=10_000)
    lives.vote("bob", request)
    for _ in range(3):
        office.pass_time(minutes=5)
    assert office.now(request).state is State.PENDING
    lives.spoiler.heal()
    assert lives.settled(request).state is State.DONE
    assert sum(request.id in text for text in office.told("alice")) == 3


def test_an_outage_without_end_is_told(lives: Lives) -> None:
    """After an hour of tries the requester hears that it did not work; the audit has each try."""
    request = _approved(lives)
    lives.spoiler.spoil(problem(503), times=10_000)
    request = lives.settled(request)
    assert request.state is State.FAILED
    assert "however often I tried" in lives.office.told("alice")[-1]
    assert lives.events(request).count("request.executing") <= request.attempts <= 12
    lives.office.deps.database.read(audit.verify)


@pytest.mark.parametrize("way", WAYS)
def test_a_password_that_nobody_saw_is_made_anew(lives: Lives, way: str) -> None:
    """Whatever became of the first one, its owner is told to make another, and that one works."""
    request = lives.approved_password()
    lives.spoiler.spoil(WAYS[way].reply, part="PATCH", times=10_000, after=WAYS[way].after)
    with pytest.raises(Refusal, match=r"again|Ask an administrator|another"):
        lives.press(request)
    lives.spoiler.heal()
    assert len(lives.press(request)) > 20
    request = lives.settled(request)
    assert request.state is State.DONE
    assert lives.events(request).count("request.done") == 1
    lives.office.deps.database.read(audit.verify)


def _approved(lives: Lives) -> Request:
    """Return a request that is approved, and could not be carried out at once."""
    request = lives.pending_alias()
    lives.spoiler.spoil(problem(503), part="PATCH", times=10_000)
    lives.vote("bob", request)
    lives.office.work()
    lives.spoiler.heal()
    return lives.office.now(request)
