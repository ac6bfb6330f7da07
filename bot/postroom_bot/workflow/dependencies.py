# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The dependencies of the workflow."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, tzinfo

from postroom_bot.backends.base import Executor
from postroom_bot.backends.mail import Mail
from postroom_bot.backends.slack_api import SlackApi
from postroom_bot.domain import Person
from postroom_bot.errors import (
    Denied,
    Forbidden,
    Rejected,
    SlackRejected,
    SlackUnavailable,
    Unavailable,
)
from postroom_bot.ops.metrics import Metrics
from postroom_bot.policy.model import Policy
from postroom_bot.workflow.people import People
from postroom_common.database import Database

#: How long a lease lasts. It is renewed between calls to Slack and to the mail service and outlasts
#: several of them; after a crash the request waits this long.
LEASE = timedelta(seconds=120)
#: How many people may wait for the mail service at a time. Each occupies a thread that
#: acknowledgements need.
MAX_WAITING = 24


@dataclass(frozen=True, slots=True)
class Workspace:
    """The Slack workspace that the bot serves, and the app that it is there.

    :param team: such as ``T0123``
    :param enterprise: the organization's id, if the workspace belongs to one
    :param app: the app's id; "" if unknown, and then it is not compared
    """

    team: str
    enterprise: str | None = None
    app: str = ""

    def has(self, team: str) -> bool:
        """Return whether a person of this team may belong to the workspace.

        In an organization, people belong to several workspaces and an interaction names only one;
        the person's account is checked later, before anything is decided.
        """
        return team == self.team or self.enterprise is not None

    def is_app(self, app: str) -> bool:
        """Return whether a message of this app is the bot's own; False for an unknown app."""
        return bool(app) and self.app in ("", app)


@dataclass(frozen=True, slots=True)
class Dependencies:
    """What the workflow works with. Threads share it.

    :param clock: the time, aware and in UTC
    :param policy: returns the policy in force
    :param mail: the tenant, for queries and passwords
    :param executor: executes changes of aliases and forwarders
    :param owner: a unique name of this process in leases
    :param lease: how long a lease lasts
    :param zone: in which the last day of an alias or a forwarder ends
    :param audit_lines: writes a row of the audit as a line of JSON, if it is streamed
    :param wake: set when the worker has something to do
    :param stopping: set when this process is to stop; jobs are no longer watched
    :param turns: limits how many people wait for the mail service
    """

    database: Database
    clock: Callable[[], datetime]
    policy: Callable[[], Policy]
    people: People
    slack_api: SlackApi
    mail: Mail
    executor: Executor
    workspace: Workspace
    owner: str
    metrics: Metrics
    lease: timedelta = LEASE
    zone: tzinfo = UTC
    audit_lines: Callable[[str], None] | None = None
    wake: threading.Event = field(default_factory=threading.Event)
    stopping: threading.Event = field(default_factory=threading.Event)
    turns: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(MAX_WAITING))

    def caller(self, user: str, team: str, *, fresh: bool = False) -> Person:
        """Return the person who calls the bot.

        :param fresh: as in `People.person`
        :raises Forbidden: they may not use the bot
        """
        if not self.workspace.has(team):
            raise Forbidden("person.elsewhere")
        person = self.people.person(user, self.workspace.team, fresh=fresh)
        if person.obstacle:
            raise Forbidden(person.obstacle)
        return person

    @contextmanager
    def in_turn(self) -> Iterator[None]:
        """Call the mail service while a person waits, unless too many do.

        :raises Denied: too many do
        """
        if not self.turns.acquire(blocking=False):
            raise Denied("mail.overloaded")
        try:
            yield
        finally:
            self.turns.release()


@contextmanager
def denied_if_unavailable() -> Iterator[None]:
    """Raise Denied, without its cause, for the errors of a service that a person waits for."""
    try:
        yield
    except Unavailable as error:
        raise Denied(error.once) from None
    except Rejected as refusal:
        raise Denied(refusal.reason) from None
    except (SlackUnavailable, SlackRejected):
        raise Denied("slack.unavailable") from None
