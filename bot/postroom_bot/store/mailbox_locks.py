# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Lock a mailbox or forwarder while a change to it is executed."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Connection, delete, or_, update

from postroom_bot.store.tables import insert_new
from postroom_bot.store.tables import mailbox_lock as table


def lock(
    connection: Connection, mailbox: str, *, holder: str, now: datetime, until: datetime
) -> bool:
    """Lock a mailbox unless another holder has a valid lock. Return whether this succeeded."""
    values = {"mailbox": mailbox, "holder": holder, "until": until}
    if insert_new(connection, table, values):
        return True
    free = or_(table.c.until <= now, table.c.holder == holder)
    taken = update(table).where(table.c.mailbox == mailbox, free).values(values)
    return connection.execute(taken).rowcount == 1


def renew(connection: Connection, mailbox: str, *, holder: str, until: datetime) -> bool:
    """Extend a mailbox's lock, or return False if the lock was lost."""
    mine = (table.c.mailbox == mailbox, table.c.holder == holder)
    return connection.execute(update(table).where(*mine).values(until=until)).rowcount == 1


def unlock(connection: Connection, mailbox: str, *, holder: str) -> None:
    """Release a mailbox's lock, if it is still held."""
    mine = (table.c.mailbox == mailbox, table.c.holder == holder)
    connection.execute(delete(table).where(*mine))
