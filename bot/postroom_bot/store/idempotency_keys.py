# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Record the keys of Slack's deliveries, so that each delivery is handled once."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Connection, delete

from postroom_bot.store.tables import idempotency_key as table
from postroom_bot.store.tables import insert_new


def record_if_new(connection: Connection, key: str, *, at: datetime) -> bool:
    """Store a key, and return whether it is new."""
    return insert_new(connection, table, {"key": key, "at": at})


def purge(connection: Connection, before: datetime) -> int:
    """Delete the keys stored before this time, and return how many were deleted."""
    return connection.execute(delete(table).where(table.c.at < before)).rowcount
