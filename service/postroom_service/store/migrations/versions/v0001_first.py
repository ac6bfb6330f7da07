# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The schema of the first release, which stored its version in the schema_version table."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

ID = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Create all tables, or adopt those of the first release."""
    if sa.inspect(op.get_bind()).has_table("schema_version"):
        op.drop_table("schema_version")
        return
    op.create_table("tenant", _id(), sa.Column("name", sa.Text, nullable=False, unique=True))
    op.create_table(
        "token",
        _id(),
        _owner("tenant", nullable=False, index=True),
        sa.Column("hash", sa.String(64), nullable=False, unique=True),
        sa.Column("label", sa.Text, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("expires_at", sa.BigInteger),
        sa.Column("revoked_at", sa.BigInteger),
    )
    op.create_table(
        "principal",
        _id(),
        _owner("tenant", nullable=False),
        _domain(nullable=True),
        sa.Column(
            "kind",
            sa.String(9),
            sa.CheckConstraint("kind IN ('domain', 'mailbox', 'forwarder')"),
            nullable=False,
        ),
        sa.Column("name", sa.String(254), nullable=False, unique=True),
        sa.Column("uid", sa.String(32), nullable=False, unique=True),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.CheckConstraint("(kind = 'domain') = (domain_id IS NULL)", name="domain_has_no_domain"),
        sa.Index("principal_by_tenant", "tenant_id", "kind"),
    )
    op.create_table(
        "address",
        sa.Column("address", sa.String(254), primary_key=True),
        _owner("principal", nullable=False, index=True),
        _domain(nullable=False),
        _position(),
    )
    op.create_table(
        "member",
        _owner("principal", primary_key=True),
        sa.Column("address", sa.String(254), primary_key=True),
        _position(),
    )
    op.create_table(
        "secret",
        _owner("principal", primary_key=True),
        sa.Column("position", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("hash", sa.Text, nullable=False),
    )
    op.create_table(
        "dkim_key",
        _owner("principal", primary_key=True),
        sa.Column("private_pem", sa.Text, nullable=False),
        sa.Column("public_base64", sa.Text, nullable=False),
    )


def _id() -> sa.Column[int]:
    return sa.Column("id", ID, primary_key=True)


def _owner(table: str, **options: bool) -> sa.Column[int]:
    key = sa.ForeignKey(f"{table}.id", ondelete="CASCADE")
    return sa.Column(f"{table}_id", ID, key, **options)  # type: ignore[arg-type]


def _domain(*, nullable: bool) -> sa.Column[int]:
    key = sa.ForeignKey("principal.id", ondelete="CASCADE")
    return sa.Column("domain_id", ID, key, nullable=nullable, index=True)


def _position() -> sa.Column[int]:
    return sa.Column("position", sa.Integer, nullable=False)
