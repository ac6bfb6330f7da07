# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The `node` and `move` command groups."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

import click

from postroom_common.database import Connection, Database, DatabaseError

from . import names
from .command_database import open_database
from .options import DATABASE, checked
from .store import nodes

_NAME = click.argument("name", callback=checked(names.domain))
_ADDRESS = click.argument("address", callback=checked(names.address))


@click.group()
def node() -> None:
    """Manage the nodes of a mail service."""


@node.command()
@DATABASE
@_NAME
@click.option(
    "--with-mailboxes",
    is_flag=True,
    help="Place the existing mailboxes on this node if it is the first.",
)
def add(database: str, name: str, *, with_mailboxes: bool) -> None:
    """Add a node."""

    def change(connection: Connection) -> bool:
        return nodes.add(connection, name, with_mailboxes=with_mailboxes)

    _change(database, change, done="added")


@node.command(name="list")
@DATABASE
def list_nodes(database: str) -> None:
    """List the nodes, with the number of mailboxes on each."""
    with _postgresql(database) as opened:
        rows = opened.read(nodes.listing)
    click.echo("NODE\tMAILBOXES\tSTATE")
    for name, count, closed in rows:
        click.echo(f"{name}\t{count}\t{'closed' if closed else 'open'}")


@node.command()
@DATABASE
@_NAME
def mailboxes(database: str, name: str) -> None:
    """List the mailboxes on a node."""
    with _postgresql(database) as opened:
        found = opened.read(lambda connection: nodes.mailboxes(connection, name))
    for address in found:
        click.echo(address)


@node.command(name="close")
@DATABASE
@_NAME
def close_node(database: str, name: str) -> None:
    """Close a node, so that new mailboxes are placed on other nodes."""
    _change(database, lambda connection: nodes.set_closed(connection, name, closed=True))


@node.command(name="open")
@DATABASE
@_NAME
def open_node(database: str, name: str) -> None:
    """Reopen a node, so that new mailboxes can be placed on it."""
    _change(database, lambda connection: nodes.set_closed(connection, name, closed=False))


@node.command()
@DATABASE
@_NAME
def remove(database: str, name: str) -> None:
    """Remove a node without mailboxes."""
    with _postgresql(database) as opened:
        opened.write(lambda connection: nodes.remove(connection, name))
    click.echo("removed")


@click.group()
def move() -> None:
    """Move a mailbox to another node, in steps."""


@move.command()
@DATABASE
@_ADDRESS
@click.argument("target", callback=checked(names.domain))
def begin(database: str, address: str, target: str) -> None:
    """Begin a move. Run this before you copy the mail."""
    _change(database, lambda connection: nodes.begin_move(connection, address, target))


@move.command()
@DATABASE
@_ADDRESS
def hold(database: str, address: str) -> None:
    """End a mailbox's sessions, and mark it as held for ten minutes, before the last copy."""
    _change(database, lambda connection: nodes.hold(connection, address))


@move.command()
@DATABASE
@_ADDRESS
def finish(database: str, address: str) -> None:
    """Finish the move of a mailbox that is held."""
    with _postgresql(database) as opened:
        opened.write(lambda connection: nodes.finish_move(connection, address))
    click.echo("changed")


@move.command()
@DATABASE
@_ADDRESS
def cancel(database: str, address: str) -> None:
    """Cancel a move. The mailbox stays on its current node."""
    _change(database, lambda connection: nodes.cancel_move(connection, address))


def _change(database: str, change: Callable[[Connection], bool], done: str = "changed") -> None:
    with _postgresql(database) as opened:
        changed = opened.write(change)
    click.echo(done if changed else "unchanged")


@contextlib.contextmanager
def _postgresql(where: str) -> Iterator[Database]:
    with open_database(where) as database:
        if database.is_sqlite:
            raise DatabaseError("nodes need PostgreSQL: set --database to postgresql://...")
        yield database
