# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The ledger of the changes that the bot has made, and its export as a definition.

The exported definition file complements the administrator's own file, so that the next run of
`email_tenant` keeps the changes:

    definition_files: [tenant.yml, chat.json]

`email_tenant` merges both files:

- If the files contradict each other (for example, the administrator's file still lists an alias
  that was removed in Slack, or assigns an address to another mailbox), nothing is changed, and the
  error names both locations. Correct the file, or change the ledger with another request.
- A forwarder gets all members that either file lists. A destination that was removed in Slack but
  is still in the administrator's file is added again, because a definition can't declare a member
  absent.
- Mailboxes in the ledger are declared present, as long as they exist. If the administrator's file
  declares such a mailbox absent, its aliases are removed and the mailbox is deleted.
- If aliases are purged, mailboxes in the ledger lose all aliases that neither file lists.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from datetime import UTC, datetime, tzinfo
from typing import Any, NamedTuple

from sqlalchemy import Connection, select

from postroom_bot.domain import Action, Change
from postroom_bot.store.tables import from_row, insert_new, to_columns
from postroom_bot.store.tables import ledger as table


class LedgerEntry(NamedTuple):
    """A change that was made, with the id of its request."""

    request_id: str
    change: Change
    at: datetime


def record(connection: Connection, *, request_id: str, change: Change, at: datetime) -> None:
    """Record a change, at most once per request.

    :param change: the executed change, including its mailbox
    """
    insert_new(connection, table, {"request": request_id, "at": at, **to_columns(change)})


def entries(connection: Connection) -> list[LedgerEntry]:
    """Return all entries in order."""
    rows = connection.execute(select(table).order_by(table.c.seq)).mappings()
    found = (from_row(table, row) for row in rows)
    return [LedgerEntry(one["request"], one["change"], one["at"]) for one in found]


def definition(
    changes: Iterable[Change], mailboxes: Container[str], zone: tzinfo = UTC
) -> dict[str, Any]:
    """Return the changes as the content of a definition file, sorted.

    An expired alias keeps its end date, so the result does not depend on the current time.

    :param changes: the changes in the ledger, oldest first
    :param mailboxes: the existing mailboxes; aliases of other mailboxes are omitted
    :param zone: the time zone in which the last day of an alias ends
    """
    aliases: dict[str, list[Any]] = {}
    forwarders: list[dict[str, Any]] = []
    for change in sorted(in_force(changes), key=lambda change: change.target):
        alias: Any = change.target
        match change.action:
            case Action.FORWARD_ADD:
                members = sorted(change.destinations)
                forwarders.append({"name": change.target, "members": members})
                continue
            case Action.FORWARD_REMOVE:
                forwarders.append({"name": change.target, "state": "absent"})
                continue
            case Action.ALIAS_REMOVE:
                alias = {"address": change.target, "state": "absent"}
            case _ if end := change.end_of_last_day(zone):
                alias = {"address": change.target, "expires": end.isoformat()}
        aliases.setdefault(change.mailbox or "", []).append(alias)
    existing = [name for name in sorted(aliases) if name in mailboxes]
    return {
        "mailboxes": [{"name": name, "aliases": aliases[name]} for name in existing],
        "forwarders": forwarders,
    }


def in_force(changes: Iterable[Change]) -> list[Change]:
    """Return the changes that no later change has replaced.

    Only the latest change to an address is in force. However, removing an alias from a mailbox
    doesn't affect other mailboxes, because anyone may request the removal of an address that
    was never theirs.
    """
    found: dict[str, list[Change]] = {}
    for change in changes:
        before = found.get(change.target, ()) if change.action is Action.ALIAS_REMOVE else ()
        found[change.target] = [*(one for one in before if one.mailbox != change.mailbox), change]
    return [change for about_one in found.values() for change in about_one]
