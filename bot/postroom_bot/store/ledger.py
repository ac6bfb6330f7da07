# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The ledger: what was changed at the mail service by way of chat, in the order in which it was."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from sqlalchemy import Connection, select

from postroom_bot.domain import Change
from postroom_bot.store.rows import change_values, insert_new, pop_change
from postroom_bot.store.tables import ledger as table


class LedgerEntry(NamedTuple):
    """A change that was made, and the request that it was made for."""

    seq: int
    request_id: str
    change: Change
    at: datetime


def record(connection: Connection, *, request_id: str, change: Change, at: datetime) -> None:
    """Record a change, only once for each request.

    :param change: as executed, with its mailbox
    """
    insert_new(connection, table, {"request": request_id, "at": at, **change_values(change)})


def entries(connection: Connection) -> list[LedgerEntry]:
    """Return all changes in order."""
    found = []
    for row in connection.execute(select(table).order_by(table.c.seq)).mappings():
        values = dict(row)
        change = pop_change(values)
        found.append(LedgerEntry(values["seq"], values["request"], change, values["at"]))
    return found
