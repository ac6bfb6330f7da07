# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The ledger of the changes that the bot has made, and its export as a definition.

The exported definition file complements the administrator's own file, so that the next run of
`email_tenant` keeps the changes:

    definition_files: [tenant.yml, chat.json]

`email_tenant` merges both files:

- If the files contradict each other (for example, the administrator's file still lists an alias
  that was removed in Slack, or assigns an address to another mailbox), nothing is changed, and the
  error names both locations. Correct the administrator's file, or make a request in Slack that
  reverts the change.
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


def record(connection: Connection, *, request_id: str, change: Change, at: datetime) -> None:
    """Record a change, at most once per request.

    :param change: the executed change, including its mailbox
    """
    insert_new(connection, table, {"request": request_id, "at": at, **to_columns(change)})


def entries(connection: Connection) -> list[LedgerEntry]:
    """Return all entries in order."""
    rows = connection.execute(select(table).order_by(table.c.seq)).mappings()
    found = (from_row(table, row) for row in rows)
    return [LedgerEntry(one["request"], one["change"]) for one in found]


def definition(
    recorded: Iterable[LedgerEntry], mailboxes: Container[str], zone: tzinfo = UTC
) -> dict[str, Any]:
    """Return the entries as the content of a definition file, sorted.

    An expired alias keeps its end date, so the result does not depend on the current time.

    :param recorded: the entries of the ledger, oldest first
    :param mailboxes: the existing mailboxes; aliases of other mailboxes are omitted
    :param zone: the time zone in which the last day of an alias ends
    """
    aliases: dict[str, list[Any]] = {}
    forwarders: list[dict[str, Any]] = []
    for change in sorted((one.change for one in in_force(recorded)), key=lambda one: one.target):
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


def in_force(recorded: Iterable[LedgerEntry]) -> list[LedgerEntry]:
    """Return the entries that no later entry has replaced.

    Only the latest change to an address is in force. However, the removal of an alias replaces only
    changes to the same mailbox: people may request the removal of an address that was never theirs,
    and the mailbox that has this address must keep it.
    """
    found: dict[str, list[LedgerEntry]] = {}
    for entry in recorded:
        change = entry.change
        before = found.get(change.target, ()) if change.action is Action.ALIAS_REMOVE else ()
        others = [one for one in before if one.change.mailbox != change.mailbox]
        found[change.target] = [*others, entry]
    return [entry for about_one in found.values() for entry in about_one]
