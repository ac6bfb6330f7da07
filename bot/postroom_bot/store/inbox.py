# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What came from Slack already: each delivery has a key, and only the first one counts."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Connection, delete

from postroom_bot.store.rows import insert_new
from postroom_bot.store.tables import KEY_LENGTH
from postroom_bot.store.tables import inbox as table


def first(connection: Connection, key: str, *, at: datetime) -> bool:
    """Store the key of a delivery, and return whether it is new.

    :param key: at most 200 characters; ValueError beyond
    """
    if len(key) > KEY_LENGTH:
        raise ValueError(f"a delivery's key has at most {KEY_LENGTH} characters")
    return insert_new(connection, table, {"key": key, "at": at})


def purge(connection: Connection, before: datetime) -> int:
    """Delete the keys from before this time, and return their number."""
    return connection.execute(delete(table).where(table.c.at < before)).rowcount
