# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""While the mail service fails, whoever waits is told so once, and can look it up."""

from __future__ import annotations

import pytest

from ansible_collections.postroom.email.tests.bot.faults.lives import ERIN, Lives
from ansible_collections.postroom.email.tests.fakes.mail_api.scripted import Reply, problem
from postroom_bot.model import Action, Request, State, Wish
from postroom_bot.words import lists

NO_ANSWER = "does not answer properly"
NOT_LET_IN = "does not let me in"


def _status(lives: Lives, request: Request) -> str:
    """Return what `status` says."""
    office = lives.office
    return lists.request_list(office.desk.status(request.requester, request.id)).text


def _begun(lives: Lives, reply: Reply) -> Request:
    """Hand in a wish while the mail service answers so, and let the bot look at it once."""
    lives.spoiler.spoil(reply, times=10_000)
    return lives.office.ask(wish=Wish(Action.ALIAS_ADD, "new@example.com", mailbox=ERIN))


def _direct(lives: Lives, request: Request) -> list[str]:
    return [text for text in lives.office.told("alice") if request.id in text]


def test_a_short_outage_is_kept_from_people(lives: Lives) -> None:
    """One failure is made good two seconds later: only who asks hears of it."""
    request = _begun(lives, problem(503))
    assert _direct(lives, request) == []
    assert NO_ANSWER in _status(lives, request)


def test_a_longer_outage_is_told_once_with_its_end(lives: Lives) -> None:
    """From the second failure on, status and one message name it; the audit does not grow."""
    office = lives.office
    request = _begun(lives, problem(503))
    for _ in range(4):
        office.pass_time(minutes=20)
    assert office.now(request).state is State.NEW
    (told,) = _direct(lives, request)
    for text in (told, _status(lives, request)):
        assert f"The mail service {NO_ANSWER} right now." in text
        assert "Unless that changes, I give up" in text
    assert office.events(request) == ["request.new"]
    lives.spoiler.heal()
    assert lives.settled(request).state is State.PENDING
    assert NO_ANSWER not in _status(lives, request)
    assert office.now(request).trouble == ""


def test_an_outage_of_a_day_ends_the_request_when_it_was_told_to(lives: Lives) -> None:
    """The time that was named is when it ends."""
    office = lives.office
    request = _begun(lives, problem(503))
    office.pass_time(minutes=1)
    ends = office.now(request).expires_at
    assert ends is not None
    office.pass_time(days=1)
    ended = office.now(request)
    assert ended.state is State.FAILED
    assert ended.ended_at is not None
    assert ends <= ended.ended_at
    assert "could not look at it in time" in _direct(lives, request)[-1]


@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_token_is_told_at_once(lives: Lives, status: int) -> None:
    """It does not pass by itself; the message says who can end it."""
    request = _begun(lives, problem(status))
    (told,) = _direct(lives, request)
    assert f"The mail service {NOT_LET_IN}. Ask an administrator. I will try again." in told
    assert NOT_LET_IN in _status(lives, request)


def test_what_is_approved_and_fails_says_why(lives: Lives) -> None:
    """The requester hears of the approval, the trouble and its end in one message."""
    office = lives.office
    request = lives.pending_alias()
    lives.spoiler.spoil(problem(503), part="PATCH", times=10_000)
    lives.vote("bob", request)
    office.work()
    for text in (_direct(lives, request)[-1], _status(lives, request)):
        assert "Approved." in text
        assert NO_ANSWER in text
        assert "after about an hour of tries" in text
    lives.spoiler.heal()
    assert lives.settled(request).state is State.DONE
    assert NO_ANSWER not in _status(lives, request)
