# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Which schema a database has, and the migrations that bring it to the one known here."""

from __future__ import annotations

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, text

#: Any number of our own, for pg_advisory_xact_lock.
LOCK = 0x706F7374
#: Alembic's name of a folder in a package; a path would do as well.
LOCATION = "postroom_bot.store:migrations"


def upgrade(connection: Connection) -> str:
    """Bring the database to the schema known here, within the caller's transaction.

    :returns: why that can't be done, a sentence; "" if it is done
    """
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": LOCK})
    config = _config()
    if problem := _unknown(connection, ScriptDirectory.from_config(config)):
        return problem
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
    return ""


def problem(connection: Connection) -> str:
    """Return what is wrong with the database's schema and what to do, a sentence; "" if nothing."""
    scripts = ScriptDirectory.from_config(_config())
    found = _found(connection)
    if found == scripts.get_current_head():
        return ""
    if found is None:
        return "the database is empty: run postroom-bot migrate"
    return _unknown(connection, scripts) or (
        f"the database has schema {found} of an earlier version, and this one needs"
        f" {scripts.get_current_head()}: run postroom-bot migrate"
    )


def _found(connection: Connection) -> str | None:
    return MigrationContext.configure(connection).get_current_revision()


def _unknown(connection: Connection, scripts: ScriptDirectory) -> str:
    found = _found(connection)
    known = {script.revision for script in scripts.walk_revisions()}
    if found is None or found in known:
        return ""
    return (
        f"the database has schema {found}, which this version doesn't know:"
        " run the version that made it, or a later one"
    )


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", LOCATION)
    return config
