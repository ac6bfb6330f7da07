# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Addresses that were freed and for a while are nobody else's than their last owner's."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from sqlalchemy import Connection, delete, select, update

from postroom_bot.store.rows import insert_new
from postroom_bot.store.tables import tombstone as table


class Reservation(NamedTuple):
    """A freed address, the mailbox that had it, and when anybody may have it."""

    address: str
    owner: str
    until: datetime


def reserve(
    connection: Connection, address: str, owner: str, *, at: datetime, until: datetime
) -> None:
    """Keep an address for its last owner; an older tombstone of it is replaced."""
    values = {"address": address, "owner": owner, "at": at, "until": until}
    if not insert_new(connection, table, values):
        connection.execute(update(table).where(table.c.address == address).values(values))


def get(connection: Connection, address: str, *, now: datetime) -> Reservation | None:
    """Return an address's tombstone if it still counts."""
    counts = (table.c.address == address, table.c.until > now)
    columns = (table.c.address, table.c.owner, table.c.until)
    row = connection.execute(select(*columns).where(*counts)).one_or_none()
    return Reservation._make(row) if row else None


def release(connection: Connection, address: str) -> None:
    """Remove an address's tombstone, where it has one."""
    connection.execute(delete(table).where(table.c.address == address))


def purge(connection: Connection, now: datetime) -> int:
    """Remove the tombstones that don't count any more, and tell how many they were."""
    return connection.execute(delete(table).where(table.c.until <= now)).rowcount
