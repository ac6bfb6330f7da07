# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Locks on mailboxes, reservations of freed addresses, and the email addresses of Slack users.

A mailbox is locked while it is changed at the mail service. A freed address stays reserved for its
last owner for a while. The time of a change of an email address in Slack is stored, because the
person could otherwise use a new address immediately to request another mailbox's password.
"""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from sqlalchemy import Connection, delete, or_, select, update

from postroom_bot.store.tables import identity, insert_new, mailbox_lock, reservation


def lock(
    connection: Connection, mailbox: str, *, owner: str, now: datetime, until: datetime
) -> bool:
    """Lock a mailbox unless another owner's lock is still valid; return whether it is locked."""
    values = {"mailbox": mailbox, "owner": owner, "until": until}
    if insert_new(connection, mailbox_lock, values):
        return True
    free = or_(mailbox_lock.c.until <= now, mailbox_lock.c.owner == owner)
    taken = update(mailbox_lock).where(mailbox_lock.c.mailbox == mailbox, free).values(values)
    return connection.execute(taken).rowcount == 1


def renew_lock(connection: Connection, mailbox: str, *, owner: str, until: datetime) -> bool:
    """Extend a lock; return False if it was lost."""
    mine = (mailbox_lock.c.mailbox == mailbox, mailbox_lock.c.owner == owner)
    return connection.execute(update(mailbox_lock).where(*mine).values(until=until)).rowcount == 1


def unlock(connection: Connection, mailbox: str, *, owner: str) -> None:
    """Release a lock if the owner still holds it."""
    mine = (mailbox_lock.c.mailbox == mailbox, mailbox_lock.c.owner == owner)
    connection.execute(delete(mailbox_lock).where(*mine))


def reserve(
    connection: Connection, address: str, owner: str, *, at: datetime, until: datetime
) -> None:
    """Reserve an address for its last owner, replacing any earlier reservation."""
    values = {"address": address, "owner": owner, "at": at, "until": until}
    if not insert_new(connection, reservation, values):
        same = reservation.c.address == address
        connection.execute(update(reservation).where(same).values(values))


def reserved_for(connection: Connection, address: str, *, now: datetime) -> str | None:
    """Return the last owner of a reserved address, or None if it is not reserved."""
    counts = (reservation.c.address == address, reservation.c.until > now)
    return connection.scalar(select(reservation.c.owner).where(*counts))


def release(connection: Connection, address: str) -> None:
    """Delete the reservation of an address, if any."""
    connection.execute(delete(reservation).where(reservation.c.address == address))


def purge(connection: Connection, now: datetime) -> int:
    """Delete the expired reservations, and return how many were deleted."""
    return connection.execute(delete(reservation).where(reservation.c.until <= now)).rowcount


class Identity(NamedTuple):
    """The email address of a Slack user.

    :param since: when the address was first seen
    :param changed_at: when it replaced another address; None if it never did
    """

    email: str
    since: datetime
    changed_at: datetime | None


def record_email(connection: Connection, user: str, email: str, *, at: datetime) -> datetime | None:
    """Record a user's current address, and return when it replaced another one, or None."""
    first = {"user": user, "email": email, "since": at, "changed_at": None}
    if not insert_new(connection, identity, first):
        other = update(identity).where(identity.c.user == user, identity.c.email != email)
        connection.execute(other.values(email=email, since=at, changed_at=at))
    return connection.scalar(select(identity.c.changed_at).where(identity.c.user == user))


def identity_of(connection: Connection, user: str) -> Identity | None:
    """Return the last recorded address of a user, or None."""
    columns = (identity.c.email, identity.c.since, identity.c.changed_at)
    row = connection.execute(select(*columns).where(identity.c.user == user)).one_or_none()
    return Identity._make(row) if row else None
