# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Check and migrate database schemas with Alembic."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, inspect, text
from sqlalchemy.exc import SQLAlchemyError

from .database import Database, DatabaseError, readable_errors

#: The key of the advisory lock that a migration takes on PostgreSQL.
LOCK = 0x706F7374
#: The time limit for each statement of a migration, and for the wait until another one ends.
SECONDS = 3600


@dataclass(frozen=True)
class Schema:
    """A program's database schema, as defined by its latest migration.

    :param location: the migrations directory, as a path or in Alembic's form ``package:directory``
    :param command: the command that migrates a database, for error messages
    :param table: the table in which Alembic stores the revision
    """

    location: str
    command: str
    table: str

    def migrate(self, database: Database) -> None:
        """Migrate a database to this schema. The database may be empty.

        Concurrent migrations wait for each other.

        :raises DatabaseError: if the database can't be used or was created by a later version
        """
        with readable_errors(database.name, SQLAlchemyError):
            database.write(self._upgrade, seconds=SECONDS)

    def is_empty(self, database: Database) -> bool:
        """Return whether a database has no tables."""
        return database.read(lambda connection: not inspect(connection).get_table_names())

    def check(self, database: Database) -> None:
        """Raise DatabaseError with a remedy unless a database has this schema."""
        with readable_errors(database.name, SQLAlchemyError):
            revision = database.read(self._revision)
        head = _head(self.location)
        if revision == head:
            return
        if revision is None:
            raise DatabaseError(f"the database is not set up for this program: run {self.command}")
        _check_known(revision, ScriptDirectory.from_config(self._config()))
        raise DatabaseError(
            f"the database has schema {revision} of an earlier version, but this version needs"
            f" {head}: run {self.command}"
        )

    def _upgrade(self, connection: Connection) -> None:
        if connection.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": LOCK})
        config = self._config(connection)
        revision = self._revision(connection)
        if revision is not None:
            _check_known(revision, ScriptDirectory.from_config(config))
        command.upgrade(config, "head")

    def _revision(self, connection: Connection) -> str | None:
        context = MigrationContext.configure(connection, opts={"version_table": self.table})
        return context.get_current_revision()

    def _config(self, connection: Connection | None = None) -> Config:
        """Return Alembic's configuration, including the attributes that env.py reads."""
        config = Config(attributes={"connection": connection, "version_table": self.table})
        config.set_main_option("script_location", self.location)
        return config


@cache
def _head(location: str) -> str | None:
    """Return the latest revision. Reading the scripts takes long, so it is done once."""
    config = Config()
    config.set_main_option("script_location", location)
    return ScriptDirectory.from_config(config).get_current_head()


def _check_known(revision: str, scripts: ScriptDirectory) -> None:
    if revision not in {script.revision for script in scripts.walk_revisions()}:
        raise DatabaseError(
            f"the database has schema {revision}, which this version doesn't know:"
            " run the version that created it, or a later one"
        )
