# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The email addresses of Slack users, and when they last changed.

Otherwise, a person who changes their address in Slack could request another mailbox's password.
"""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from sqlalchemy import Connection, Select, select, update

from postroom_bot.store.rows import insert_new
from postroom_bot.store.tables import identity as table


class Seen(NamedTuple):
    """What is known of a user's address.

    :param email: the address that was seen last
    :param since: when it was seen first
    :param changed_at: when the user was last seen with another one than before; None for never
    """

    email: str
    since: datetime
    changed_at: datetime | None


def seen(connection: Connection, user: str, email: str, *, at: datetime) -> Seen:
    """Write down which address a user has now, and return what is known of it.

    A user's first address does not count as a change.
    """
    first = {"user": user, "email": email, "since": at, "changed_at": None}
    if not insert_new(connection, table, first):
        other = update(table).where(table.c.user == user, table.c.email != email)
        connection.execute(other.values(email=email, since=at, changed_at=at))
    return Seen._make(connection.execute(_of(user)).one())


def get(connection: Connection, user: str) -> Seen | None:
    """Return what is known of a user's address."""
    row = connection.execute(_of(user)).one_or_none()
    return Seen._make(row) if row else None


def _of(user: str) -> Select[tuple[str, datetime, datetime | None]]:
    return select(table.c.email, table.c.since, table.c.changed_at).where(table.c.user == user)
