# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""SQLite: refuse INSERT OR REPLACE in the audit, which fires no trigger of DELETE."""

from __future__ import annotations

from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Refuse to insert a row in the place of another."""
    if op.get_bind().dialect.name != "sqlite":
        return
    for table, key in (("audit", "seq"), ("audit_head", "id")):
        there = f"EXISTS (SELECT 1 FROM {table} WHERE {key} = NEW.{key})"  # noqa: S608
        op.execute(
            f"CREATE TRIGGER {table}_no_replace BEFORE INSERT ON {table} WHEN {there}"
            " BEGIN SELECT RAISE(ABORT, 'the audit is only ever added to'); END"
        )
