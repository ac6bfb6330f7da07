# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Locks on mailboxes, held while one is changed at the mail service."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Connection, and_, delete, or_, update

from postroom_bot.store.rows import insert_new
from postroom_bot.store.tables import mailbox_lock as table


def take(
    connection: Connection, mailbox: str, *, owner: str, now: datetime, until: datetime
) -> bool:
    """Lock a mailbox if it is free, if its lock ran out or if it is the owner's already."""
    values = {"mailbox": mailbox, "owner": owner, "until": until}
    if insert_new(connection, table, values):
        return True
    free = or_(table.c.until <= now, table.c.owner == owner)
    taken = update(table).where(table.c.mailbox == mailbox, free).values(values)
    return connection.execute(taken).rowcount == 1


def renew(connection: Connection, mailbox: str, *, owner: str, until: datetime) -> bool:
    """Let a lock last longer; False if it was lost to another."""
    mine = and_(table.c.mailbox == mailbox, table.c.owner == owner)
    return connection.execute(update(table).where(mine).values(until=until)).rowcount == 1


def free(connection: Connection, mailbox: str, *, owner: str) -> None:
    """Give a lock back, if it is still the owner's."""
    mine = and_(table.c.mailbox == mailbox, table.c.owner == owner)
    connection.execute(delete(table).where(mine))
