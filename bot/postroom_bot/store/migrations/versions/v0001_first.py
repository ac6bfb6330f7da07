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

MOMENT = sa.DateTime(timezone=True)
CODE = String(16)


def upgrade() -> None:
    """Create all tables, and the triggers that make the audit append-only."""
    _requests()
    _votes()
    _locks()
    _people()
    _ledger()
    _audit()
    if op.get_bind().dialect.name == "sqlite":
        _sqlite_triggers()
    else:
        _postgresql_triggers()


def _text(name: str) -> Column[str]:
    return Column(name, String, nullable=False)


def _moment(name: str) -> Column[datetime]:
    return Column(name, MOMENT, nullable=False)


def _number(name: str) -> Column[int]:
    return Column(name, sa.Integer, nullable=False)


def _json(name: str) -> Column[Any]:
    return Column(name, sa.JSON, nullable=False)


def _wish() -> list[Column[Any]]:
    return [
        Column("action", CODE, nullable=False),
        _text("target"),
        Column("mailbox", String),
        _json("destinations"),
        Column("expires_on", sa.Date),
        _text("reason"),
    ]


def _requests() -> None:
    op.create_table(
        "request",
        Column("id", CODE, primary_key=True),
        *_wish(),
        _text("requester"),
        _text("team"),
        Column("state", CODE, nullable=False),
        _moment("created_at"),
        _text("origin"),
        Column("requester_mailbox", String),
        *(_text("rule"), _json("quorum"), _json("warnings")),
        *(_text("digest"), _text("policy_digest")),
        *(Column("expires_at", MOMENT), Column("remind_at", MOMENT)),
        *(Column("card_channel", String), Column("card_ts", String)),
        *(_text("shown"), _text("told")),
        *(_number("attempts"), _json("progress"), _text("trouble"), _text("result")),
        *(Column("ended_at", MOMENT), Column("due_at", MOMENT)),
        *(Column("lease_owner", String), Column("lease_until", MOMENT)),
        *(_number("leases"), _number("version")),
    )
    op.create_index("request_due", "request", ["due_at"])
    op.create_index("request_requester", "request", ["requester", "created_at"])
    op.create_index("request_state", "request", ["state"])


def _votes() -> None:
    op.create_table(
        "vote",
        Column("request", CODE, sa.ForeignKey("request.id"), primary_key=True),
        Column("voter", String, primary_key=True),
        _text("team"),
        Column("approves", sa.Boolean, nullable=False),
        Column("state", CODE, nullable=False),
        _moment("at"),
        *(_text("card_channel"), _text("card_ts")),
        _text("reason"),
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


def _locks() -> None:
    op.create_table("inbox", Column("key", String(200), primary_key=True), _moment("at"))
    op.create_index("ix_inbox_at", "inbox", ["at"])
    op.create_table(
        "mailbox_lock",
        Column("mailbox", String, primary_key=True),
        _text("owner"),
        _moment("until"),
    )


def _people() -> None:
    op.create_table(
        "identity",
        Column("user", String, primary_key=True),
        _text("email"),
        _moment("since"),
        Column("changed_at", MOMENT),
    )
    op.create_table(
        "tombstone",
        Column("address", String, primary_key=True),
        _text("owner"),
        _moment("at"),
        _moment("until"),
    )


def _ledger() -> None:
    op.create_table(
        "ledger",
        Column("seq", sa.Integer, primary_key=True),
        Column("request", CODE, sa.ForeignKey("request.id"), nullable=False, unique=True),
        _moment("at"),
        *_wish(),
    )


def _audit() -> None:
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


def _sqlite_triggers() -> None:
    refuse = "BEGIN SELECT RAISE(ABORT, 'the audit is only ever added to'); END"
    for table, event, when in (
        ("audit", "UPDATE", ""),
        ("audit", "DELETE", ""),
        ("audit_head", "DELETE", ""),
        ("audit_head", "UPDATE", "WHEN NEW.seq <> OLD.seq + 1"),
    ):
        name = f"{table}_no_{event.lower()}"
        op.execute(f"CREATE TRIGGER {name} BEFORE {event} ON {table} {when} {refuse}")


def _postgresql_triggers() -> None:
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
