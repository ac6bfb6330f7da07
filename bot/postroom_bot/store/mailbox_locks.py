# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Locks on mailboxes and forwarders, which are held while a request changes them."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Connection, delete, or_, update

from postroom_bot.store.tables import insert_new, mailbox_lock


def lock(
    connection: Connection, mailbox: str, *, holder: str, now: datetime, until: datetime
) -> bool:
    """Lock a mailbox unless another lock is valid. Return whether the lock was acquired."""
    values = {"mailbox": mailbox, "holder": holder, "until": until}
    if insert_new(connection, mailbox_lock, values):
        return True
    free = or_(mailbox_lock.c.until <= now, mailbox_lock.c.holder == holder)
    taken = update(mailbox_lock).where(mailbox_lock.c.mailbox == mailbox, free).values(values)
    return connection.execute(taken).rowcount == 1


def renew(connection: Connection, mailbox: str, *, holder: str, until: datetime) -> bool:
    """Extend a lock, or return False if the lock was lost."""
    mine = (mailbox_lock.c.mailbox == mailbox, mailbox_lock.c.holder == holder)
    return connection.execute(update(mailbox_lock).where(*mine).values(until=until)).rowcount == 1


def unlock(connection: Connection, mailbox: str, *, holder: str) -> None:
    """Release a lock, if it is still held."""
    mine = (mailbox_lock.c.mailbox == mailbox, mailbox_lock.c.holder == holder)
    connection.execute(delete(mailbox_lock).where(*mine))
