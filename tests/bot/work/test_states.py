# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Every step from state to state that a request may take, and how it comes to take it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from itertools import pairwise

import pytest

from ansible_collections.postroom.email.tests.bot.work.office import ALICE, NEW, Office
from ansible_collections.postroom.email.tests.bot.work.stoppers import Unready
from postroom_bot.model import FOLLOWING, Action, Request, State, Wish
from postroom_bot.store import locks
from postroom_bot.work.deps import Refusal
from postroom_bot.work.worker import Worker

Story = Callable[[Office], Request]


def _done(office: Office) -> Request:
    return office.approve(office.ask(), "bob")


def _automatic(office: Office) -> Request:
    office.api.patch(ALICE, emails=[ALICE, NEW])
    return office.ask(wish=Wish(Action.ALIAS_REMOVE, NEW))


def _refused(office: Office) -> Request:
    return office.ask(wish=Wish(Action.ALIAS_ADD, "x@elsewhere.example"))


def _too_late(office: Office) -> Request:
    request = _submitted(office)
    office.pass_time(days=1)
    return request


def _cancelled_new(office: Office) -> Request:
    return _cancelled(office, _submitted(office))


def _stopped_at_decision(office: Office) -> Request:
    request = office.ask()
    office.slack.change_user(office.people["alice"], announce=False, deleted=True)
    return office.approve(request, "bob")


def _denied(office: Office) -> Request:
    request = office.ask()
    office.vote("bob", request, approves=False)
    office.work()
    return request


def _expired(office: Office) -> Request:
    request = office.ask()
    office.pass_time(days=1)
    return request


def _cancelled_pending(office: Office) -> Request:
    return _cancelled(office, office.ask())


def _done_at_last(office: Office) -> Request:
    request = _postponed(office)
    office.pass_time(minutes=1)
    return request


def _stopped_at_execution(office: Office) -> Request:
    request = _postponed(office)
    office.slack.change_user(office.people["alice"], announce=False, deleted=True)
    office.pass_time(minutes=1)
    return request


def _expired_approved(office: Office) -> Request:
    request = _postponed(office, retry_after=86400)
    office.pass_time(days=1)
    return request


def _cancelled_approved(office: Office) -> Request:
    return _cancelled(office, _postponed(office))


def _failed(office: Office) -> Request:
    request = office.ask()
    office.api.patch("erin@example.com", emails=["erin@example.com", NEW])
    return office.approve(request, "bob")


def _stopped_in_the_midst(office: Office) -> Request:
    request = office.ask()
    office.vote("bob", request)
    Worker(office.with_(executor=Unready(error=RuntimeError))).step()
    office.slack.change_user(office.people["alice"], announce=False, deleted=True)
    office.pass_time(minutes=1)
    return request


def _busy_password(office: Office) -> Request:
    until = office.clock() + timedelta(minutes=1)
    now = office.clock()
    take = locks.take
    office.deps.database.write(lambda c: take(c, ALICE, owner="another", now=now, until=until))
    alice = office.people["alice"].id
    with pytest.raises(Refusal, match="Something else"):
        office.passwords.reveal(office.key(), alice, office.deps.workspace.team, ALICE, None)
    return office.desk.status(alice)[0]


def _submitted(office: Office) -> Request:
    alice, team = office.people["alice"].id, office.deps.workspace.team
    return office.desk.submit(office.key(), Wish(Action.ALIAS_ADD, NEW), alice, team)


def _cancelled(office: Office, request: Request) -> Request:
    office.desk.cancel(office.key(), request.id, office.people["alice"].id)
    office.work()
    return request


def _postponed(office: Office, *, retry_after: float | None = None) -> Request:
    request = office.ask()
    office.vote("bob", request)
    Worker(office.with_(executor=Unready(retry_after=retry_after))).step()
    return request


STORIES: dict[Story, str] = {
    _done: "new pending approved executing done",
    _automatic: "new approved executing done",
    _refused: "new refused",
    _too_late: "new failed",
    _cancelled_new: "new cancelled",
    _stopped_at_decision: "new pending refused",
    _denied: "new pending denied",
    _expired: "new pending expired",
    _cancelled_pending: "new pending cancelled",
    _done_at_last: "new pending approved executing approved executing done",
    _stopped_at_execution: "new pending approved executing approved refused",
    _expired_approved: "new pending approved executing approved expired",
    _cancelled_approved: "new pending approved executing approved cancelled",
    _failed: "new pending approved executing failed",
    _stopped_in_the_midst: "new pending approved executing refused",
    _busy_password: "new approved failed",
}


@pytest.mark.parametrize(("story", "states"), STORIES.items())
def test_a_request_takes_these_steps(office: Office, story: Story, states: str) -> None:
    """The audit has a row for each state, in order, and the last one is where the request is."""
    request = story(office)
    events = [event.partition(".") for event in office.events(request)]
    known = [name for about, _, name in events if about == "request"]
    assert known == states.split()
    end = office.now(request)
    assert end.state == known[-1]
    assert (end.ended_at is None) == end.is_open


def test_every_step_has_its_story() -> None:
    """No step is allowed that nothing takes, and none is taken that is not allowed."""
    taken = {pair for states in STORIES.values() for pair in pairwise(states.split())}
    assert taken == {(state, after) for state in FOLLOWING for after in FOLLOWING[state]}


def test_states_that_end_a_request_have_no_followers() -> None:
    """Whatever has ended is not begun again."""
    assert {state for state in State if state not in FOLLOWING} == {
        State.DONE,
        State.FAILED,
        State.REFUSED,
        State.DENIED,
        State.EXPIRED,
        State.CANCELLED,
    }
