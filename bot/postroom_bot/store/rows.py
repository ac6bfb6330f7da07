# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Shared by several tables: insert a row once, and store changes and reasons in columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, Table
from sqlalchemy.dialects import postgresql, sqlite

from postroom_bot.domain import Change, Reason


def insert_new(connection: Connection, table: Table, values: Mapping[str, Any]) -> bool:
    """Insert a row unless its key exists; return whether it was inserted.

    Unlike an insert that fails, this leaves a PostgreSQL transaction usable.
    """
    dialect = sqlite if connection.dialect.name == "sqlite" else postgresql
    statement = dialect.insert(table).values(values).on_conflict_do_nothing()
    # Not every driver reports the rowcount of an insert.
    return connection.execute(statement.returning(*table.primary_key)).first() is not None


def change_values(change: Change) -> dict[str, Any]:
    """Return a change as the values of its columns."""
    return {
        "action": change.action,
        "target": change.target,
        "mailbox": change.mailbox,
        "destinations": change.destinations,
        "expires_on": change.expires_on,
        "reason": change.reason,
    }


def pop_change(values: dict[str, Any]) -> Change:
    """Remove the columns of a change from a row's values and return the change."""
    return Change(
        action=values.pop("action"),
        target=values.pop("target"),
        mailbox=values.pop("mailbox"),
        destinations=tuple(values.pop("destinations")),
        expires_on=values.pop("expires_on"),
        reason=values.pop("reason"),
    )


def reason_values(name: str, reason: Reason | None) -> dict[str, Any]:
    """Return a reason as the values of its columns, `{name}_code` and `{name}_params`."""
    code, params = (None, None) if reason is None else reason.as_list()
    return {f"{name}_code": code, f"{name}_params": params}


def pop_reason(values: dict[str, Any], name: str) -> Reason | None:
    """Remove the columns of a reason from a row's values and return the reason."""
    code, params = values.pop(f"{name}_code"), values.pop(f"{name}_params")
    return Reason(code, params or {}) if code else None
