# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The mail service fails at each request of the work, and for a while altogether."""

from __future__ import annotations

import itertools
from typing import NamedTuple

import pytest

from ansible_collections.postroom.email.tests.bot.faults.conftest import ERIN, Lives
from ansible_collections.postroom.email.tests.fakes.mail_api.scripted import (
    HANG,
    RESET,
    Reply,
    problem,
)
from postroom_bot.model import Action, Request, State, Wish
from postroom_bot.words import lists
from postroom_bot.work.deps import Refusal

FULL = pytest.mark.full
NO_ANSWER = "does not answer properly"
NOT_LET_IN = "does not let me in"


class Way(NamedTuple):
    """How a request fails.

    :param after: whether the service has done its part by then
    """

    reply: Reply
    after: bool = False


WAYS = [
    pytest.param(Way(problem(500), after=True), id="500 after"),
    pytest.param(Way(problem(500)), id="500", marks=FULL),
    pytest.param(Way(problem(429).having(Retry_After="3")), id="429", marks=FULL),
    pytest.param(Way(RESET), id="reset", marks=FULL),
    pytest.param(Way(RESET, after=True), id="reset after", marks=FULL),
    pytest.param(Way(problem(401)), id="401", marks=FULL),
    pytest.param(Way(HANG), id="silence", marks=FULL),
    pytest.param(Way(HANG, after=True), id="silence after", marks=FULL),
]
#: In a life where all goes well, and in one try while nothing works.
MOST_REQUESTS = 30


@pytest.mark.parametrize("way", WAYS)
def test_an_alias_is_set_once_whichever_request_fails(lives: Lives, way: Way) -> None:
    """A failure that passes delays it; nothing is done or reported twice."""
    office, spoiler = lives.office, lives.spoiler
    for skip in itertools.count():
        spoiler.spoil(way.reply, skip=skip, after=way.after)
        request = lives.alias()
        assert request.state is State.DONE, request
        assert office.events(request).count("request.done") == 1
        assert request.wish.target in office.addresses(ERIN)
        assert sum("Done" in text and request.id in text for text in office.told("alice")) == 1
        assert len(spoiler.take()) <= MOST_REQUESTS
        if not spoiler.is_spent:
            break
    spoiler.heal()
    lives.check_ledger()


@pytest.mark.parametrize("way", WAYS)
def test_a_password_that_was_not_shown_is_replaced(lives: Lives, way: Way) -> None:
    """Whether or not the first one was set, its owner is asked to make another."""
    request = lives.approved_password()
    lives.spoiler.spoil(way.reply, part="PATCH", times=10_000, after=way.after)
    with pytest.raises(Refusal, match=r"again|Ask an administrator|another"):
        lives.press(request)
    lives.spoiler.heal()
    assert len(lives.press(request)) > 20
    request = lives.settled(request)
    assert request.state is State.DONE
    assert lives.office.events(request).count("request.done") == 1


def test_an_outage_is_waited_for(lives: Lives) -> None:
    """What was approved is tried now and then, with the reason in status and notices."""
    office, spoiler = lives.office, lives.spoiler
    request = lives.pending_alias()
    spoiler.spoil(problem(503), part="PATCH", times=10_000)
    lives.vote("bob", request)
    office.work()
    for text in (_direct(lives, request)[-1], _status(lives, request)):
        assert "Approved." in text
        assert NO_ANSWER in text
    spoiler.take()
    for tries in (2, 3, 4):
        office.pass_time(minutes=5)
        assert office.now(request).state is State.APPROVED
        assert office.now(request).attempts == tries
    assert len(spoiler.take()) <= 3 * MOST_REQUESTS
    spoiler.heal()
    request = lives.settled(request)
    assert request.state is State.DONE
    assert "Done" in office.told("alice")[-1]
    assert NO_ANSWER not in _status(lives, request)


def test_a_vote_is_judged_after_an_outage(lives: Lives) -> None:
    """The approval is kept; meanwhile the requester is notified once of what is in the way."""
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


def test_an_outage_at_the_beginning_is_reported_once(lives: Lives) -> None:
    """A short one shows in the status alone; a longer one in one message; its end ends both."""
    office = lives.office
    request = _begun(lives, problem(503))
    assert _direct(lives, request) == []
    assert NO_ANSWER in _status(lives, request)
    for _ in range(4):
        office.pass_time(minutes=20)
    assert office.now(request).state is State.NEW
    (told,) = _direct(lives, request)
    for text in (told, _status(lives, request)):
        assert NO_ANSWER in text
    assert office.events(request) == ["request.new"]
    lives.spoiler.heal()
    assert lives.settled(request).state is State.PENDING
    assert NO_ANSWER not in _status(lives, request)
    assert office.now(request).trouble == ""


def test_an_outage_of_a_day_ends_the_request(lives: Lives) -> None:
    """It fails at the time that its requester was given."""
    office = lives.office
    request = _begun(lives, problem(503))
    office.pass_time(minutes=1)
    ends = office.now(request).expires_at
    office.pass_time(days=1)
    ended = office.now(request)
    assert ended.state is State.FAILED
    assert ends is not None
    assert ended.ended_at is not None
    assert ends <= ended.ended_at
    assert "in time" in _direct(lives, request)[-1]


@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_token_is_reported_at_once(lives: Lives, status: int) -> None:
    """It does not pass, so the message names who can end it."""
    request = _begun(lives, problem(status))
    (told,) = _direct(lives, request)
    assert NOT_LET_IN in told
    assert "administrator" in told
    assert NOT_LET_IN in _status(lives, request)


def _begun(lives: Lives, reply: Reply) -> Request:
    """Hand in a wish while the mail service answers so."""
    lives.spoiler.spoil(reply, times=10_000)
    return lives.office.ask(wish=Wish(Action.ALIAS_ADD, "new@example.com", mailbox=ERIN))


def _status(lives: Lives, request: Request) -> str:
    """Return what the command `status` shows."""
    office = lives.office
    return lists.request_list(office.desk.status(request.requester, request.id)).text


def _direct(lives: Lives, request: Request) -> list[str]:
    return [text for text in lives.office.told("alice") if request.id in text]
