# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The privileges on the `mail` schema that a mail host's programs need."""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy import Connection, text

from postroom_common.database import DatabaseError
from postroom_common.migrations import LOCK


class Grant(NamedTuple):
    """A privilege on a database object.

    :param kind: the kind of object in SQL, such as ``TABLE``
    """

    right: str
    kind: str
    name: str


def _views(*names: str) -> tuple[Grant, ...]:
    return tuple(Grant("SELECT", "TABLE", f"mail.{name}") for name in names)


def _functions(*names: str) -> tuple[Grant, ...]:
    return tuple(Grant("EXECUTE", "FUNCTION", f"mail.{name}(text)") for name in names)


GRANTS = {
    "postroom-mail": _views("domains", "mailboxes", "senders", "keys", "uids", "nodes"),
    "postfix": _functions("domain", "mailbox", "destinations"),
    "dovecot": _views("logins"),
}
_USAGE = Grant("USAGE", "SCHEMA", "mail")


def grant(connection: Connection) -> bool:
    """Grant missing privileges to the roles, and return whether any privileges were missing.

    :raises DatabaseError: if the database is not PostgreSQL, or a role does not exist
    """
    if connection.dialect.name != "postgresql":
        raise DatabaseError("a mail host needs PostgreSQL: set --database to postgresql://...")
    # PostgreSQL rejects concurrent grants on the same object, such as those of two nodes.
    connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": LOCK})
    query = text("SELECT rolname FROM pg_roles WHERE rolname = ANY(:names)")
    found = set(connection.scalars(query, {"names": list(GRANTS)}))
    if missing := [f'"{role}"' for role in GRANTS if role not in found]:
        raise DatabaseError(
            f"these database roles do not exist: {', '.join(missing)}. Create each with"
            " CREATE ROLE ... LOGIN"
        )
    missing_grants = [
        (role, each)
        for role, wanted in GRANTS.items()
        for each in (_USAGE, *wanted)
        if not _has(connection, role, each)
    ]
    for role, each in missing_grants:
        connection.exec_driver_sql(f'GRANT {each.right} ON {each.kind} {each.name} TO "{role}"')
    return bool(missing_grants)


def _has(connection: Connection, role: str, wanted: Grant) -> bool:
    function = f"has_{wanted.kind.lower()}_privilege"
    query = text(f"SELECT {function}(:role, :name, :right)")
    given = {"role": role, "name": wanted.name, "right": wanted.right}
    return bool(connection.scalar(query, given))
