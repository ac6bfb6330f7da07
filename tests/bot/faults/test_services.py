# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Single failures and longer outages of Slack and of the mail service."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import pytest
from pydantic import SecretStr

from ansible_collections.postroom.email.tests.bot.workflow.harness import (
    Harness,
    api_with_mailboxes,
    open_harness,
)
from ansible_collections.postroom.email.tests.fakes.mail_api.scripted import (
    HANG,
    RESET,
    Reply,
    problem,
)
from ansible_collections.postroom.email.tests.fakes.slack.webapi import Faults
from ansible_collections.postroom.email.tests.fakes.slack.workspace import Workspace
from ansible_collections.postroom.email.tests.support.clock import Clock
from ansible_collections.postroom.email.tests.support.recording_proxy import Recorder, recording
from ansible_collections.postroom.email.tests.support.service import RunningService
from postroom_bot.backends.mail_api import MailApi
from postroom_bot.backends.slack_api import SlackApi
from postroom_bot.domain import Action, Change, Request, State
from postroom_bot.store import holdings
from postroom_bot.ui import messages
from postroom_bot.workflow import queries
from postroom_bot.workflow.people import People
from postroom_common.database import Database

FULL = pytest.mark.full
ERIN = "erin@example.com"
NO_ANSWER = "is not responding properly"
NOT_LET_IN = "does not accept the bot's token"
#: An upper limit on the time until a failed step is due again.
LONG = timedelta(hours=1)
MAX_STEPS = 40
#: The maximum number of requests to the mail service if one of them fails.
MAX_REQUESTS = 30
#: The maximum number of calls to Slack that the bot repeats after a failure.
MORE_CALLS = 15


@dataclass
class Lives:
    """The bot's worker, with a Slack workspace and a mail service that can both be made to fail."""

    harness: Harness
    spoiler: Recorder
    _numbers: itertools.count[int] = field(default_factory=itertools.count)

    def start_anew(self) -> None:
        """Empty the bot's caches, as a restart does."""
        deps, slack = self.harness.deps, self.harness.slack
        slack_api = SlackApi(slack.bot_token, slack.base_url)
        people = People(slack_api, deps.database, deps.clock, deps.policy, deps.workspace)
        self.harness.deps = self.harness.with_(slack_api=slack_api, people=people)

    def alias(self) -> Request:
        """Request an alias for another user's mailbox, and have it approved and added."""
        request = self.pending_alias()
        self.vote("bob", request)
        return self.settled(request)

    def pending_alias(self) -> Request:
        """Request an alias for another user's mailbox, and wait for the request's card."""
        self.harness.clock.advance(days=1)
        change = Change(
            Action.ALIAS_ADD, f"project-{next(self._numbers)}@example.com", mailbox=ERIN
        )
        return self.settled(self.harness.submit(change=change))

    def vote(self, who: str, request: Request) -> None:
        """Approve a request as the given user, on the request's latest card."""
        self.harness.vote(who, self.harness.now(request))
        self.harness.clock.advance(seconds=1)

    def settled(self, request: Request) -> Request:
        """Advance the clock until nothing is due for an hour."""
        for _ in range(MAX_STEPS):
            self.harness.work()
            now = self.harness.now(request)
            if now.due_at is None or now.due_at > self.harness.clock() + LONG:
                return now
            self.harness.clock.now = max(now.due_at, self.harness.clock())
        raise AssertionError(f"{request.id} did not settle")

    def check_alias(self, request: Request, notices: tuple[int, ...] = (1,)) -> None:
        """Check that an alias was added once, and that nobody got too many notices."""
        harness = self.harness
        assert request.state is State.DONE, request
        assert harness.events(request).count("request.done") == 1
        assert request.change.target in harness.addresses(ERIN)
        (card,) = [one for one in harness.cards() if request.card and one.ts == request.card.ts]
        assert "Done" in card.text
        done = [text for text in harness.texts_to("alice") if "Done" in text and request.id in text]
        assert len(done) in notices
        assert sum(request.id in text for text in harness.texts_to("erin")) in notices
        held = harness.deps.database.read(lambda c: holdings.held_by(c, request.id))
        assert held == (ERIN,)


@pytest.fixture(scope="session")
def backend() -> str:
    """Use SQLite, because these failures don't depend on the database."""
    return "sqlite"


@pytest.fixture
def patience() -> float:
    """Provide the timeout for one call to the mail service, including retries."""
    return 0.8


@pytest.fixture
def lives(
    service: RunningService, database: Database, clock: Clock, tmp_path: Path, patience: float
) -> Iterator[Lives]:
    """Provide the bot's worker, with services that fail on request."""
    with (
        api_with_mailboxes(service) as api,
        Workspace(clock=clock) as slack,
        recording(service.url) as spoiler,
    ):
        mail = MailApi(spoiler.url, SecretStr(service.token), verify_delay=0.0, timeout=patience)
        harness = open_harness(slack, api, mail, database, clock, tmp_path)
        limits = {"open_requests": 10, "requests_per_day": 10_000, "aliases_per_mailbox": 10_000}
        harness.set_policy(limits=limits)
        yield Lives(harness, spoiler)
        mail.close()
        assert slack.problems == []


