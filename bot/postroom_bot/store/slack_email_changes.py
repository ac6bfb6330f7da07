# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The email addresses in Slack users' profiles, and the times at which they last changed.

A new address could belong to another person's mailbox, so the policy can distrust new addresses for
a while.
"""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from sqlalchemy import Connection, select, update

from postroom_bot.store.tables import insert_new, slack_email


class SlackEmailRecord(NamedTuple):
    """The email address of a Slack user.

    :param since: when the address was first seen
    :param changed_at: when it replaced another address; None if it never did
    """

    email: str
    since: datetime
    changed_at: datetime | None


def record(connection: Connection, user: str, email: str, *, at: datetime) -> datetime | None:
    """Record a user's current address, and return when it replaced another address, or None."""
    first = {"user": user, "email": email, "since": at, "changed_at": None}
    if not insert_new(connection, slack_email, first):
        other = update(slack_email).where(slack_email.c.user == user, slack_email.c.email != email)
        connection.execute(other.values(email=email, since=at, changed_at=at))
    return connection.scalar(select(slack_email.c.changed_at).where(slack_email.c.user == user))


def last_recorded(connection: Connection, user: str) -> SlackEmailRecord | None:
    """Return the last recorded address of a user, or None."""
    columns = (slack_email.c.email, slack_email.c.since, slack_email.c.changed_at)
    row = connection.execute(select(*columns).where(slack_email.c.user == user)).one_or_none()
    return SlackEmailRecord._make(row) if row else None
