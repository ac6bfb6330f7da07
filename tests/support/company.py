# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A small company that uses the bot: a Slack workspace, a mail tenant, four people and a policy.

All four people have mailboxes. Bob, Carol and Dora are mail-admins.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ansible_collections.postroom.email.tests.fakes.slack.person import Person
from ansible_collections.postroom.email.tests.fakes.slack.workspace import Workspace
from ansible_collections.postroom.email.tests.fakes.slack.workspace_state import (
    PATIENCE,
    Clock,
    Message,
    View,
    now,
)
from ansible_collections.postroom.email.tests.service.api import Api
from ansible_collections.postroom.email.tests.support.service import (
    RunningService,
    running_service,
)

DOMAIN = "example.com"
ALICE = f"alice@{DOMAIN}"
BOB = f"bob@{DOMAIN}"

_numbers = itertools.count(1)

_POLICY = """
version: 1
identity:
  slack_email: {{domains: [{domain}]}}
groups:
  mail-admins:
    users: [{admins}]
approvers: mail-admins
channels: {{approvals: {approvals}}}
limits: {{open_requests: 100, requests_per_day: 1000}}
rules:
  - {{name: own-password, actions: [password], own: true, automatic: true}}
  - {{name: password-of-others, actions: [password], approvals: {{mail-admins: 2}}}}
  - {{name: own-removals, actions: [alias.remove], own: true, automatic: true}}
  - {{name: aliases, actions: [alias.add], approvals: {{mail-admins: 1}}}}
  - {{name: forwards, actions: [forward.add, forward.remove], approvals: {{mail-admins: 1}}}}
"""


@dataclass(frozen=True)
class Company:
    """The company's workspace, tenant and people.

    :param approvals: the channel in which the bot posts request cards
    """

    slack: Workspace
    mail: RunningService
    api: Api
    alice: Person
    bob: Person
    carol: Person
    dora: Person
    approvals: str

    @property
    def policy(self) -> str:
        """The text of the company's policy."""
        admins = ", ".join(person.id for person in (self.bob, self.carol, self.dora))
        return _POLICY.format(domain=DOMAIN, admins=admins, approvals=self.approvals)

    def aliases(self, mailbox: str = ALICE) -> list[str]:
        """Return all addresses of a mailbox, starting with its primary address."""
        found: list[str] = self.api.get(mailbox).json()["emails"]
        return found

    def card_of(self, person: Person, part: str) -> Message:
        """Wait for the card of a user's request whose text contains `part`, and return the card.

        The bot messages the requester only after it has posted the card.
        """
        self.slack.wait_for_message(person.direct_channel, part)
        return self.slack.wait_for_message(self.approvals, part)

    def window(self, person: Person, callback_id: str) -> View:
        """Wait until a user's topmost modal has this callback ID, and return the modal."""

        def shown() -> View | None:
            modals = person.sees().modals
            return modals[-1] if modals and modals[-1].callback_id == callback_id else None

        found = self.slack.wait_for(shown)
        assert found is not None
        return found

    def wait_told(self, person: Person, *parts: str) -> Message:
        """Wait until a user has a direct message with all parts, and return the latest match."""

        def found() -> list[Message]:
            return [one for one in person.sees().direct if all(part in one.text for part in parts)]

        return self.slack.wait_for(found)[-1]


def fresh_address() -> str:
    """Return an address that is not in use."""
    return f"project-{next(_numbers)}@{DOMAIN}"


def text_of(view: View) -> str:
    """Return all texts of a view as one string."""
    return str(view.content["blocks"])


def home_of(person: Person) -> str:
    """Return all texts of a user's Home tab as one string."""
    home = person.sees().home
    return text_of(home) if home else ""


def password_in(view: View) -> str:
    """Return the password that a view shows."""
    return str(view.blocks[1]["elements"][0]["elements"][0]["text"])


@contextmanager
def open_company(
    directory: Path, *, clock: Clock = now, mail_options: Sequence[str] = ()
) -> Iterator[Company]:
    """Run a company, with its files in a directory.

    :param clock: the clock of the Slack workspace
    :param mail_options: additional command-line options of the mail service
    """
    with (
        Workspace(clock=clock) as slack,
        running_service(directory / "mail", extra_args=mail_options) as mail,
        Api(mail.url, mail.token) as api,
    ):
        slack.be_patient(PATIENCE)
        api.domain(DOMAIN)
        alice, bob, carol, dora = (
            employed(slack, api, name) for name in ("alice", "bob", "carol", "dora")
        )
        approvals = slack.channel("approvals", alice, bob, carol, dora)
        yield Company(slack, mail, api, alice, bob, carol, dora, approvals)


def employed(slack: Workspace, api: Api, name: str) -> Person:
    """Create a person with a Slack account and a mailbox."""
    return slack.person(name, email=api.mailbox(f"{name}@{DOMAIN}"))
