# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tombstones, which reserve each removed address for its last owner for a while."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Connection, delete, select, update

from postroom_bot.store.tables import insert_new
from postroom_bot.store.tables import tombstone as table


def add(connection: Connection, address: str, owner: str, *, at: datetime, until: datetime) -> None:
    """Reserve an address for its last owner, replacing any earlier tombstone."""
    values = {"address": address, "owner": owner, "at": at, "until": until}
    if not insert_new(connection, table, values):
        same = table.c.address == address
        connection.execute(update(table).where(same).values(values))


def owner_of(connection: Connection, address: str, *, now: datetime) -> str | None:
    """Return the last owner of an address if a tombstone still reserves it, or None."""
    counts = (table.c.address == address, table.c.until > now)
    return connection.scalar(select(table.c.owner).where(*counts))


def remove(connection: Connection, address: str) -> None:
    """Delete the tombstone of an address, if there is one."""
    connection.execute(delete(table).where(table.c.address == address))


def purge(connection: Connection, now: datetime) -> int:
    """Delete the tombstones that have expired, and return how many were deleted."""
    return connection.execute(delete(table).where(table.c.until <= now)).rowcount
