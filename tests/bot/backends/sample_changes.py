# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Changes, requests and execution contexts for the tests of executors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from pydantic import SecretStr

from ansible_collections.postroom.email.tests.fakes.awx import surveys
from ansible_collections.postroom.email.tests.service.api import Api
from ansible_collections.postroom.email.tests.support.service import RunningService
from postroom_bot.backends.awx_executor import REQUEST_VARIABLE
from postroom_bot.backends.mail_api import MailApi
from postroom_bot.domain import Action, Change, Request, State

AT = datetime(2026, 11, 21, 12, tzinfo=UTC)
ALICE = "alice@example.com"
BOB = "bob@example.com"
SALES = "sales@example.com"
TEAM = "team@example.com"

#: Surveys for the job templates that the bot needs in AWX.
ALIAS_SURVEY = surveys.of_texts(**{REQUEST_VARIABLE: True}, mail_alias=True, mail_mailbox=True)
FORWARDER_SURVEY = surveys.of_texts(
    **{REQUEST_VARIABLE: True},
    mail_forwarder=True,
    mail_members=False,
    mail_purge_members=False,
    mail_state=True,
)


def mail_at(service: RunningService, **options: Any) -> MailApi:
    """Return a client that verifies its writes after a short delay."""
    return MailApi(service.url, SecretStr(service.token), **{"verify_delay": 0.02, **options})


def alias(target: str, mailbox: str | None = ALICE) -> Change:
    """Return a change that adds an alias."""
    return Change(Action.ALIAS_ADD, target, mailbox)


def no_alias(target: str, mailbox: str | None = ALICE) -> Change:
    """Return a change that removes an alias."""
    return Change(Action.ALIAS_REMOVE, target, mailbox)


def forward(target: str, *destinations: str) -> Change:
    """Return a change that adds destinations to a forwarder."""
    return Change(Action.FORWARD_ADD, target, destinations=destinations)


def no_forward(target: str, *destinations: str) -> Change:
    """Return a change that removes destinations from a forwarder."""
    return Change(Action.FORWARD_REMOVE, target, destinations=destinations)


def request_for(change: Change, **fields: Any) -> Request:
    """Return a request that is about to be executed."""
    return Request(
        **{
            "id": "R-7K2M",
            "change": change,
            "requester": "U1",
            "team": "T1",
            "state": State.EXECUTING,
            "created_at": AT,
            "requester_mailbox": ALICE,
            **fields,
        }
    )


class LeaseLostError(Exception):
    """Raised when another worker holds the request."""


@dataclass
class RecordingContext:
    """An execution context that records notes.

    The lease can be renewed `renewals_left` times, or without limit by default.
    """

    notes: list[dict[str, Any]] = field(default_factory=list)
    renewals: int = 0
    renewals_left: int | None = None

    def renew(self) -> None:
        """Count a renewal of the lease."""
        if self.renewals == self.renewals_left:
            raise LeaseLostError
        self.renewals += 1

    def save_notes(self, notes: Mapping[str, Any]) -> None:
        """Record an attempt's notes."""
        self.notes.append(dict(notes))

    @property
    def last(self) -> dict[str, Any]:
        """The notes that the next attempt reads."""
        return self.notes[-1] if self.notes else {}


def emails(api: Api, name: str) -> set[str]:
    """Return a principal's addresses, or an empty set if the principal does not exist."""
    return set(api.get(name).json().get("emails", ()))


def members(api: Api, name: str) -> set[str]:
    """Return a forwarder's members, or an empty set if the forwarder does not exist."""
    return set(api.get(name).json().get("members", ()))
