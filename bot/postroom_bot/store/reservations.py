# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Freed addresses, which are kept free for their last owner for a while."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from sqlalchemy import Connection, delete, select, update

from postroom_bot.store.rows import insert_new
from postroom_bot.store.tables import reservation as table


class Reservation(NamedTuple):
    """A freed address, its last owner, and when the reservation ends."""

    address: str
    owner: str
    until: datetime


def reserve(
    connection: Connection, address: str, owner: str, *, at: datetime, until: datetime
) -> None:
    """Reserve an address for its last owner, in place of an older reservation."""
    values = {"address": address, "owner": owner, "at": at, "until": until}
    if not insert_new(connection, table, values):
        connection.execute(update(table).where(table.c.address == address).values(values))


def get(connection: Connection, address: str, *, now: datetime) -> Reservation | None:
    """Return an address's reservation if it has not ended."""
    counts = (table.c.address == address, table.c.until > now)
    columns = (table.c.address, table.c.owner, table.c.until)
    row = connection.execute(select(*columns).where(*counts)).one_or_none()
    return Reservation._make(row) if row else None


def release(connection: Connection, address: str) -> None:
    """Delete an address's reservation, if any."""
    connection.execute(delete(table).where(table.c.address == address))


def purge(connection: Connection, now: datetime) -> int:
    """Delete the reservations that have ended; return how many."""
    return connection.execute(delete(table).where(table.c.until <= now)).rowcount
