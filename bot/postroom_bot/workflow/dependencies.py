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
from postroom_bot.backends.mail_api import MailApi
from postroom_bot.backends.password_notices import PasswordNotices
from postroom_bot.backends.slack_api import SlackApi
from postroom_bot.domain import Workspace
from postroom_bot.errors import UserError
from postroom_bot.ops.metrics import Metrics
from postroom_bot.policy.model import Policy
from postroom_bot.workflow.people import People
from postroom_common.database import Database

#: How many handlers may wait for the mail service at the same time. Each of them occupies a thread
#: that is also needed for acknowledgements.
MAX_WAITING = 24


@dataclass(frozen=True, slots=True)
class Dependencies:
    """The dependencies of the workflow. All threads share one Dependencies object.

    :param clock: a function that returns the current time in UTC
    :param policy: a function that returns the current policy
    :param mail: the client for the mail service, for queries, previews and passwords
    :param executor: the executor for changes to aliases and forwarders
    :param process_name: the unique name of this process, used in leases
    :param lease: how long a lease lasts; leases are renewed between calls to services
    :param zone: the time zone in which the last day of an alias or a forwarder ends
    :param audit_lines: a function that writes one JSON line of the audit; None if the audit is not
        streamed
    :param password_notices: the sender of notices about new passwords; None if no SMTP server is
        set
    :param wake: an event that wakes the worker when a request is due
    :param stopping: an event that is set when this process stops, for example to stop watching jobs
    :param mail_slots: a semaphore that limits how many handlers wait for the mail service
    """

    database: Database
    clock: Callable[[], datetime]
    policy: Callable[[], Policy]
    people: People
    slack_api: SlackApi
    mail: MailApi
    executor: Executor
    workspace: Workspace
    process_name: str
    metrics: Metrics
    lease: timedelta
    zone: tzinfo = UTC
    audit_lines: Callable[[str], None] | None = None
    password_notices: PasswordNotices | None = None
    wake: threading.Event = field(default_factory=threading.Event)
    stopping: threading.Event = field(default_factory=threading.Event)
    mail_slots: threading.Semaphore = field(
        default_factory=lambda: threading.Semaphore(MAX_WAITING)
    )

    @contextmanager
    def mail_slot(self) -> Iterator[None]:
        """Occupy one of the slots for handlers that wait for the mail service.

        :raises UserError: if all slots are occupied
        """
        if not self.mail_slots.acquire(blocking=False):
            raise UserError("mail.overloaded")
        try:
            yield
        finally:
            self.mail_slots.release()
