# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Requested changes, requests and keepers for the tests of executors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from pydantic import SecretStr

from ansible_collections.postroom.email.tests.fakes.awx import surveys
from ansible_collections.postroom.email.tests.service.api import Api
from ansible_collections.postroom.email.tests.support.service import RunningService
from postroom_bot.backends.awx import REQUEST_VARIABLE
from postroom_bot.backends.mail import Mail
from postroom_bot.domain import Action, Change, Request, State

AT = datetime(2026, 11, 21, 12, tzinfo=UTC)
ALICE = "alice@example.com"
BOB = "bob@example.com"
SALES = "sales@example.com"
TEAM = "team@example.com"

#: Surveys of the job templates that AWX needs.
ALIAS_SURVEY = surveys.of_texts(**{REQUEST_VARIABLE: True}, mail_alias=True, mail_mailbox=True)
FORWARDER_SURVEY = surveys.of_texts(
    **{REQUEST_VARIABLE: True},
    mail_forwarder=True,
    mail_members=False,
    mail_purge_members=False,
    mail_state=True,
)


def mail_at(service: RunningService, **options: Any) -> Mail:
    """Return an executor over a service that looks again soon after it has written."""
    return Mail(service.url, SecretStr(service.token), **{"verify_delay": 0.02, **options})


def alias(target: str, mailbox: str | None = ALICE) -> Change:
    """Wish for an alias."""
    return Change(Action.ALIAS_ADD, target, mailbox)


def no_alias(target: str, mailbox: str | None = ALICE) -> Change:
    """Wish an alias away."""
    return Change(Action.ALIAS_REMOVE, target, mailbox)


def forward(target: str, *destinations: str) -> Change:
    """Wish that mail goes on."""
    return Change(Action.FORWARD_ADD, target, destinations=destinations)


def no_forward(target: str, *destinations: str) -> Change:
    """Wish that mail no longer goes on."""
    return Change(Action.FORWARD_REMOVE, target, destinations=destinations)


def request_for(change: Change, **fields: Any) -> Request:
    """Return a request that is about to be carried out."""
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
    """Another worker has the request."""


@dataclass
class Notebook:
    """A keeper that remembers; its lease can be renewed so often, or for ever."""

    notes: list[dict[str, Any]] = field(default_factory=list)
    renewals: int = 0
    renewals_left: int | None = None

    def renew(self) -> None:
        """Count."""
        if self.renewals == self.renewals_left:
            raise LeaseLostError
        self.renewals += 1

    def save_notes(self, notes: Mapping[str, Any]) -> None:
        """Write down."""
        self.notes.append(dict(notes))

    @property
    def last(self) -> dict[str, Any]:
        """What the next try finds."""
        return self.notes[-1] if self.notes else {}


def emails(api: Api, name: str) -> set[str]:
    """Return a principal's addresses; none where it is not there."""
    return set(api.get(name).json().get("emails", ()))


def members(api: Api, name: str) -> set[str]:
    """Return a forwarder's members; none where it is not there."""
    return set(api.get(name).json().get("members", ()))