#: The ways in which a call to Slack can fail. Each is used in turn by a test.
SLACK_WAYS: tuple[Callable[[Faults, int], None], ...] = (
    lambda faults, skip: faults.rate_limit("*", retry_after=7, skip=skip),
    lambda faults, skip: faults.fail("*", skip=skip),
    lambda faults, skip: faults.reset("*", skip=skip),
    lambda faults, skip: faults.lose_answer("*", skip=skip),
)


@pytest.mark.parametrize("patience", [60.0])
def test_an_alias_is_added_once_whichever_call_of_slack_fails(lives: Lives) -> None:
    """An alias is added exactly once, whichever call to Slack fails."""
    slack = lives.harness.slack
    lives.start_anew()
    lives.check_alias(lives.alias())
    usual = len(slack.state.calls)
    for skip in itertools.count():
        before, way = len(slack.state.calls), SLACK_WAYS[skip % len(SLACK_WAYS)]
        lives.start_anew()
        way(slack.faults, skip)
        lives.check_alias(lives.alias(), (1, 2) if way is SLACK_WAYS[-1] else (1,))
        assert len(slack.state.calls) <= before + usual + MORE_CALLS, f"after {skip} calls"
        if not slack.faults.are_used_up:
            assert skip >= usual
            break
    slack.faults.clear()


@pytest.mark.parametrize(
    ("reply", "after"),
    [
        pytest.param(problem(500), True, id="500 after"),
        pytest.param(RESET, False, id="reset", marks=FULL),
        pytest.param(problem(401), False, id="401", marks=FULL),
        pytest.param(HANG, True, id="silence after", marks=FULL),
    ],
)
def test_an_alias_is_added_once_whichever_request_fails(
    lives: Lives, reply: Reply, *, after: bool
) -> None:
    """An alias is added once, whichever request fails and whether or not it took effect."""
    for skip in itertools.count():
        lives.spoiler.spoil(reply, skip=skip, after=after)
        lives.check_alias(lives.alias())
        assert len(lives.spoiler.take()) <= MAX_REQUESTS
        if not lives.spoiler.is_spent:
            break
    lives.spoiler.heal()


def test_an_outage_is_waited_for(lives: Lives) -> None:
    """During an outage, an approved change is retried and the requester sees the reason."""
    harness, spoiler = lives.harness, lives.spoiler
    request = lives.pending_alias()
    spoiler.spoil(problem(503), part="PATCH", times=10_000)
    lives.vote("bob", request)
    harness.work()
    for text in (_direct(lives, request)[-1], _status(lives, request)):
        assert "Approved." in text
        assert NO_ANSWER in text
    for tries in (2, 3, 4):
        harness.pass_time(minutes=5)
        assert harness.now(request).state is State.APPROVED
        assert harness.now(request).attempts == tries
    spoiler.heal()
    lives.check_alias(lives.settled(request))
    assert NO_ANSWER not in _status(lives, request)


def test_an_outage_at_the_beginning_is_reported_once(lives: Lives) -> None:
    """A short outage appears only in the status. A longer outage is reported in one message."""
    harness = lives.harness
    request = _refused(lives, 503)
    assert _direct(lives, request) == []
    assert NO_ANSWER in _status(lives, request)
    for _ in range(4):
        harness.pass_time(minutes=20)
    assert harness.now(request).state is State.NEW
    (notice,) = _direct(lives, request)
    for text in (notice, _status(lives, request)):
        assert NO_ANSWER in text
    assert harness.events(request) == ["request.new"]
    lives.spoiler.heal()
    assert lives.settled(request).state is State.PENDING
    assert NO_ANSWER not in _status(lives, request)
    assert harness.now(request).blocked is None


def test_a_refused_token_is_reported_at_once(lives: Lives) -> None:
    """A rejected token is reported immediately, in a message that names who can fix the problem."""
    request = _refused(lives, 401)
    (notice,) = _direct(lives, request)
    assert NOT_LET_IN in notice
    assert "administrator" in notice
    assert NOT_LET_IN in _status(lives, request)


def _refused(lives: Lives, status: int) -> Request:
    """Submit a request while the mail service returns an error."""
    lives.spoiler.spoil(problem(status), times=10_000)
    return lives.harness.ask(change=Change(Action.ALIAS_ADD, "new@example.com", mailbox=ERIN))


def _status(lives: Lives, request: Request) -> str:
    """Return the output of the `status` command."""
    harness = lives.harness
    return messages.request_list(queries.status(harness.deps, request.requester, request.id)).text


def _direct(lives: Lives, request: Request) -> list[str]:
    return [text for text in lives.harness.texts_to("alice") if request.id in text]
