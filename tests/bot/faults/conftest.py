# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Requests from the desk to the last notice, while Slack and the mail service fail."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr
from slack_sdk import WebClient
from slack_sdk.web import SlackResponse

from ansible_collections.postroom.email.tests.bot.work.office import (
    Office,
    open_office,
    staffed,
)
from ansible_collections.postroom.email.tests.fakes.mail_api.spoiler import Spoiler, spoiled
from ansible_collections.postroom.email.tests.fakes.slack.workspace import Workspace
from ansible_collections.postroom.email.tests.support.clock import Clock
from ansible_collections.postroom.email.tests.support.service import RunningService
from postroom_bot.chat import Chat
from postroom_bot.executors.mail import Mail
from postroom_bot.model import Action, Request, State, Wish
from postroom_bot.people import People
from postroom_bot.store import ledger
from postroom_bot.store.database import Database
from postroom_bot.work.deps import Refusal

ERIN = "erin@example.com"
#: Seconds for an answer of Slack's that does not come, and for one that does.
BRIEF, AMPLE = 0.1, 60
#: What failed is due again sooner than this.
LONG = timedelta(hours=1)
MOST_STEPS = 40


class _Knowing(WebClient):
    """Slack's client, which waits briefly where the workspace keeps silent."""

    def __init__(self, slack: Workspace) -> None:
        super().__init__(slack.bot_token, base_url=slack.base_url, retry_handlers=[])
        self._faults = slack.faults

    def api_call(self, api_method: str, **how: Any) -> SlackResponse:
        """Call a method."""
        is_vain = self._faults.keeps_silent(api_method)
        self.timeout = BRIEF if is_vain else AMPLE  # type: ignore[assignment]
        return super().api_call(api_method, **how)


@dataclass
class Lives:
    """The bot's work, before a Slack and a mail service that may fail."""

    office: Office
    spoiler: Spoiler
    _numbers: itertools.count[int] = field(default_factory=itertools.count)

    def alias(self) -> Request:
        """Have an alias for another's mailbox approved and added; its owner is notified."""
        request = self.pending_alias()
        self.vote("bob", request)
        return self.settled(request)

    def denial(self) -> Request:
        """Have a forwarder denied."""
        request = self._begun(Wish(Action.FORWARD_ADD, self._fresh(), destinations=(ERIN,)))
        self.vote("dora", request, approves=False)
        return self.settled(request)

    def password(self) -> Request:
        """Have a new password for another's mailbox approved; its owner makes it."""
        request = self.approved_password()
        for _ in range(3):
            try:
                self.press(request)
            except Refusal as refusal:
                if "again" not in str(refusal):
                    raise
            else:
                return self.settled(request)
        raise AssertionError("three presses made no password")

    def start_anew(self) -> None:
        """Empty the bot's caches, as a start does."""
        deps = self.office.deps
        chat = Chat(_Knowing(self.office.slack))
        people = People(chat, deps.database, deps.clock, deps.policy)
        self.office.deps = self.office.with_(chat=chat, people=people)

    def vote(self, who: str, request: Request, *, approves: bool = True) -> None:
        """Have a person press a button of the latest card."""
        self.office.vote(who, self.office.now(request), approves=approves)
        self.office.clock.advance(seconds=1)

    def pending_alias(self) -> Request:
        """Return a request for an alias of another's mailbox, whose card is posted."""
        return self._begun(Wish(Action.ALIAS_ADD, self._fresh(), mailbox=ERIN))

    def approved_password(self) -> Request:
        """Return a request for another's new password that two people have approved."""
        request = self._begun(Wish(Action.PASSWORD, ERIN))
        for who in ("bob", "carol"):
            self.vote(who, request)
            request = self.settled(request)
        assert request.state is State.APPROVED
        return request

    def press(self, request: Request) -> str:
        """Have the owner make the password, and return it."""
        office = self.office
        user, team = office.people["erin"].id, office.deps.workspace.team
        made = office.passwords.reveal(office.key(), user, team, ERIN, request.id)
        return made.password.get_secret_value()

    def settled(self, request: Request) -> Request:
        """Let time pass until nothing is due for an hour."""
        for _ in range(MOST_STEPS):
            self.office.work()
            now = self.office.now(request)
            if now.due_at is None or now.due_at > self.office.clock() + LONG:
                return now
            self.office.clock.now = max(now.due_at, self.office.clock())
        raise AssertionError(f"{request.id} does not settle")

    def check_ledger(self) -> None:
        """Check that no request is in the ledger twice."""
        entries = self.office.deps.database.read(ledger.entries)
        assert len({one.request_id for one in entries}) == len(entries)

    def _begun(self, wish: Wish) -> Request:
        self.office.clock.advance(days=1)
        return self.settled(self.office.submit(wish=wish))

    def _fresh(self) -> str:
        return f"project-{next(self._numbers)}@example.com"


@pytest.fixture(scope="session")
def backend() -> str:
    """Use SQLite: the failures elsewhere don't depend on the database."""
    return "sqlite"


@pytest.fixture
def patience() -> float:
    """Give the seconds for one call of the mail service, with all that is tried again in them."""
    return 0.8


@pytest.fixture
def lives(
    service: RunningService, database: Database, clock: Clock, tmp_path: Path, patience: float
) -> Iterator[Lives]:
    """Give the bot's work, with services that fail when a test wants it."""
    with (
        staffed(service) as api,
        Workspace(clock=clock) as slack,
        spoiled(service.url) as spoiler,
    ):
        mail = Mail(spoiler.url, SecretStr(service.token), settle=0.0, timeout=patience)
        office = open_office(slack, api, mail, database, clock, tmp_path)
        limits = {"open_requests": 10, "requests_per_day": 10_000, "aliases_per_mailbox": 10_000}
        office.set_policy(limits=limits)
        lives = Lives(office, spoiler)
        lives.start_anew()
        yield lives
        mail.close()
        assert slack.problems == []
