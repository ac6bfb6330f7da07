# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What several tables have in common: rows that may be there already, and wishes in columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, Table
from sqlalchemy.dialects import postgresql, sqlite

from postroom_bot.domain import Change


def insert_new(connection: Connection, table: Table, values: Mapping[str, Any]) -> bool:
    """Insert a row unless one with its key is there, and tell whether it was inserted.

    Unlike an insert that fails, this leaves a PostgreSQL transaction usable.
    """
    dialect = sqlite if connection.dialect.name == "sqlite" else postgresql
    statement = dialect.insert(table).values(values).on_conflict_do_nothing()
    # Not by rowcount, which not every driver tells for an insert.
    return connection.execute(statement.returning(*table.primary_key)).first() is not None


def change_values(change: Change) -> dict[str, Any]:
    """Return a wish as the values of its columns."""
    return {
        "action": change.action,
        "target": change.target,
        "mailbox": change.mailbox,
        "destinations": change.destinations,
        "expires_on": change.expires_on,
        "reason": change.reason,
    }


def pop_change(values: dict[str, Any]) -> Change:
    """Take the columns of a wish out of a row's values."""
    return Change(
        action=values.pop("action"),
        target=values.pop("target"),
        mailbox=values.pop("mailbox"),
        destinations=tuple(values.pop("destinations")),
        expires_on=values.pop("expires_on"),
        reason=values.pop("reason"),
    )
