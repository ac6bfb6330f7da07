# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The messages about a request that were sent, each kind once."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Connection, delete, select

from postroom_bot.store.rows import insert_new
from postroom_bot.store.tables import notification as table


def sent(connection: Connection, request_id: str) -> frozenset[str]:
    """Return the kinds that were sent."""
    kinds = select(table.c.kind).where(table.c.request == request_id)
    return frozenset(connection.scalars(kinds))


def record(connection: Connection, request_id: str, kind: str, *, at: datetime) -> None:
    """Record that a kind was sent."""
    insert_new(connection, table, {"request": request_id, "kind": kind, "at": at})


def forget(connection: Connection, request_id: str, kind: str) -> None:
    """Let a kind be sent again."""
    same = (table.c.request == request_id, table.c.kind == kind)
    connection.execute(delete(table).where(*same))
