# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Each program's database role can read its own views or functions, and nothing else."""

from __future__ import annotations

import contextlib
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import Connection

from ansible_collections.postroom.email.tests.mail_host.host import (
    ROLES,
    create_roles,
    run_sql,
)
from ansible_collections.postroom.email.tests.support.postgresql import (
    binaries,
    cluster,
)
from postroom_common.database import Database
from postroom_service.cli import main
from postroom_service.store import grants

#: The views and functions that each role may use.
ALLOWED = {
    "postroom-mail": {"domains", "mailboxes", "senders", "keys", "uids", "nodes"},
    "postfix": {"domain()", "mailbox()", "destinations()"},
    "dovecot": {"logins"},
}
FUNCTIONS = ("domain", "mailbox", "destinations")
PRIVATE = {
    *("public.tenant", "public.token", "public.principal", "public.address", "public.member"),
    *("public.secret", "public.dkim_key", "mail.members", "mail.placements"),
}


def readable(url: str, role: str) -> set[str]:
    """Return the tables, views and functions that a role can read."""
    kinds = run_sql(url, "SELECT table_schema, table_name FROM information_schema.tables")
    names = [
        f"{schema}.{name}"
        for schema, name in kinds
        if schema not in ("pg_catalog", "information_schema")
    ]
    assert set(names) > PRIVATE
    queries = {name: f"TABLE {name}" for name in names}
    for function in FUNCTIONS:
        queries[f"mail.{function}()"] = f"SELECT mail.{function}('x')"
    found = set()
    for name, query in queries.items():
        try:
            run_sql(url, query, role=role)
        except psycopg.errors.InsufficientPrivilege:
            continue
        found.add(name.removeprefix("mail."))
    return found


@pytest.fixture
def migrated(database: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """Migrate a database, make the commands use it, and return its URL."""
    monkeypatch.setenv("POSTROOM_SERVICE_DATABASE", database)
    create_roles(database)
    assert main(["migrate"]) == 0
    return database


def test_the_roles_read_their_views_only(migrated: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The roles can read only their own views, and repeating the grant changes nothing."""
    assert {role: readable(migrated, role) for role in ROLES} == {role: set() for role in ROLES}
    assert [main(["grant"]), main(["grant"])] == [0, 0]
    assert capsys.readouterr().out == "changed\nunchanged\n"
    assert {role: readable(migrated, role) for role in ROLES} == ALLOWED
    run_sql(migrated, "REVOKE SELECT ON mail.logins FROM dovecot")
    assert [main(["grant"]), main(["grant"])] == [0, 0]
    assert capsys.readouterr().out == "changed\nunchanged\n"


def test_two_grants_at_the_same_time(migrated: str) -> None:
    """A grant waits until another grant has finished."""
    run_sql(migrated, "REVOKE SELECT ON mail.logins FROM dovecot")
    with contextlib.closing(Database(migrated)) as opened, ThreadPoolExecutor() as pool:

        def grant_twice(connection: Connection) -> Future[int]:
            assert grants.grant(connection)
            second = pool.submit(main, ["grant"])
            waiting = """
                SELECT 1 FROM pg_stat_activity
                WHERE wait_event_type = 'Lock' AND datname = current_database()
            """
            while not run_sql(migrated, waiting):
                assert not second.done()
            return second

        assert opened.write(grant_twice).result() == 0


@pytest.mark.parametrize("role", ROLES)
def test_the_roles_write_nothing(migrated: str, role: str) -> None:
    """The roles can't write through their views, create tables or read mail.members."""
    main(["grant"])
    for statement in (
        *(
            f"DELETE FROM mail.{name}"  # noqa: S608 names in this file
            for name in ALLOWED[role] - {f"{function}()" for function in FUNCTIONS}
        ),
        *("CREATE TABLE mail.x ()", "CREATE TABLE public.x ()", "SELECT * FROM mail.members"),
    ):
        with pytest.raises(
            (psycopg.errors.InsufficientPrivilege, psycopg.errors.ObjectNotInPrerequisiteState)
        ):
            run_sql(migrated, statement, role=role)


@pytest.mark.full
def test_missing_roles_are_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """If roles are missing, a single sentence names them and the remedy."""
    place = binaries()
    with cluster(place) as url:
        monkeypatch.setenv("POSTROOM_SERVICE_DATABASE", url)
        run_sql(url, "CREATE ROLE postfix LOGIN")
        assert main(["grant"]) == 2
    assert capsys.readouterr().err == (
        'postroom-service: these database roles do not exist: "postroom-mail", "dovecot".'
        " Create each with CREATE ROLE ... LOGIN\n"
    )


def test_sqlite_has_no_roles(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With SQLite, the migration creates no roles, and the grant command is refused."""
    monkeypatch.setenv("POSTROOM_SERVICE_DATABASE", str(tmp_path / "x.sqlite3"))
    assert main(["migrate"]) == 0
    assert main(["grant"]) == 2
    assert "needs PostgreSQL" in capsys.readouterr().err
