# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Removed addresses, which stay reserved for their last owner for a while."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Connection, delete, select, update

from postroom_bot.store.tables import freed_address, insert_new


def keep_free(
    connection: Connection, address: str, owner: str, *, at: datetime, until: datetime
) -> None:
    """Reserve an address for its last owner, replacing any earlier reservation."""
    values = {"address": address, "owner": owner, "at": at, "until": until}
    if not insert_new(connection, freed_address, values):
        same = freed_address.c.address == address
        connection.execute(update(freed_address).where(same).values(values))


def kept_for(connection: Connection, address: str, *, now: datetime) -> str | None:
    """Return the last owner of an address if it is still reserved for that owner, or None."""
    counts = (freed_address.c.address == address, freed_address.c.until > now)
    return connection.scalar(select(freed_address.c.owner).where(*counts))


def end_reservation(connection: Connection, address: str) -> None:
    """End the reservation of an address, if there is one."""
    connection.execute(delete(freed_address).where(freed_address.c.address == address))


def purge(connection: Connection, now: datetime) -> int:
    """Delete the reservations that have expired, and return how many were deleted."""
    return connection.execute(delete(freed_address).where(freed_address.c.until <= now)).rowcount
