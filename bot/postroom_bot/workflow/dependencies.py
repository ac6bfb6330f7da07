# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The dependencies of the workflow."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, tzinfo

from postroom_bot.backends.executor import Executor
from postroom_bot.backends.mail import Mail
from postroom_bot.backends.slack_api import SlackApi
from postroom_bot.domain import Person
from postroom_bot.errors import (
    Forbidden,
    Rejected,
    SlackRejected,
    SlackUnavailable,
    Unavailable,
    UserError,
)
from postroom_bot.ops.metrics import Metrics
from postroom_bot.policy.model import Policy
from postroom_bot.workflow.people import People
from postroom_common.database import Database

#: How many people may wait for the mail service at the same time. Each of them occupies a thread
#: that is also needed for acknowledgements.
MAX_WAITING = 24


@dataclass(frozen=True, slots=True)
class Workspace:
    """The Slack workspace that the bot serves, and the bot's app in it.

    :param team: the id of the workspace, such as ``T0123``
    :param enterprise: the id of the organization, if the workspace belongs to one
    :param app: the id of the app; "" if unknown, so that `is_app` accepts any app
    """

    team: str
    enterprise: str | None = None
    app: str = ""

    def has(self, team: str) -> bool:
        """Return whether a member of this team may also be a member of the workspace.

        In an organization, people can belong to several workspaces, but an interaction names only
        one of these workspaces. The person's account is checked later, before any decision.
        """
        return team == self.team or self.enterprise is not None

    def is_app(self, app: str) -> bool:
        """Return whether an app's messages are the bot's own. The empty id "" never matches."""
        return bool(app) and self.app in ("", app)


@dataclass(frozen=True, slots=True)
class Dependencies:
    """The dependencies of the workflow. All threads share one Dependencies object.

    :param clock: a function that returns the current time in UTC
    :param policy: a function that returns the policy in force
    :param mail: the tenant at the mail service, for queries and passwords
    :param executor: the executor for changes of aliases and forwarders
    :param process_name: the unique name of this process, for leases
    :param lease: how long a lease lasts; leases are renewed between calls to services
    :param zone: the time zone in which the last day of an alias or a forwarder ends
    :param audit_lines: a function that writes a JSON line of the audit, if it is streamed
    :param wake: an event that is set when the worker has something to do
    :param stopping: an event that is set when this process stops, for example to stop watching jobs
    :param turns: a semaphore that limits how many people wait for the mail service
    """

    database: Database
    clock: Callable[[], datetime]
    policy: Callable[[], Policy]
    people: People
    slack_api: SlackApi
    mail: Mail
    executor: Executor
    workspace: Workspace
    process_name: str
    metrics: Metrics
    lease: timedelta
    zone: tzinfo = UTC
    audit_lines: Callable[[str], None] | None = None
    wake: threading.Event = field(default_factory=threading.Event)
    stopping: threading.Event = field(default_factory=threading.Event)
    turns: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(MAX_WAITING))

    def caller(self, user: str, team: str, *, fresh: bool = False) -> Person:
        """Return the person who is using the bot.

        :param fresh: see `People.person`
        :raises Forbidden: if the person may not use the bot
        """
        if not self.workspace.has(team):
            raise Forbidden("person.elsewhere")
        person = self.people.person(user, self.workspace.team, fresh=fresh)
        if person.obstacle:
            raise Forbidden(person.obstacle)
        return person

    @contextmanager
    def in_turn(self) -> Iterator[None]:
        """Limit how many users can wait for the mail service at the same time.

        :raises UserError: if too many people are waiting
        """
        if not self.turns.acquire(blocking=False):
            raise UserError("mail.overloaded")
        try:
            yield
        finally:
            self.turns.release()


@contextmanager
def user_error_if_unavailable() -> Iterator[None]:
    """Convert a service's errors to UserError, omitting their cause, while a person is waiting."""
    try:
        yield
    except Unavailable as error:
        raise UserError(error.reason_without_retry) from None
    except Rejected as rejection:
        raise UserError(rejection.reason) from None
    except (SlackUnavailable, SlackRejected):
        raise UserError("slack.unavailable") from None
