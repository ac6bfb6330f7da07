# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The nodes of a mail service, and the node on which each mailbox is stored."""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy import Connection, text
from sqlalchemy.exc import IntegrityError

from postroom_common.database import DatabaseError

_ADD = text("INSERT INTO mail.nodes (name) VALUES (:name) ON CONFLICT DO NOTHING")
_PLACE_ALL = text(
    "INSERT INTO mail.placements (principal_id, node) SELECT id, :name FROM principal"
    " WHERE kind = 'mailbox' AND NOT EXISTS (SELECT FROM mail.nodes WHERE name <> :name)"
)
#: How long a mailbox is held, unless its move ends earlier.
HOLD_MINUTES = 10
_LIST = text(
    "SELECT name, count(principal_id), closed"
    " FROM mail.nodes LEFT JOIN mail.placements ON node = name GROUP BY name"
)
_NODE = text("SELECT 1 FROM mail.nodes WHERE name = :name")
_MAILBOXES = text(
    "SELECT name FROM principal JOIN mail.placements ON principal_id = id WHERE node = :node"
)
_SET_CLOSED = text(
    "UPDATE mail.nodes SET closed = :closed WHERE name = :name AND closed <> :closed"
)
_REMOVE = text("DELETE FROM mail.nodes WHERE name = :name")
_PLACEMENT = text(
    "SELECT principal_id, node, target, coalesce(held_until > now(), false) FROM mail.placements"
    " JOIN principal ON id = principal_id WHERE name = :name FOR UPDATE OF placements"
)
_BEGIN = text("UPDATE mail.placements SET target = :target WHERE principal_id = :principal_id")
_HOLD = text(
    "UPDATE mail.placements SET held_until = now() + make_interval(mins => :minutes)"
    " WHERE principal_id = :principal_id"
)
_END = text(
    "UPDATE mail.placements SET node = :node, target = NULL, held_until = NULL"
    " WHERE principal_id = :principal_id"
)
# The trigger secret_changed sends the same notification.
_NOTIFY = text(
    "SELECT pg_notify('postroom_mail', json_build_object('changed', CAST(:name AS text))::text)"
)


class Node(NamedTuple):
    """A node of the mail service.

    :param closed: whether the node is closed to new mailboxes
    """

    name: str
    mailboxes: int
    closed: bool


class Placement(NamedTuple):
    """The node on which a mailbox is stored.

    :param target: the node to which the mailbox is being moved, or None
    :param held: whether sessions and mail are refused, at the end of a move
    """

    principal_id: int
    node: str
    target: str | None
    held: bool


def add(connection: Connection, name: str, *, with_mailboxes: bool) -> bool:
    """Add a node, and return whether the node is new.

    :param with_mailboxes: whether to place all existing mailboxes on the first node
    """
    if not connection.execute(_ADD, {"name": name}).rowcount:
        return False
    # Wait for transactions that are creating mailboxes, because they don't see the new node.
    connection.exec_driver_sql("LOCK TABLE principal IN SHARE ROW EXCLUSIVE MODE")
    placed = connection.execute(_PLACE_ALL, {"name": name}).rowcount
    if placed and not with_mailboxes:
        raise DatabaseError(
            f"{name} would be the first node, but mailboxes already exist: first add the host that"
            " has their mail, with --with-mailboxes"
        )
    return True


def listing(connection: Connection) -> list[Node]:
    """Return the nodes, sorted by name."""
    return sorted(Node._make(row) for row in connection.execute(_LIST))


def mailboxes(connection: Connection, name: str) -> list[str]:
    """Return the names of the mailboxes on a node, sorted."""
    _check_node(connection, name)
    return sorted(connection.scalars(_MAILBOXES, {"node": name}))


def set_closed(connection: Connection, name: str, *, closed: bool) -> bool:
    """Close a node to new mailboxes or reopen it, and return whether the node's state changed."""
    _check_node(connection, name)
    return connection.execute(_SET_CLOSED, {"name": name, "closed": closed}).rowcount > 0


def remove(connection: Connection, name: str) -> None:
    """Remove a node, which must not hold mailboxes."""
    _check_node(connection, name)
    try:
        connection.execute(_REMOVE, {"name": name})
    except IntegrityError:
        raise DatabaseError(
            f"mailboxes are on {name} or are being moved to it: move them to other nodes first"
        ) from None


def begin_move(connection: Connection, address: str, target: str) -> bool:
    """Start moving a mailbox to another node, and return whether the move is new."""
    _check_node(connection, target)
    placement = _placement(connection, address)
    if placement.node == target:
        raise DatabaseError(f"{address} is already on {target}: choose another node")
    if placement.target not in (None, target):
        raise DatabaseError(
            f"{address} is being moved to {placement.target}: finish that move, or run move cancel"
        )
    connection.execute(_BEGIN, {"principal_id": placement.principal_id, "target": target})
    return placement.target is None


def hold(connection: Connection, address: str) -> bool:
    """End the sessions of a mailbox that is being moved, and refuse new sessions and mail.

    Return True if the mailbox was not held before. If the mailbox was already held, its sessions
    are ended again and the hold is extended.
    """
    placement = _moving(connection, address)
    connection.execute(_NOTIFY, {"name": address})
    given = {"principal_id": placement.principal_id, "minutes": HOLD_MINUTES}
    connection.execute(_HOLD, given)
    return not placement.held


def finish_move(connection: Connection, address: str) -> None:
    """Finish the move of a mailbox, and place it on the target node."""
    placement = _moving(connection, address)
    if not placement.held:
        raise DatabaseError(
            f"{address} is not held: run `move hold` first, "
            "and copy the changes since the last copy"
        )
    _end(connection, placement, placement.target)


def cancel_move(connection: Connection, address: str) -> bool:
    """Cancel the move of a mailbox, and return whether a move was in progress."""
    placement = _placement(connection, address)
    _end(connection, placement, placement.node)
    return placement.target is not None


def _check_node(connection: Connection, name: str) -> None:
    if connection.execute(_NODE, {"name": name}).first() is None:
        raise DatabaseError(f"{name} is not a node: check node list, or run node add")


def _placement(connection: Connection, address: str) -> Placement:
    """Return the placement of a mailbox, locked until the end of the transaction."""
    row = connection.execute(_PLACEMENT, {"name": address}).first()
    if row is None:
        raise DatabaseError(
            f"{address} is not a mailbox on a node: use the name of a mailbox, not an alias"
        )
    return Placement._make(row)


def _moving(connection: Connection, address: str) -> Placement:
    placement = _placement(connection, address)
    if placement.target is None:
        raise DatabaseError(f"{address} is not being moved: run move begin first")
    return placement


def _end(connection: Connection, placement: Placement, node: str | None) -> None:
    connection.execute(_END, {"principal_id": placement.principal_id, "node": node})
