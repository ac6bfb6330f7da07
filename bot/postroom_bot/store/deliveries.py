# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Deliveries by Slack that were processed, and notifications that were sent: each counts once."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Connection, delete, select

from postroom_bot.store.tables import KEY_LENGTH, inbox, insert_new, notification


def is_new(connection: Connection, key: str, *, at: datetime) -> bool:
    """Store the key of a delivery, and return whether it is new.

    :param key: at most 200 characters; ValueError beyond
    """
    if len(key) > KEY_LENGTH:
        raise ValueError(f"a delivery's key has at most {KEY_LENGTH} characters")
    return insert_new(connection, inbox, {"key": key, "at": at})


def purge(connection: Connection, before: datetime) -> int:
    """Delete the keys from before this time, and return their number."""
    return connection.execute(delete(inbox).where(inbox.c.at < before)).rowcount


def sent(connection: Connection, request_id: str) -> frozenset[str]:
    """Return the kinds of notifications that were sent about a request."""
    kinds = select(notification.c.kind).where(notification.c.request == request_id)
    return frozenset(connection.scalars(kinds))


def record_sent(connection: Connection, request_id: str, kind: str, *, at: datetime) -> None:
    """Record that a kind was sent."""
    insert_new(connection, notification, {"request": request_id, "kind": kind, "at": at})


def forget_sent(connection: Connection, request_id: str, kind: str) -> None:
    """Let a kind be sent again."""
    same = (notification.c.request == request_id, notification.c.kind == kind)
    connection.execute(delete(notification).where(*same))
