# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Records of processed Slack deliveries and of sent notifications, to detect duplicates."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Connection, delete, select

from postroom_bot.domain import State
from postroom_bot.store.tables import KEY_LENGTH, inbox, insert_new, notification

#: Kinds of notifications that are not named after a state: an alias or a forwarder ends soon, a
#: mailbox's owner can create an approved password, or the evaluation or execution is blocked.
ENDING = "ending"
OFFERED = f"{State.APPROVED}-owner"
BLOCKED = "blocked"


def record_new(connection: Connection, key: str, *, at: datetime) -> bool:
    """Store the key of a delivery, and return whether the key is new.

    :raises ValueError: if the key has more than 200 characters
    """
    if len(key) > KEY_LENGTH:
        raise ValueError(f"a delivery's key must not exceed {KEY_LENGTH} characters")
    return insert_new(connection, inbox, {"key": key, "at": at})


def purge(connection: Connection, before: datetime) -> int:
    """Delete the keys stored before this time, and return how many were deleted."""
    return connection.execute(delete(inbox).where(inbox.c.at < before)).rowcount


def sent(connection: Connection, request_id: str) -> frozenset[str]:
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
