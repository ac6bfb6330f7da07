# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Replace sentences with reason codes, and add a table of notifications and two deadlines."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy import Column, String

revision = "0003"
down_revision = "0002"

MOMENT = sa.DateTime(timezone=True)

request = sa.table(
    "request",
    *map(sa.column, ("id", "state", "trouble", "result", "told", "blocked_code", "result_code")),
    *(sa.column(name, MOMENT) for name in ("expires_at", "decide_by", "execute_by")),
    *(sa.column(name, MOMENT) for name in ("created_at", "ended_at")),
    *(sa.column(name, sa.JSON) for name in ("warnings", "blocked_params", "result_params")),
)
vote = sa.table(
    "vote",
    *map(sa.column, ("request", "voter", "state", "reason", "refusal_code")),
    sa.column("refusal_params", sa.JSON),
)
notification = sa.table(
    "notification", sa.column("request"), sa.column("kind"), sa.column("at", MOMENT)
)


def upgrade() -> None:
    """Move data from the old columns to the new columns, and drop the old columns."""
    op.rename_table("tombstone", "reservation")
    op.create_table(
        "notification",
        Column("request", String(16), sa.ForeignKey("request.id"), primary_key=True),
        Column("kind", String, primary_key=True),
        Column("at", MOMENT, nullable=False),
    )
    _add("request", "blocked", "result")
    _add("vote", "refusal")
    op.add_column("request", Column("decide_by", MOMENT))
    op.add_column("request", Column("execute_by", MOMENT))
    zero = sa.text("0")
    op.add_column("request", Column("failures", sa.Integer, nullable=False, server_default=zero))
    op.execute("ALTER TABLE request RENAME COLUMN shown TO card_state")
    _migrate_requests()
    _migrate_refusals()
    for name in ("trouble", "result", "told", "expires_at"):
        op.drop_column("request", name)


def _add(table: str, *names: str) -> None:
    for name in names:
        op.add_column(table, Column(f"{name}_code", String))
        op.add_column(table, Column(f"{name}_params", sa.JSON))


def _reason(name: str, sentence: str) -> dict[str, Any]:
    """Return a sentence as the columns of a legacy reason, or no columns if it is empty."""
    return {f"{name}_code": "legacy", f"{name}_params": {"text": sentence}} if sentence else {}


def _migrate_requests() -> None:
    bind = op.get_bind()
    for row in bind.execute(sa.select(request)).all():
        deadline = "execute_by" if row.state in ("approved", "executing") else "decide_by"
        values = {
            "warnings": [["legacy", {"text": one}] for one in row.warnings],
            deadline: row.expires_at,
            **_reason("blocked", row.trouble),
            **_reason("result", row.result),
        }
        bind.execute(sa.update(request).where(request.c.id == row.id).values(values))
        at = row.ended_at or row.created_at
        for kind in set(row.told.replace("trouble", "blocked").split()):
            bind.execute(sa.insert(notification).values(request=row.id, kind=kind, at=at))


def _migrate_refusals() -> None:
    """Move the reasons for refusals out of the column for the voter's own reason."""
    bind = op.get_bind()
    for row in bind.execute(sa.select(vote).where(vote.c.state == "refused")).all():
        same = (vote.c.request == row.request, vote.c.voter == row.voter)
        values = {"reason": "", **_reason("refusal", row.reason)}
        bind.execute(sa.update(vote).where(*same).values(values))
