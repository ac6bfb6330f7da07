# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Record the notifications about each request, so that each of them is sent only once."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Connection, delete, select

from postroom_bot.domain import State
from postroom_bot.store.tables import insert_new
from postroom_bot.store.tables import notification as table

# The kinds of notifications that are not named after a state.
#: An alias or a forwarder ends soon.
END_NOTICE = "ending"
#: The evaluation or the execution is blocked.
BLOCKED = "blocked"


def kind_for_owner(state: State) -> str:
    """Return the kind of the notification that the mailbox's owner gets about a state."""
    return f"{state}-owner"


def kinds_of(connection: Connection, request_id: str) -> frozenset[str]:
    """Return the kinds of notifications that were sent about a request."""
    kinds = select(table.c.kind).where(table.c.request == request_id)
    return frozenset(connection.scalars(kinds))


def record(connection: Connection, request_id: str, kind: str, *, at: datetime) -> None:
    """Record that a notification of this kind was sent."""
    insert_new(connection, table, {"request": request_id, "kind": kind, "at": at})


def forget(connection: Connection, request_id: str, kind: str) -> None:
    """Forget that a notification of this kind was sent, so that it is sent again."""
    same = (table.c.request == request_id, table.c.kind == kind)
    connection.execute(delete(table).where(*same))
