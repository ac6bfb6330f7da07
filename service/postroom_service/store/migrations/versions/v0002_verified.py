# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Add dkim_key.verified_at."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Add the time at which a domain was verified."""
    op.add_column("dkim_key", sa.Column("verified_at", sa.BigInteger))
