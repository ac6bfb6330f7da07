# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Prevent SQLite from replacing audit rows, and store when an alias or a forwarder ends."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta

import sqlalchemy as sa
from alembic import op

from postroom_bot.store.tables import UtcDateTime

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Reject INSERT OR REPLACE, which fires no DELETE trigger, and add the `ends_at` column."""
    if op.get_bind().dialect.name == "sqlite":
        for table, key in (("audit", "seq"), ("audit_head", "id")):
            there = f"EXISTS (SELECT 1 FROM {table} WHERE {key} = NEW.{key})"  # noqa: S608
            op.execute(
                f"CREATE TRIGGER {table}_no_replace BEFORE INSERT ON {table} WHEN {there}"
                " BEGIN SELECT RAISE(ABORT, 'the audit is only ever added to'); END"
            )
    op.add_column("request", sa.Column("ends_at", sa.DateTime(timezone=True)))
    _fill_ends()


def _fill_ends() -> None:
    """Set `ends_at` for existing requests, whose last day ended at midnight UTC."""
    request = sa.table(
        "request",
        sa.column("id"),
        sa.column("expires_on", sa.Date),
        sa.column("ends_at", UtcDateTime),
    )
    bind = op.get_bind()
    found = sa.select(request.c.id, request.c.expires_on).where(request.c.expires_on.is_not(None))
    for row in bind.execute(found).all():
        end = datetime.combine(row.expires_on + timedelta(days=1), time(), UTC)
        bind.execute(sa.update(request).where(request.c.id == row.id).values(ends_at=end))
