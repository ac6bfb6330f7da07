# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The first schema."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy import Column, String

revision = "0001"
down_revision = None

TIME = sa.DateTime(timezone=True)
CODE = String(16)


def upgrade() -> None:
    """Create all tables, and the triggers that make the audit append-only."""
    _create_requests()
    _create_votes()
    _create_other_tables()
    _create_audit()
    if op.get_bind().dialect.name == "sqlite":
        _create_sqlite_triggers()
    else:
        _create_postgresql_triggers()


def _text(name: str) -> Column[str]:
    return Column(name, String, nullable=False)


def _time(name: str) -> Column[datetime]:
    return Column(name, TIME, nullable=False)


def _number(name: str) -> Column[int]:
    return Column(name, sa.Integer, nullable=False)


def _json(name: str) -> Column[Any]:
    return Column(name, sa.JSON, nullable=False)


def _reason(name: str) -> tuple[Column[Any], Column[Any]]:
    return Column(f"{name}_code", String), Column(f"{name}_params", sa.JSON)


def _request(*, nullable: bool = False, **options: Any) -> Column[str]:
    return Column("request", CODE, sa.ForeignKey("request.id"), nullable=nullable, **options)


def _create_requests() -> None:
    op.create_table(
        "request",
        Column("id", CODE, primary_key=True),
        *(Column("action", CODE, nullable=False), _text("target"), Column("mailbox", String)),
        *(_json("destinations"), Column("last_day", sa.Date), _text("justification")),
        *(_text("requester"), _text("team"), Column("state", CODE, nullable=False)),
        *(_time("created_at"), _text("origin"), Column("requester_mailbox", String)),
        *(_text("rule"), _json("quorum"), _json("warnings")),
        *(_text("digest"), _text("policy_digest")),
        *(Column("decide_by", TIME), Column("execute_by", TIME)),
        *(Column("remind_at", TIME), Column("removal_at", TIME)),
        *(Column("card_channel", String), Column("card_ts", String), _text("card_state")),
        *(_number("attempts"), _number("failures"), _json("notes")),
        *(*_reason("blocked"), *_reason("result")),
        *(Column("closed_at", TIME), Column("due_at", TIME)),
        *(Column("lease_holder", String), Column("lease_until", TIME), _number("lease_count")),
        *(Column("lock", String), _number("due_marks")),
    )
    op.create_index("request_due", "request", ["due_at"])
    op.create_index("request_requester", "request", ["requester", "created_at"])
    op.create_index("request_state", "request", ["state"])
    op.create_index("request_lock", "request", ["lock"], unique=True)


def _create_votes() -> None:
    op.create_table(
        "vote",
        _request(primary_key=True),
        Column("voter", String, primary_key=True),
        _text("team"),
        Column("approves", sa.Boolean, nullable=False),
        Column("state", CODE, nullable=False),
        _time("at"),
        *(_text("card_channel"), _text("card_ts"), _text("justification")),
        *_reason("refusal"),
        Column("mailbox", String),
        _json("groups"),
    )
    counted = sa.text("state = 'counted' AND approves")
    op.create_index(
        "vote_one_per_mailbox",
        "vote",
        ["request", "mailbox"],
        unique=True,
        sqlite_where=counted,
        postgresql_where=counted,
    )


def _create_other_tables() -> None:
    kind = Column("kind", String, primary_key=True)
    op.create_table("notification", _request(primary_key=True), kind, _time("at"))
    key = Column("key", String(200), primary_key=True)
    op.create_table("idempotency_key", key, _time("at"))
    op.create_index("ix_idempotency_key_at", "idempotency_key", ["at"])
    user = Column("user", String, primary_key=True)
    changed_at = Column("changed_at", TIME)
    op.create_table("profile_email", user, _text("email"), _time("since"), changed_at)
    address = Column("address", String, primary_key=True)
    op.create_table("tombstone", address, _text("owner"), _time("at"), _time("until"))
    op.create_table(
        "holding",
        Column("address", String, primary_key=True),
        Column("destination", String, primary_key=True),
        Column("action", CODE, nullable=False),
        *(_request(nullable=True), Column("ends_at", TIME)),
    )
    op.create_index("ix_holding_request", "holding", ["request"])


def _create_audit() -> None:
    op.create_table(
        "audit",
        Column("seq", sa.Integer, primary_key=True, autoincrement=False),
        *(_text("at"), _text("actor"), _text("event")),
        Column("request", String),
        *(_text("data"), _text("prev_hash"), _text("hash")),
    )
    op.create_index("ix_audit_request", "audit", ["request"])
    head = op.create_table("audit_head", _only_id(), _number("seq"), _text("hash"))
    op.bulk_insert(head, [{"id": 1, "seq": 0, "hash": "0" * 64}])
    cursor = op.create_table("audit_cursor", _only_id(), _number("seq"))
    op.bulk_insert(cursor, [{"id": 1, "seq": 0}])


def _only_id() -> Column[int]:
    one = sa.CheckConstraint("id = 1")
    return Column("id", sa.Integer, one, primary_key=True, autoincrement=False)


def _create_sqlite_triggers() -> None:
    refuse = "BEGIN SELECT RAISE(ABORT, 'the audit is only ever added to'); END"
    for table, event, when in (
        ("audit", "UPDATE", ""),
        ("audit", "DELETE", ""),
        ("audit_head", "DELETE", ""),
        ("audit_head", "UPDATE", "WHEN NEW.seq <> OLD.seq + 1"),
        # INSERT OR REPLACE fires no DELETE trigger.
        ("audit", "INSERT", "WHEN EXISTS (SELECT 1 FROM audit WHERE seq = NEW.seq)"),
        ("audit_head", "INSERT", "WHEN EXISTS (SELECT 1 FROM audit_head WHERE id = NEW.id)"),
    ):
        name = f"{table}_no_{event.lower().replace('insert', 'replace')}"
        op.execute(f"CREATE TRIGGER {name} BEFORE {event} ON {table} {when} {refuse}")


def _create_postgresql_triggers() -> None:
    op.execute(
        "CREATE FUNCTION audit_refuse() RETURNS trigger LANGUAGE plpgsql AS"
        " $$ BEGIN RAISE EXCEPTION 'the audit is only ever added to'; END $$"
    )
    for table, events, rest in (
        ("audit", "UPDATE OR DELETE OR TRUNCATE", "FOR EACH STATEMENT"),
        ("audit_head", "DELETE OR TRUNCATE", "FOR EACH STATEMENT"),
        ("audit_head", "UPDATE", "FOR EACH ROW WHEN (NEW.seq <> OLD.seq + 1)"),
    ):
        name = f"{table}_no_{events.split()[0].lower()}"
        op.execute(
            f"CREATE TRIGGER {name} BEFORE {events} ON {table} {rest}"
            " EXECUTE FUNCTION audit_refuse()"
        )
