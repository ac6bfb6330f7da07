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
from postroom_bot.backends.mail_service import Mail
from postroom_bot.backends.slack_api import SlackApi
from postroom_bot.domain import Workspace
from postroom_bot.errors import UserError
from postroom_bot.ops.metrics import Metrics
from postroom_bot.policy.model import Policy
from postroom_bot.workflow.people import People
from postroom_common.database import Database

#: How many people may wait for the mail service at the same time. Each of them occupies a thread
#: that is also needed for acknowledgements.
MAX_WAITING = 24


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
