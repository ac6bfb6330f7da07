# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Whole lives of requests, from the desk to the last word, with somebody to count the calls."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from slack_sdk import WebClient
from slack_sdk.web import SlackResponse

from ansible_collections.postroom.email.tests.bot.work.office import Office
from ansible_collections.postroom.email.tests.fakes.mail_api.spoiler import Spoiler
from ansible_collections.postroom.email.tests.fakes.slack.workspace import Workspace
from postroom_bot.chat import Chat
from postroom_bot.model import Action, Request, State, Wish
from postroom_bot.people import People
from postroom_bot.store import audit
from postroom_bot.work.deps import Refusal

#: Seconds for one call of the mail service, with all that is tried again in them.
PATIENCE = 0.8
#: Seconds for an answer of Slack's that does not come, and for one that does.
BRIEF, AMPLE = 0.1, 60
ERIN = "erin@example.com"
#: Nothing that failed is left alone for so long.
LONG = timedelta(hours=1)
LOOKS = 40
PRESSES = 3


class Knowing(WebClient):
    """Slack's client, which knows where it waits in vain, and is in no hurry elsewhere."""

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
    """The bot's work, before a Slack and a mail service that may go wrong."""

    office: Office
    spoiler: Spoiler
    _numbers: itertools.count[int] = field(default_factory=itertools.count)

    def __post_init__(self) -> None:
        limits = {"open_requests": 10, "requests_per_day": 10_000, "aliases_per_mailbox": 10_000}
        self.office.set_policy(limits=limits)

    # The lives.

    def alias(self) -> Request:
        """Somebody gets an alias for another's mailbox approved, and its owner is told."""
        request = self.pending_alias()
        self.vote("bob", request)
        return self.settled(request)

    def denial(self) -> Request:
        """Somebody is denied a forwarder."""
        request = self._begun(Wish(Action.FORWARD_ADD, self._fresh(), destinations=(ERIN,)))
        self.vote("dora", request, approves=False)
        return self.settled(request)

    def password(self) -> Request:
        """Somebody gets a new password for another's mailbox approved; its owner makes it."""
        request = self.approved_password()
        for _ in range(PRESSES):
            try:
                self.press(request)
            except Refusal as refusal:
                if "again" not in str(refusal):
                    raise
            else:
                return self.settled(request)
        raise AssertionError("there is no password, however often somebody presses")

    # What they are made of.

    def start_anew(self) -> None:
        """Let the bot know nothing by heart, as after a start."""
        deps = self.office.deps
        chat = Chat(deps.chat.client)
        people = People(chat, deps.database, deps.clock, deps.policy)
        self.office.deps = self.office.with_(chat=chat, people=people)

    def vote(self, who: str, request: Request, *, approves: bool = True) -> None:
        """Have somebody press a button of the latest card, once it is there."""
        self.office.vote(who, self.office.now(request), approves=approves)
        self.office.clock.advance(seconds=1)

    def pending_alias(self) -> Request:
        """Return a request for an alias of another's mailbox, whose card is there."""
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
        """Let time pass until there is nothing to be done for an hour."""
        for _ in range(LOOKS):
            self.office.work()
            now = self.office.now(request)
            if now.due_at is None or now.due_at > self.office.clock() + LONG:
                return now
            self.office.clock.now = max(now.due_at, self.office.clock())
        raise AssertionError(f"{request.id} does not settle")

    def events(self, request: Request) -> list[str]:
        """Return what the audit says of a request."""
        found = self.office.deps.database.read(lambda c: audit.rows(c, request_id=request.id))
        return [row.event for row in found]

    def _begun(self, wish: Wish) -> Request:
        office = self.office
        office.clock.advance(days=1)
        alice, team = office.people["alice"].id, office.deps.workspace.team
        return self.settled(office.desk.submit(office.key(), wish, alice, team))

    def _fresh(self) -> str:
        return f"project-{next(self._numbers)}@example.com"
