# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Mailboxes are placed on nodes, and moved between nodes in steps."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psycopg
import pytest
from alembic import command

from ansible_collections.postroom.email.tests.mail_host.host import (
    MailHost,
    run_sql,
    running_daemon,
    wait,
)
from ansible_collections.postroom.email.tests.service.api import unused_domain
from ansible_collections.postroom.email.tests.support.postgresql import fresh_database
from postroom_common.database import Database
from postroom_service.cli import main
from postroom_service.node_commands import move
from postroom_service.store import SCHEMA

A, B, C = "a.host.example", "b.host.example", "c.host.example"
#: A domain with a mailbox and a forwarder, in the API's format.
MAILBOX = """
INSERT INTO tenant (id, name) VALUES (90001, 'acme');
INSERT INTO principal (id, tenant_id, domain_id, kind, name, uid, created_at) VALUES
    (90001, 90001, NULL, 'domain', 'example.com', '1', 0),
    (90002, 90001, 90001, 'mailbox', 'ann@example.com', '2', 0),
    (90003, 90001, 90001, 'forwarder', 'team@example.com', '3', 0);
INSERT INTO secret VALUES (90002, 0, 'hash');
"""

Node = Callable[..., str]


@pytest.fixture
def node(
    host: MailHost, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Node:
    """Provide a function that runs a node command. Initially, there are no nodes or mailboxes."""
    host.sql("DELETE FROM principal")
    host.sql("DELETE FROM mail.nodes")
    monkeypatch.setenv("POSTROOM_SERVICE_DATABASE", host.url)

    def run(*arguments: str, status: int = 0) -> str:
        group = "move" if arguments[0] in move.commands else "node"
        assert main([group, *arguments]) == status
        output = capsys.readouterr()
        return (output.err if status else output.out).removeprefix("postroom-service: ").strip()

    return run


def mailbox(host: MailHost) -> str:
    """Create a mailbox on a new domain, and return its name."""
    return host.api.mailbox(f"ann@{host.domain(unused_domain())}")


def login(host: MailHost, name: str) -> tuple[str | None, bool]:
    """Return a mailbox's node, and whether the mailbox is on hold, as Dovecot reads them."""
    query = "SELECT node, held FROM mail.logins WHERE name = %s"
    [(node, held)] = host.sql(query, name, role="dovecot")
    return node, held


def places(host: MailHost, name: str) -> set[str | None]:
    """Return the nodes that store a mailbox's mail, as the daemon reads them."""
    query = "SELECT node FROM mail.uids WHERE uid = %s"
    return {node for (node,) in host.sql(query, host.uid(name), role="postroom-mail")}


def test_new_mailboxes_are_placed(host: MailHost, node: Node) -> None:
    """A new mailbox is placed on a random open node, or on a closed node if none is open."""
    domain = host.domain(unused_domain())
    names = (f"u{n}@{domain}" for n in range(1000))

    def used(count: int) -> set[str | None]:
        return {login(host, host.api.mailbox(next(names)))[0] for _ in range(count)}

    unplaced = mailbox(host)
    assert (login(host, unplaced), places(host, unplaced)) == ((None, False), {None})
    assert [node("add", *new) for new in ((A, "--with-mailboxes"), (B,), (B,))] == [
        "added",
        "added",
        "unchanged",
    ]
    assert used(30) == {A, B}
    assert [node("close", A), node("close", A)] == ["changed", "unchanged"]
    assert used(10) == {B}
    node("close", B)
    assert used(30) == {A, B}
    assert [node("open", A), node("open", A)] == ["changed", "unchanged"]
    assert used(10) == {A}
    host.api.forwarder(f"team@{domain}", ["x@partner.example"])
    assert host.sql("SELECT count(*) FROM mail.placements") == [(81,)]


def test_the_first_node_gets_all_mailboxes(host: MailHost, node: Node) -> None:
    """The first node gets all existing mailboxes. A second node gets none of them."""
    names = sorted(mailbox(host) for _ in range(3))
    assert node("list") == "NODE\tMAILBOXES\tSTATE"
    assert "--with-mailboxes" in node("add", A, status=2)
    node("add", B.upper(), "--with-mailboxes")
    node("add", A)
    node("close", A)
    assert {login(host, name) for name in names} == {(B, False)}
    assert node("list").splitlines()[1:] == [f"{A}\t0\tclosed", f"{B}\t3\topen"]
    assert node("mailboxes", B).splitlines() == names
    assert node("mailboxes", A) == ""
    host.api.delete(names[0])
    assert node("mailboxes", B).splitlines() == names[1:]


@contextlib.contextmanager
def under_way(host: MailHost, statement: str) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    """Run a statement in a transaction, which stays open for the length of the block."""
    with psycopg.connect(host.url) as connection:
        connection.execute(statement.encode())
        yield connection


def wait_for_lock(host: MailHost) -> None:
    """Wait until some transaction is waiting for a lock."""
    query = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
    wait(lambda: host.sql(query))


def test_a_mailbox_that_is_being_created_gets_the_first_node(host: MailHost, node: Node) -> None:
    """A mailbox that is created while the first node is added is placed on that node."""
    with ThreadPoolExecutor(1) as pool, under_way(host, MAILBOX) as creation:
        added = pool.submit(node, "add", A, "--with-mailboxes")
        wait_for_lock(host)
        creation.commit()
        assert added.result() == "added"
    assert login(host, "ann@example.com") == (A, False)


def test_a_node_that_is_being_removed_gets_no_mailbox(host: MailHost, node: Node) -> None:
    """A mailbox that is created while a node is removed is placed on another node."""
    node("add", A)
    node("add", B)
    node("close", B)
    domain = host.domain(unused_domain())
    removal = f"DELETE FROM mail.nodes WHERE name = '{A}'"  # noqa: S608 a name of this file
    with ThreadPoolExecutor(1) as pool, under_way(host, removal) as open_removal:
        created = pool.submit(host.api.mailbox, f"ann@{domain}")
        wait_for_lock(host)
        open_removal.commit()
        assert login(host, created.result()) == (B, False)


def test_a_mailbox_moves_in_steps(host: MailHost, node: Node) -> None:
    """A mailbox is moved in steps. Each step can be repeated until the next one."""
    node("add", A)
    name = mailbox(host)
    node("add", B)
    assert (login(host, name), places(host, name)) == ((A, False), {A})
    for expected in ("changed", "unchanged"):
        assert node("begin", name, B) == expected
        assert (login(host, name), places(host, name)) == ((A, False), {A, B})
    for expected in ("changed", "unchanged"):
        assert node("hold", name) == expected
        assert (login(host, name), places(host, name)) == ((A, True), {A, B})
    # Starting the move again doesn't end the hold.
    assert node("begin", name, B) == "unchanged"
    assert login(host, name) == (A, True)
    assert node("finish", name.upper()) == "changed"
    assert (login(host, name), places(host, name)) == ((B, False), {B})


def test_a_move_can_be_cancelled(host: MailHost, node: Node) -> None:
    """A move can be cancelled both before and after the mailbox is put on hold."""
    node("add", A)
    name = mailbox(host)
    node("add", B)
    for steps in ([("begin", name, B)], [("begin", name, B), ("hold", name)]):
        for step in steps:
            node(*step)
        for expected in ("changed", "unchanged"):
            assert node("cancel", name) == expected
            assert (login(host, name), places(host, name)) == ((A, False), {A})
    assert "is not being moved" in node("finish", name, status=2)


def test_a_hold_ends_the_sessions(host: MailHost, node: Node) -> None:
    """Putting a mailbox on hold ends its sessions on all nodes. Other steps don't."""
    node("add", A)
    name = mailbox(host)
    node("add", B)
    expected = f"kick -- {name}"
    node("begin", name, B)
    for count in (1, 2):
        node("hold", name)
        wait(lambda count=count: host.daemon.kicks().count(expected) == count)  # type: ignore[misc]
    node("finish", name)
    other = mailbox(host)
    host.api.patch(other, secrets=["another"])
    wait(lambda: f"kick -- {other}" in host.daemon.kicks())
    assert host.daemon.kicks().count(expected) == 2


def test_a_hold_ends_by_itself(host: MailHost, node: Node) -> None:
    """Once a hold has expired, the move can't be finished, because the mail may have changed."""
    node("add", A)
    name = mailbox(host)
    node("add", B)
    node("begin", name, B)
    node("hold", name)
    host.sql("UPDATE mail.placements SET held_until = now()")
    assert login(host, name) == (A, False)
    assert "is not held" in node("finish", name, status=2)


def test_steps_are_refused(host: MailHost, node: Node) -> None:
    """A step that is not possible is refused, with the reason and the remedy."""
    node("add", A)
    name = mailbox(host)
    node("add", B)
    node("add", C)
    alias = f"x{name}"
    host.api.patch(name, emails=[name, alias])
    for step in ("hold", "finish"):
        assert node(step, name, status=2) == f"{name} is not being moved: run move begin first"
    assert node("begin", name, A, status=2) == f"{name} is already on {A}: choose another node"
    node("begin", name, B)
    assert node("begin", name, C, status=2) == (
        f"{name} is being moved to {B}: finish that move, or run move cancel"
    )
    assert node("finish", name, status=2) == (
        f"{name} is not held: run `move hold` first, and copy the changes since the last copy"
    )
    for used in (A, B):
        assert node("remove", used, status=2) == (
            f"mailboxes are on {used} or are being moved to it: move them to other nodes first"
        )
    assert node("remove", C) == "removed"
    unknown = f"{C} is not a node: check node list, or run node add"
    for step in ("mailboxes", "close", "open", "remove"):
        assert node(step, C, status=2) == unknown
    assert node("begin", name, C, status=2) == unknown
    no_mailbox = f"{alias} is not a mailbox on a node: use the name of a mailbox, not an alias"
    for step in ("hold", "finish", "cancel"):
        assert node(step, alias, status=2) == no_mailbox
    assert node("begin", alias, B, status=2) == no_mailbox
    assert "at least two labels" in node("add", "mail1", status=2)
    assert "local@domain" in node("hold", A, status=2)
    assert (login(host, name), places(host, name)) == ((A, False), {A, B})


def test_sqlite_has_no_nodes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With SQLite, the node commands are refused with a reason."""
    monkeypatch.setenv("POSTROOM_SERVICE_DATABASE", str(tmp_path / "x.sqlite3"))
    for step in (["node", "list"], ["node", "add", A], ["move", "hold", "ann@example.com"]):
        assert main(step) == 2
        assert "nodes need PostgreSQL" in capsys.readouterr().err


def swept(folder: Path, host: MailHost, *options: str) -> set[str]:
    """Run a daemon until it has swept the mail folders, and return the names of the folders."""
    with running_daemon(folder, host.service, *options) as daemon:
        wait(lambda: daemon.health() == 200)
        assert '"level": "error"' not in daemon.log()
    return {path.name for path in (folder / "mail").iterdir()}


def test_a_node_keeps_its_own_mail(host: MailHost, node: Node, tmp_path: Path) -> None:
    """A node sets the mail of a moved mailbox aside, and restores it if the mailbox returns."""
    node("add", A)
    stays, moves = mailbox(host), mailbox(host)
    node("add", B)
    staying, moving = host.uid(stays), host.uid(moves)
    uids = {staying, moving}
    for uid in uids:
        for folder in (tmp_path, tmp_path / "other"):
            (folder / "mail" / uid / "new").mkdir(parents=True)
    today = datetime.now(UTC).date()
    on_a = f"--node={A}"
    assert swept(tmp_path, host, on_a) == uids
    node("begin", moves, B)
    node("hold", moves)
    assert swept(tmp_path, host, on_a) == uids
    on_b = swept(tmp_path / "other", host, f"--node={B.upper()}")
    assert on_b == {moving, f"{staying}.deleted-{today}"}
    node("finish", moves)
    aside, older = (f"{moving}.deleted-{day}" for day in (today, today - timedelta(days=1)))
    (tmp_path / "mail" / older).mkdir()
    assert swept(tmp_path, host, on_a) == {staying, aside, older}
    node("begin", moves, A)
    assert swept(tmp_path, host, on_a) == {staying, moving, older}
    assert (tmp_path / "mail" / moving / "new").exists()
    # If a copy was already set aside on the same day, the new copy stays in place.
    node("cancel", moves)
    (tmp_path / "mail" / aside / "new").mkdir(parents=True)
    assert swept(tmp_path, host, on_a) == {staying, moving, aside, older}
    # If the node name is missing or unknown, the daemon keeps the mail of all mailboxes.
    assert swept(tmp_path, host) == {staying, moving, aside, older}
    with running_daemon(tmp_path, host.service, f"--node={C}") as daemon:
        wait(lambda: "--node does not name a node" in daemon.log())
    assert (tmp_path / "mail" / staying).exists()


def test_a_deleted_mailbox_loses_what_was_set_aside(host: MailHost, node: Node) -> None:
    """When a mailbox is deleted, so are its copies on nodes that it has left."""
    node("add", A)
    name, other = mailbox(host), mailbox(host)
    folder = host.folder(name)
    today = datetime.now(UTC).date()
    aside = [folder.with_name(f"{folder.name}.deleted-{today}")]
    kept = [
        folder.with_name(f"{host.uid(other)}.deleted-{today}"),
        folder.with_name(f"{folder.name}.deleted-by-hand"),
        folder.with_name(f"{folder.name}.backup"),
    ]
    for path in (*aside, *kept):
        (path / "new").mkdir(parents=True)
    host.api.delete(name)
    wait(lambda: not any(path.exists() for path in (folder, *aside)))
    assert all((path / "new").exists() for path in kept)
    # The mailbox has no folder here, as on a node that it has left.
    gone = mailbox(host)
    left = folder.with_name(f"{host.uid(gone)}.deleted-{today}")
    (left / "new").mkdir(parents=True)
    host.api.delete(gone)
    wait(lambda: not left.exists())


def test_a_mail_host_of_the_previous_schema_is_migrated(
    host: MailHost, postgresql_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a migration, mailboxes are on no node until a node is added.

    Roles keep their access.
    """
    with fresh_database(postgresql_url) as url:
        monkeypatch.setenv("POSTROOM_SERVICE_DATABASE", url)
        with contextlib.closing(Database(url)) as database:
            database.write(lambda connection: command.upgrade(SCHEMA._config(connection), "0003"))
        run_sql(url, MAILBOX)
        for role, view in (("dovecot", "logins"), ("postroom-mail", "uids")):
            run_sql(url, f'GRANT USAGE ON SCHEMA mail TO "{role}"')
            run_sql(url, f'GRANT SELECT ON mail.{view} TO "{role}"')
        assert main(["node", "add", A]) == 2
        assert main(["migrate"]) == 0

        def read() -> list[tuple[object, ...]]:
            return [
                *run_sql(url, "SELECT * FROM mail.logins", role="dovecot"),
                *run_sql(url, "SELECT * FROM mail.uids", role="postroom-mail"),
            ]

        assert read() == [("ann@example.com", "2", "hash", None, False), ("2", None)]
        assert main(["node", "add", A, "--with-mailboxes"]) == 0
        assert read() == [("ann@example.com", "2", "hash", A, False), ("2", A)]
