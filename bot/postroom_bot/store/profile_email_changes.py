# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Record the email addresses in Slack users' profiles, and when each address last changed.

A new address could belong to another person's mailbox, so the policy can distrust new addresses for
a while.
"""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from sqlalchemy import Connection, select, update

from postroom_bot.store.tables import insert_new
from postroom_bot.store.tables import profile_email as table


class ProfileEmail(NamedTuple):
    """The email address of a Slack user.

    :param changed_at: when it replaced another address; None if it never did
    """

    email: str
    changed_at: datetime | None


def record(connection: Connection, user: str, email: str, *, at: datetime) -> datetime | None:
    """Record a user's current address, and return when it last replaced another, or None."""
    first = {"user": user, "email": email, "since": at, "changed_at": None}
    if insert_new(connection, table, first):
        return None
    other = update(table).where(table.c.user == user, table.c.email != email)
    connection.execute(other.values(email=email, since=at, changed_at=at))
    return connection.scalar(select(table.c.changed_at).where(table.c.user == user))


def latest(connection: Connection, user: str) -> ProfileEmail | None:
    """Return the last recorded address of a user, or None."""
    wanted = select(table.c.email, table.c.changed_at).where(table.c.user == user)
    row = connection.execute(wanted).one_or_none()
    return ProfileEmail._make(row) if row else None
