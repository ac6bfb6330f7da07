# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What the rooms of the work are given, and how they say no."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, tzinfo

from postroom_bot.backends.base import Executor
from postroom_bot.backends.mail import Mail
from postroom_bot.backends.slack_api import SlackApi
from postroom_bot.errors import Denied
from postroom_bot.ops.metrics import Metrics
from postroom_bot.policy.model import Policy
from postroom_bot.ui import messages
from postroom_bot.workflow.people import People
from postroom_common.database import Database

#: How long a request is held at a time. It is renewed between calls to Slack and to the mail
#: service and outlasts some of them; after a crash it is how long the request waits.
LEASE = timedelta(seconds=120)
#: How many people may wait for the mail service at a time. Each takes a thread that others need to
#: be acknowledged in time.
MAX_WAITING = 24


@dataclass(frozen=True, slots=True)
class Workspace:
    """The Slack workspace that the bot serves, and the app that it is there.

    :param team: such as ``T0123``
    :param enterprise: the organisation's id, where the workspace belongs to one
    :param app: the app's id; "" where it is not known, and then it is not compared
    """

    team: str
    enterprise: str | None = None
    app: str = ""

    def has(self, team: str) -> bool:
        """Whether somebody of this team may belong here.

        In an organisation people belong to several workspaces, and an interaction tells only one:
        there it takes their account to know, which whoever decides anything asks for.
        """
        return team == self.team or self.enterprise is not None

    def is_app(self, app: str) -> bool:
        """Whether a message of this app is the bot's own; one of no known app is not."""
        return bool(app) and self.app in ("", app)


@dataclass(frozen=True, slots=True)
class Dependencies:
    """What the work stands on. Threads share it.

    :param clock: the time, aware and in UTC
    :param policy: gives the policy in force now
    :param mail: the tenant, to look at and to set passwords in
    :param executor: carries aliases and forwarders out
    :param owner: names this process in leases; no other process has the name
    :param lease: how long a request is held at a time
    :param zone: in which the last day of an alias or a forwarder ends
    :param audit_lines: takes the audit's rows as lines of JSON, where they are wanted
    :param wake: set where there is something new for the worker
    :param stopping: set where this process is to end, and no job is to be watched any more
    :param turns: those left for people who wait for the mail service
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

    @contextmanager
    def in_turn(self) -> Iterator[None]:
        """Ask the mail service while somebody waits for it, unless too many do already.

        :raises Refusal: too many do
        """
        if not self.turns.acquire(blocking=False):
            raise Denied(messages.TOO_MANY)
        try:
            yield
        finally:
            self.turns.release()
