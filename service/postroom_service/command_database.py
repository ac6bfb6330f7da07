# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Open the database for a command."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import click
from sqlalchemy.exc import SQLAlchemyError

from postroom_common.database import Database, DatabaseError, has_password, readable_errors

from .options import PREFIX
from .store import SCHEMA


@contextlib.contextmanager
def open_database(
    where: str, *, memory: bool = False, migrates: bool = False
) -> Iterator[Database]:
    """Open a database, and ensure that it has this version's schema.

    SQLite databases are always migrated. PostgreSQL databases are migrated only if they are empty
    or `migrates` is set.
    """
    check_password(where)
    database = Database(where, memory=True)
    if database.is_memory and not memory:
        raise DatabaseError(
            "a memory database exists only in the process that serves it: use serve --bootstrap"
        )
    try:
        if migrates or database.is_sqlite or SCHEMA.is_empty(database):
            SCHEMA.migrate(database)
        SCHEMA.check(database)
        with readable_errors(database.name, SQLAlchemyError):
            yield database
    finally:
        database.close()


def check_password(database: str) -> None:
    """Raise DatabaseError if a database URL on the command line contains a password."""
    source = click.get_current_context().get_parameter_source("database")
    if source == click.core.ParameterSource.COMMANDLINE and has_password(database):
        raise DatabaseError(
            "other users can see the password in the process list: "
            f"set {PREFIX}DATABASE or use ~/.pgpass"
        )
