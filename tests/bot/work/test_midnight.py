# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What becomes due while a request is in somebody's hands, such as at midnight."""

from __future__ import annotations

from datetime import timedelta

import pytest

from ansible_collections.postroom.email.tests.bot.work.office import ALICE, NEW, Office
from ansible_collections.postroom.email.tests.support.clock import Clock
from postroom_bot.chat import Chat, web_client
from postroom_bot.model import Action, Posted, State, Wish
from postroom_bot.words.message import Message
from postroom_bot.work.worker import Worker


class Dawdling(Chat):
    """A Slack that takes days over a direct message."""

    def __init__(self, office: Office, days: float) -> None:
        slack = office.slack
        super().__init__(web_client(slack.bot_token, base_url=slack.base_url))
        self._clock: Clock = office.clock
        self._left = timedelta(days=days)

    def tell(self, user: str, message: Message) -> Posted:
        """Take the time, once."""
        self._clock.advance(self._left)
        self._left = timedelta()
        return super().tell(user, message)


@pytest.fixture
def slow(office: Office) -> Worker:
    """Give a worker who speaks with that Slack."""
    return Worker(office.with_(chat=Dawdling(office, days=2)))


def test_an_alias_whose_day_ends_while_it_is_told_of_is_removed(
    office: Office, slow: Worker
) -> None:
    """Its end was still to come when the worker looked, and past when it had told everybody."""
    request = office.ask(wish=Wish(Action.ALIAS_ADD, NEW, expires_on=office.clock().date()))
    office.vote("bob", request)
    office.work(slow)
    assert office.now(request).state is State.DONE
    office.work()
    assert office.addresses() == {ALICE}


def test_a_request_that_ends_while_it_is_shown_expires(office: Office, slow: Worker) -> None:
    """Its time was over before anybody could have answered."""
    team = office.deps.workspace.team
    wish = Wish(Action.ALIAS_ADD, NEW)
    request = office.desk.submit(office.key(), wish, office.people["alice"].id, team)
    office.work(slow)
    office.work()
    assert office.now(request).state is State.EXPIRED
