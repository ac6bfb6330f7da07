# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The ledger: the changes that the bot has made at the mail service, in their order.

As a definition, it is an additional file beside the administrator's own, so that the next converge
keeps the changes:

    definition_files: [tenant.yml, chat.json]

email_tenant merges both:

- If they contradict each other (the administrator's file still lists an alias that was removed from
  chat, or assigns an address to another mailbox), nothing is changed, and the error names both
  places. Correct the file, or change the ledger with another request.
- A forwarder has the members of both files. A destination that was removed from chat, but is still
  in the administrator's file, is added again: a definition can't declare a member absent.
- Mailboxes in the ledger are declared present, as long as they exist. If the administrator's file
  declares one absent, its aliases are removed, and that file deletes it.
- If aliases are purged, the purge includes the aliases of mailboxes in the ledger that are in
  neither file.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from datetime import UTC, datetime, tzinfo
from typing import Any, NamedTuple

from sqlalchemy import Connection, select

from postroom_bot.domain import Action, Change
from postroom_bot.store.tables import change_values, insert_new, pop_change
from postroom_bot.store.tables import ledger as table


class LedgerEntry(NamedTuple):
    """A change that was made, and the request that it was made for."""

    request_id: str
    change: Change
    at: datetime


def record(connection: Connection, *, request_id: str, change: Change, at: datetime) -> None:
    """Record a change, only once for each request.

    :param change: as executed, with its mailbox
    """
    insert_new(connection, table, {"request": request_id, "at": at, **change_values(change)})


def entries(connection: Connection) -> list[LedgerEntry]:
    """Return all changes in order."""
    rows = connection.execute(select(table).order_by(table.c.seq)).mappings()
    return [LedgerEntry(row["request"], pop_change(dict(row)), row["at"]) for row in rows]


def definition(
    changes: Iterable[Change], mailboxes: Container[str], zone: tzinfo = UTC
) -> dict[str, Any]:
    """Return the ledger as the data of a definition file, sorted.

    An alias that has expired keeps its end date, so the result does not depend on the time.

    :param changes: the changes in the ledger, the oldest first
    :param mailboxes: the existing mailboxes; changes of others are left out
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
            case _ if end := change.ends_at(zone):
                alias = {"address": change.target, "expires": end.isoformat()}
        aliases.setdefault(change.mailbox or "", []).append(alias)
    existing = [name for name in sorted(aliases) if name in mailboxes]
    return {
        "mailboxes": [{"name": name, "aliases": aliases[name]} for name in existing],
        "forwarders": forwarders,
    }


def in_force(changes: Iterable[Change]) -> list[Change]:
    """Return the changes that no later one has replaced.

    The latest change of an address counts. But removing an alias from one mailbox does not affect
    other mailboxes, because anyone may request the removal of an address that was never theirs.

    :param changes: the oldest first
    """
    found: dict[str, list[Change]] = {}
    for change in changes:
        before = found.get(change.target, ()) if change.action is Action.ALIAS_REMOVE else ()
        found[change.target] = [*(one for one in before if one.mailbox != change.mailbox), change]
    return [change for about_one in found.values() for change in about_one]
