# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Records of sent notifications, to send each only once."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Connection, delete, select

from postroom_bot.domain import State
from postroom_bot.store.tables import insert_new, notification

#: Kinds of notifications that are not named after a state: an alias or a forwarder ends soon, or
#: the evaluation or execution is blocked.
ENDING = "ending"
BLOCKED = "blocked"


def owner_kind(state: State) -> str:
    """Return the kind of the notification that the mailbox's owner gets about a state."""
    return f"{state}-owner"


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
