# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The schema of the bot's database."""

from __future__ import annotations

from contextlib import closing

from postroom_common.database import Database
from postroom_common.migrations import Schema

SCHEMA = Schema(
    location="postroom_bot.store:migrations",
    command="postroom-bot migrate",
    table="alembic_version",
)


def migrate(where: str) -> None:
    """Migrate the database at a path or URL, which may be empty, to the bot's schema.

    :raises DatabaseError: the database can't be used, or a later version created it
    """
    with closing(Database(where)) as database:
        SCHEMA.migrate(database)
