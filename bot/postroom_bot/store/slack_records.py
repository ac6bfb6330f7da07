# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Deliveries from Slack, sent notifications, and the email addresses in Slack users' profiles.

Each delivery is processed only once, and each notification is sent only once. The email addresses
are recorded because a new address could belong to another person's mailbox, so the policy can
distrust new addresses for a while.
"""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from sqlalchemy import Connection, delete, select, update

from postroom_bot.domain import State
from postroom_bot.store.tables import KEY_LENGTH, inbox, insert_new, notification, slack_email

#: Kinds of notifications that are not named after a state: an alias or a forwarder ends soon, or
#: the evaluation or execution is blocked.
ENDING = "ending"
BLOCKED = "blocked"


class ProfileEmail(NamedTuple):
    """The email address of a Slack user.

    :param since: when the address was first seen
    :param changed_at: when it replaced another address; None if it never did
    """

    email: str
    since: datetime
    changed_at: datetime | None


def record_delivery(connection: Connection, key: str, *, at: datetime) -> bool:
    """Store the key of a delivery, and return whether the key is new.

    :raises ValueError: if the key has more than 200 characters
    """
    if len(key) > KEY_LENGTH:
        raise ValueError(f"a delivery's key must not exceed {KEY_LENGTH} characters")
    return insert_new(connection, inbox, {"key": key, "at": at})


def purge_deliveries(connection: Connection, before: datetime) -> int:
    """Delete the keys stored before this time, and return how many were deleted."""
    return connection.execute(delete(inbox).where(inbox.c.at < before)).rowcount


def owner_kind(state: State) -> str:
    """Return the kind of the notification that the mailbox's owner gets about a state."""
    return f"{state}-owner"


def sent_kinds(connection: Connection, request_id: str) -> frozenset[str]:
    """Return the kinds of notifications that were sent about a request."""
    kinds = select(notification.c.kind).where(notification.c.request == request_id)
    return frozenset(connection.scalars(kinds))


def record_sent(connection: Connection, request_id: str, kind: str, *, at: datetime) -> None:
    """Record that a notification of this kind was sent."""
    insert_new(connection, notification, {"request": request_id, "kind": kind, "at": at})


def forget_sent(connection: Connection, request_id: str, kind: str) -> None:
    """Forget that a notification of this kind was sent, so that it is sent again."""
    same = (notification.c.request == request_id, notification.c.kind == kind)
    connection.execute(delete(notification).where(*same))


def record_email(connection: Connection, user: str, email: str, *, at: datetime) -> datetime | None:
    """Record a user's current address, and return when it replaced another address, or None."""
    first = {"user": user, "email": email, "since": at, "changed_at": None}
    if not insert_new(connection, slack_email, first):
        other = update(slack_email).where(slack_email.c.user == user, slack_email.c.email != email)
        connection.execute(other.values(email=email, since=at, changed_at=at))
    return connection.scalar(select(slack_email.c.changed_at).where(slack_email.c.user == user))


def last_email(connection: Connection, user: str) -> ProfileEmail | None:
    """Return the last recorded address of a user, or None."""
    columns = (slack_email.c.email, slack_email.c.since, slack_email.c.changed_at)
    row = connection.execute(select(*columns).where(slack_email.c.user == user)).one_or_none()
    return ProfileEmail._make(row) if row else None
