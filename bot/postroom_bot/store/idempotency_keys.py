# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Record the keys of Slack's deliveries and the bot's own events, so that each is handled once."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Connection, delete

from postroom_bot.store.tables import inbox, insert_new


def record_if_new(connection: Connection, key: str, *, at: datetime) -> bool:
    """Store a key, and return whether it is new."""
    return insert_new(connection, inbox, {"key": key, "at": at})


def purge(connection: Connection, before: datetime) -> int:
    """Delete the keys stored before this time, and return how many were deleted."""
    return connection.execute(delete(inbox).where(inbox.c.at < before)).rowcount
