# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The database tables, the conversion between objects and rows, and `migrate`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import fields
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import (
    JSON,
    Boolean,
    CheckConstraint,
    Column,
    Connection,
    Date,
    DateTime,
    Dialect,
    Enum,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    RowMapping,
    String,
    Table,
    text,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.types import TypeDecorator

from postroom_bot.domain import (
    Action,
    Change,
    MessageRef,
    Quorum,
    Reason,
    Request,
    State,
    Vote,
    VoteState,
)
from postroom_common.database import Database
from postroom_common.migrations import Schema

CODE_LENGTH = 16

# Fields that store a reason in two columns, and fields that store a tuple as a JSON list.
_REASONS = frozenset({"blocked", "result", "refusal"})
_LISTS: Mapping[str, Callable[[Any], Any]] = {
    "destinations": str,
    "groups": str,
    "quorum": lambda one: Quorum(*one),
    "warnings": lambda one: Reason(*one),
}

SCHEMA = Schema(
    location="postroom_bot.store:migrations",
    command="postroom-bot migrate",
    table="alembic_version",
)


class UtcDateTime(TypeDecorator[datetime]):
    """A column type for timezone-aware times in UTC. SQLite itself does not store time zones."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, _dialect: Dialect) -> datetime | None:
        """Convert a time to UTC, or raise ValueError if its time zone is missing."""
        if value is not None and value.tzinfo is None:
            raise ValueError("the time must be timezone-aware")
        return value and value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, _dialect: Dialect) -> datetime | None:
        """Return a stored time in UTC."""
        if value is None or value.tzinfo is not None:
            return value and value.astimezone(UTC)
        return value.replace(tzinfo=UTC)


def _code(names: type[StrEnum]) -> Enum:
    return Enum(
        names,
        native_enum=False,
        length=CODE_LENGTH,
        values_callable=lambda members: [member.value for member in members],
    )


def _text(name: str, **options: Any) -> Column[str]:
    return Column(name, String, nullable=False, **options)


def _time(name: str, **options: Any) -> Column[datetime]:
    return Column(name, UtcDateTime, nullable=False, **options)


metadata = MetaData()

request = Table(
    "request",
    metadata,
    Column("id", String(CODE_LENGTH), primary_key=True),
    Column("action", _code(Action), nullable=False),
    _text("target"),
    Column("mailbox", String),
    Column("destinations", JSON, nullable=False),
    Column("last_day", Date),
    _text("justification"),
    _text("requester"),
    _text("team"),
    Column("state", _code(State), nullable=False),
    _time("created_at"),
    _text("origin"),
    Column("requester_mailbox", String),
    _text("rule"),
    Column("quorum", JSON, nullable=False),
    Column("warnings", JSON, nullable=False),
    _text("digest"),
    _text("policy_digest"),
    Column("decide_by", UtcDateTime),
    Column("execute_by", UtcDateTime),
    Column("remind_at", UtcDateTime),
    Column("removal_at", UtcDateTime),
    Column("card_channel", String),
    Column("card_ts", String),
    _text("card_state"),
    Column("attempts", Integer, nullable=False),
    Column("failures", Integer, nullable=False),
    Column("notes", JSON, nullable=False),
    Column("blocked_code", String),
    Column("blocked_params", JSON(none_as_null=True)),
    Column("result_code", String),
    Column("result_params", JSON(none_as_null=True)),
    Column("closed_at", UtcDateTime),
    Column("due_at", UtcDateTime),
    Column("lease_holder", String),
    Column("lease_until", UtcDateTime),
    Column("lease_count", Integer, nullable=False),
    Column("lock", String),
    Column("due_marks", Integer, nullable=False),
    Index("request_due", "due_at"),
    Index("request_requester", "requester", "created_at"),
    Index("request_state", "state"),
    # Only one request at a time can lock a mailbox or a forwarder.
    Index("request_lock", "lock", unique=True),
)

vote = Table(
    "vote",
    metadata,
    Column("request", ForeignKey(request.c.id), primary_key=True),
    Column("voter", String, primary_key=True),
    _text("team"),
    Column("approves", Boolean, nullable=False),
    Column("state", _code(VoteState), nullable=False),
    _time("at"),
    _text("card_channel"),
    _text("card_ts"),
    _text("justification"),
    Column("refusal_code", String),
    Column("refusal_params", JSON(none_as_null=True)),
    Column("mailbox", String),
    Column("groups", JSON, nullable=False),
)
# A person with two Slack accounts can approve only once.
_counted = text("state = 'counted' AND approves")
Index(
    "vote_one_per_mailbox",
    vote.c.request,
    vote.c.mailbox,
    unique=True,
    sqlite_where=_counted,
    postgresql_where=_counted,
)

# The kinds of notifications sent about a request, such as `done` and `done-owner`.
notification = Table(
    "notification",
    metadata,
    Column("request", ForeignKey(request.c.id), primary_key=True),
    Column("kind", String, primary_key=True),
    _time("at"),
)

idempotency_key = Table(
    "idempotency_key",
    metadata,
    Column("key", String(200), primary_key=True),
    _time("at", index=True),
)

profile_email = Table(
    "profile_email",
    metadata,
    Column("user", String, primary_key=True),
    _text("email"),
    _time("since"),
    Column("changed_at", UtcDateTime),
)

tombstone = Table(
    "tombstone",
    metadata,
    Column("address", String, primary_key=True),
    _text("owner"),
    _time("at"),
    _time("until"),
)

# What requests have added, and the aliases and forwarders that they have removed.
holding = Table(
    "holding",
    metadata,
    Column("address", String, primary_key=True),
    Column("destination", String, primary_key=True),
    Column("action", _code(Action), nullable=False),
    Column("request", ForeignKey(request.c.id), index=True),
    Column("ends_at", UtcDateTime),
)

# Times and JSON are stored as text, because a database that normalizes them would break the chain.
audit = Table(
    "audit",
    metadata,
    Column("seq", Integer, primary_key=True, autoincrement=False),
    _text("at"),
    _text("actor"),
    _text("event"),
    Column("request", String, index=True),
    _text("data"),
    _text("prev_hash"),
    _text("hash"),
)

# The end of the chain, to detect the deletion of its last rows.
audit_head = Table(
    "audit_head",
    metadata,
    Column("id", Integer, CheckConstraint("id = 1"), primary_key=True, autoincrement=False),
    Column("seq", Integer, nullable=False),
    _text("hash"),
)

# The last row that was streamed.
audit_cursor = Table(
    "audit_cursor",
    metadata,
    Column("id", Integer, CheckConstraint("id = 1"), primary_key=True, autoincrement=False),
    Column("seq", Integer, nullable=False),
)


def migrate(where: str) -> None:
    """Migrate the database at a path or URL to the current schema. The database may be empty.

    :raises DatabaseError: if the database can't be used, or was migrated by a later version of the
        bot
    """
    with closing(Database(where)) as database:
        SCHEMA.migrate(database)


def insert_new(connection: Connection, table: Table, values: Mapping[str, Any]) -> bool:
    """Insert a row unless its key exists. Return whether the row was inserted.

    If the key exists, a PostgreSQL transaction remains usable, unlike after a failed insert.
    """
    dialect = sqlite if connection.dialect.name == "sqlite" else postgresql
    statement = dialect.insert(table).values(values).on_conflict_do_nothing()
    # Not every driver reports the rowcount of an insert.
    return connection.execute(statement.returning(*table.primary_key)).first() is not None


def to_columns(data: Request | Vote | Change | Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of the columns that store an object, or some fields of it."""
    if not isinstance(data, Mapping):
        data = {field.name: getattr(data, field.name) for field in fields(data)}
    columns = dict(data)
    if "change" in columns:
        columns |= to_columns(columns.pop("change"))
    for name in _REASONS & columns.keys():
        reason = columns.pop(name)
        code, params = (None, None) if reason is None else reason.as_list()
        columns |= {f"{name}_code": code, f"{name}_params": params}
    if "warnings" in columns:
        columns["warnings"] = [one.as_list() for one in columns["warnings"]]
    if "card" in columns:
        channel, ts = columns.pop("card") or (None, None)
        columns |= {"card_channel": channel, "card_ts": ts}
    return columns


def from_row(table: Table, row: RowMapping) -> dict[str, Any]:
    """Return the fields of the object that a row stores. This reverses `to_columns`."""
    values = {column.key: row[column] for column in table.c}
    for name in _LISTS.keys() & values.keys():
        values[name] = tuple(map(_LISTS[name], values[name]))
    if "action" in values:
        values["change"] = Change(**{one.name: values.pop(one.name) for one in fields(Change)})
    for name in [name for name in _REASONS if f"{name}_code" in values]:
        code, params = values.pop(f"{name}_code"), values.pop(f"{name}_params")
        values[name] = Reason(code, params or {}) if code else None
    if "card_ts" in values:
        channel, ts = values.pop("card_channel"), values.pop("card_ts")
        values["card"] = MessageRef(channel, ts) if channel else None
    return values
