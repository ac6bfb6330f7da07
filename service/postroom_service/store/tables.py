# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The database tables. Constraints ensure that each name and each address has only one owner."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
)

metadata = MetaData()

_ID = BigInteger().with_variant(Integer, "sqlite")  # SQLite assigns ids only to INTEGER keys.


def _id() -> Column[int]:
    return Column("id", _ID, primary_key=True)


def _owner(target: str, **options: bool) -> Column[int]:
    name = target.partition(".")[0] + "_id"
    return Column(name, _ID, ForeignKey(target, ondelete="CASCADE"), **options)  # type: ignore[arg-type]


tenant = Table("tenant", metadata, _id(), Column("name", Text, nullable=False, unique=True))

token = Table(
    "token",
    metadata,
    _id(),
    _owner("tenant.id", nullable=False, index=True),
    Column("hash", String(64), nullable=False, unique=True),
    Column("label", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger),
    Column("revoked_at", BigInteger),
)

principal = Table(
    "principal",
    metadata,
    _id(),
    _owner("tenant.id", nullable=False),
    # The domain in the name of a mailbox or forwarder; null for a domain.
    Column("domain_id", _ID, ForeignKey("principal.id", ondelete="CASCADE"), index=True),
    Column(
        "kind",
        String(9),
        CheckConstraint("kind IN ('domain', 'mailbox', 'forwarder')"),
        nullable=False,
    ),
    Column("name", String(254), nullable=False, unique=True),
    # A mailbox that is created again under the same name gets a new uid, so that the old mail is
    # never visible in it.
    Column("uid", String(32), nullable=False, unique=True),
    Column("created_at", BigInteger, nullable=False),
    CheckConstraint("(kind = 'domain') = (domain_id IS NULL)", name="domain_has_no_domain"),
    Index("principal_by_tenant", "tenant_id", "kind"),
)

address = Table(
    "address",
    metadata,
    Column("address", String(254), primary_key=True),
    _owner("principal.id", nullable=False, index=True),
    Column(
        "domain_id", _ID, ForeignKey("principal.id", ondelete="CASCADE"), nullable=False, index=True
    ),
    Column("position", Integer, nullable=False),
)

member = Table(
    "member",
    metadata,
    _owner("principal.id", primary_key=True),
    Column("address", String(254), primary_key=True),
    Column("position", Integer, nullable=False),
)

secret = Table(
    "secret",
    metadata,
    _owner("principal.id", primary_key=True),
    Column("position", Integer, primary_key=True, autoincrement=False),
    Column("hash", Text, nullable=False),
)

dkim_key = Table(
    "dkim_key",
    metadata,
    _owner("principal.id", primary_key=True),
    Column("private_pem", Text, nullable=False),
    Column("public_base64", Text, nullable=False),
    # When the record with this key was first seen in DNS; null for a domain that isn't verified.
    Column("verified_at", BigInteger),
)
