# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""All that can be done with the bot, and much that can go wrong with it, for the canaries."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TypeVar

from ansible_collections.postroom.email.tests.bot.canary_stage import (
    TYPED,
    Stage,
    echoing,
)
from ansible_collections.postroom.email.tests.bot.listeners.hands import last_said
from ansible_collections.postroom.email.tests.fakes.mail_api.spoiler import Spoiler
from ansible_collections.postroom.email.tests.fakes.slack.person import Person
from ansible_collections.postroom.email.tests.fakes.slack.records import Message, View
from ansible_collections.postroom.email.tests.support.company import ALICE, DOMAIN

T = TypeVar("T")

_NUMBER = re.compile(r"R-[2-9A-Z]{4,}")
_WORDS = (
    "help",
    "alias list",
    "forward list",
    f"dns {DOMAIN}",
    "status",
    "cancel R-9999",
    "pasword of mine",
    "forward add out@example.com to someone@example.net",
)


class Life:
    """What happens on a stage."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._here = stage.here

    def all(self) -> None:
        """Do everything."""
        self.words()
        self.requests()
        self.own_password()
        self.password_of_another()
        self.typed()
        self.mail_service_that_repeats()
        self.automation_that_repeats()
        self.trouble_with_slack()
        self.mistakes_inside()

    def words(self) -> None:
        """Type commands, and look at the Home tab."""
        alice = self._here.alice
        for word in _WORDS:
            assert alice.command(f"/email {word}").ok
        self._until(lambda: self._here.slack.log().count("call response_url") >= 3)
        alice.open_home()
        self._until(lambda: alice.sees().home)
        self._here.slack.change_user(alice, real_name="Alice A.")

    def requests(self) -> None:
        """Have one request approved and one denied, from a command and from a form."""
        here = self._here
        here.alice.command("/email alias add by-command@example.com because I sell")
        here.bob.press(self._card("by-command@"), "request_approve")
        self._told(here.alice, "by-command@", "Done")
        here.alice.shortcut("postroom_menu")
        here.alice.press_in_view(self._window(here.alice, "menu"), "open_alias_add")
        form = {"address": "by-form@example.com", "reason": "by form"}
        here.alice.submit(self._window(here.alice, "alias_add"), form)
        here.bob.press(self._card("by-form@"), "request_deny")
        here.bob.submit(self._window(here.bob, "deny_reason"), {"reason": "Not this year."})
        self._told(here.alice, "by-form@", "Not this year.")

    def own_password(self) -> str:
        """Have somebody make their own password."""
        person = self._here.alice
        person.command("/email password")
        person.submit(self._window(person, "password_confirm"))
        return self._stage.learn(self._window(person, "password_shown"))

    def password_of_another(self) -> None:
        """Have somebody ask for another's password, and the owner make it."""
        here = self._here
        here.carol.command(f"/email password {ALICE}")
        card = self._card("new password")
        for approver in (here.bob, here.dora):
            approver.press(card, "request_approve")
        notice = self._told(here.alice, "Make it")
        here.alice.press(notice, "password_show")
        here.alice.submit(self._window(here.alice, "password_confirm"))
        self._stage.learn(self._window(here.alice, "password_shown"))

    def typed(self) -> None:
        """Type what may be a password."""
        alice = self._here.alice
        for text in TYPED:
            alice.command(f"/email password {text}")
            alice.command(f"/email passwort {text}")
            alice.command(f"/email alias add {text.split('@')[0]}")
            self._until(lambda: alice.sees().modals)

    def mail_service_that_repeats(self) -> None:
        """Have the mail service answer errors that hold all that it was sent."""
        alice, mail = self._here.alice, self._stage.mail
        for status in (400, 401, 403, 422, 500):
            with self._repeating(mail, status, "PATCH"):
                alice.command("/email password")
                alice.submit(self._window(alice, "password_confirm"))
                self._window(alice, "note")
            with self._repeating(mail, status):
                alice.command("/email alias list")
                alice.command(f"/email alias add echo-{status}@example.com")
                self._until(lambda: "One moment" not in last_said(alice))

    def automation_that_repeats(self) -> None:
        """Have AWX answer errors that hold all that it was sent."""
        here, automation = self._here, self._stage.automation
        for status in (400, 401, 500):
            here.alice.command(f"/email alias add job-{status}@example.com")
            card = self._card(f"job-{status}@")
            automation.take()
            with self._repeating(automation, status, "launch"):
                here.bob.press(card, "request_approve")
                self._until(automation.take)
        self._told(here.alice, "job-500@", "Done")

    def trouble_with_slack(self) -> None:
        """Have Slack fail, and refuse."""
        alice, faults = self._here.alice, self._here.slack.faults
        for method in ("views.open", "response_url", "views.publish", "chat.postMessage"):
            faults.fail(method)
            faults.reset(method)
            faults.rate_limit(method)
        for number in range(5):
            alice.command("/email")
            alice.command(f"/email forward add f{number}@example.com to {ALICE}")
            alice.command("/email alias list")
            alice.open_home()
        self._card("f4@")
        faults.clear()
        alice.command("/email password")
        window = self._window(alice, "password_confirm")
        faults.fail("views.update", times=10)
        alice.submit(window)
        self._until(lambda: "Slack does not answer" in self._stage.bot.log())
        faults.clear()

    def mistakes_inside(self) -> None:
        """Have the bot's own parts raise errors that hold secrets."""
        alice, carol = self._here.alice, self._here.carol
        for name in ("set_password", "password_shown"):
            # Alice's mailbox may be busy still, with what failed before and is tried again.
            carol.command("/email password")
            window = self._window(carol, "password_confirm")
            self._mistaken(name, partial(carol.submit, window))
        for name, word in (
            ("aliases", "alias list"),
            ("status", "status"),
            ("check", "alias add oops@example.com"),
        ):
            self._mistaken(name, partial(alice.command, f"/email {word}"))

    def _mistaken(self, name: str, act: Callable[[], object]) -> None:
        """Do something while a function of the bot has a mistake."""
        log = self._stage.bot.log
        before = log().count("RuntimeError")
        self._stage.mistake.write_text(name)
        act()
        self._until(lambda: log().count("RuntimeError") > before)
        self._stage.mistake.write_text("")

    # Waiting and looking.

    @contextmanager
    def _repeating(self, spoiler: Spoiler, status: int, part: str = "") -> Iterator[None]:
        spoiler.spoil(echoing(status), part=part, times=10_000)
        yield
        spoiler.heal()

    def _until(self, happened: Callable[[], T]) -> T:
        return self._here.slack.wait_for(happened)

    def _card(self, about: str) -> Message:
        """Wait until a card is there, and known to the bot as such."""

        def found() -> list[Message]:
            messages = self._here.slack.messages(self._here.approvals)
            return [one for one in messages if about in one.text and "Approve" in str(one.blocks)]

        card = self._until(found)[-1]
        number = _NUMBER.search(card.text)
        assert number is not None
        self._until(lambda: number[0] in self._told_to_anybody())
        return card

    def _told_to_anybody(self) -> str:
        here = self._here
        everybody = (here.alice, here.bob, here.carol, here.dora)
        return "".join(one.text for each in everybody for one in each.sees().direct)

    def _told(self, person: Person, *parts: str) -> Message:
        def found() -> list[Message]:
            return [one for one in person.sees().direct if all(part in one.text for part in parts)]

        return self._until(found)[-1]

    def _window(self, person: Person, callback_id: str) -> View:
        def shown() -> View | None:
            modals = person.sees().modals
            is_it = bool(modals) and modals[-1].content["callback_id"] == callback_id
            return modals[-1] if is_it else None

        view = self._until(shown)
        assert view is not None
        return view
