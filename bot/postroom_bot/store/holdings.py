# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Holdings: which aliases and destinations exist because of which request, and until when.

A request holds only what it has added, that is, what existed after its execution but not before. A
later request that adds the same alias or destination takes it over if it ends later or never; if it
ends earlier, it changes nothing. What already existed is nobody's holding, and what a request or
another client removed is no longer one. The bot notices other clients' removals at the next request
about the address. If another client adds the same address or destination again before that, the bot
can't tell, and the holding remains.

The table also lists the aliases and forwarders that requests removed, because `definition` declares
them absent.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Connection, and_, delete, insert, select, update

from postroom_bot.domain import ADDITIONS, Action, Change, Request
from postroom_bot.store.tables import holding as table


class Holding(NamedTuple):
    """An alias, or a destination of a forwarder, that a request added or removed.

    :param destination: the mailbox of an alias, or the destination; "" for a removed forwarder
    :param request: None if the request that removed it was deleted
    :param ends_at: when it is removed; None for never
    """

    address: str
    destination: str
    action: Action
    request: str | None
    ends_at: datetime | None


def record(
    connection: Connection,
    request: Request,
    change: Change,
    *,
    before: Collection[str],
    after: Collection[str],
) -> None:
    """Record what a request has added or removed.

    :param change: the part of the request's change that was executed
    :param before: where the address delivered before the execution; of an alias, only its mailbox
        counts
    :param after: where the address delivers now
    """
    address, adds = change.target, change.action.adds
    kind = Action.ALIAS_ADD if change.action.is_alias else Action.FORWARD_ADD
    held = dict[str, Holding]()
    for one in _rows(connection, table.c.address == address):
        # Removing an alias does not affect the same address on another mailbox or a forwarder.
        is_alias = one.action.is_alias and one.destination == change.mailbox
        unrelated = change.action is Action.ALIAS_REMOVE and not is_alias
        # Of a removal, other requests may have been executed between its attempts.
        kept = one.destination in after and (one.destination in before or not adds)
        if kept and one.action is kind:
            held[one.destination] = one
        elif not unrelated and (after or one.action.adds):
            _delete(connection, one)
    if not adds and before and not after:
        _put(connection, Holding(address, change.mailbox or "", change.action, request.id, None))
    for name in change.deliveries if adds else ():
        mine = Holding(address, name, kind, request.id, request.removal_at)
        is_new = name in after and name not in before
        if is_new or (name in held and lasts_longer(mine.ends_at, held[name].ends_at)):
            _put(connection, mine)


def held_at(connection: Connection, address: str, action: Action) -> dict[str, Holding]:
    """Return the holdings of an alias or a forwarder by destination.

    :param action: any action on the alias or the forwarder
    """
    kind = Action.ALIAS_ADD if action.is_alias else Action.FORWARD_ADD
    rows = _rows(connection, and_(table.c.address == address, table.c.action == kind))
    return {one.destination: one for one in rows}


def held_by(connection: Connection, request_id: str) -> tuple[str, ...]:
    """Return the mailbox or the destinations that a request still holds, sorted."""
    rows = _rows(connection, and_(table.c.request == request_id, table.c.action.in_(ADDITIONS)))
    return tuple(one.destination for one in rows)


def keep(connection: Connection, change: Change) -> None:
    """Remove the end of the holdings that a cancelled removal names."""
    named = and_(table.c.address == change.target, table.c.destination.in_(change.deliveries))
    holdings = and_(named, table.c.action.in_(ADDITIONS))
    connection.execute(update(table).where(holdings).values(ends_at=None))


def lasts_longer(end: datetime | None, other: datetime | None) -> bool:
    """Return whether one end is later than another. None stands for never."""
    return other is not None and (end is None or end > other)


def everything(connection: Connection) -> list[Holding]:
    """Return all holdings and removals, sorted."""
    return _rows(connection)


def definition(
    recorded: Iterable[Holding],
    mailboxes: Collection[str],
    forwarders: Mapping[str, Collection[str]],
) -> dict[str, Any]:
    """Return holdings and removals as the content of a definition file.

    It complements the administrator's own file, so that the next run of `email_tenant` keeps the
    changes that were made in chat:

        definition_files: [tenant.yml, chat.json]

    - If the files contradict each other (for example, the administrator's file still lists an alias
      that was removed in Slack), `email_tenant` changes nothing and names both locations.
    - A forwarder is listed with all its current destinations, because the list of members in a
      definition is exact and the administrator's file may not list the forwarder. A destination
      that was removed in Slack but is still in the administrator's file is added again.
    - Mailboxes are declared present as long as they exist. If aliases are purged, they lose all
      aliases that neither file lists.

    :param recorded: the result of `everything`
    :param mailboxes: the existing mailboxes; aliases of other mailboxes are omitted
    :param forwarders: the destinations of the existing forwarders
    """
    aliases = dict[str, list[Any]]()
    members = dict[str, set[str]]()
    for one in recorded:
        alias: Any = one.address
        if not one.action.is_alias:
            found = members.setdefault(one.address, set())
            if one.action.adds:
                found |= {one.destination, *forwarders.get(one.address, ())}
            continue
        if not one.action.adds:
            alias = {"address": alias, "state": "absent"}
        elif one.ends_at:
            # The result must not depend on the current time, so an alias stays after its end.
            alias = {"address": alias, "expires": one.ends_at.isoformat()}
        aliases.setdefault(one.destination, []).append(alias)
    existing = [name for name in sorted(aliases) if name in mailboxes]
    return {
        "mailboxes": [{"name": name, "aliases": aliases[name]} for name in existing],
        "forwarders": [
            {"name": name, **({"members": sorted(found)} if found else {"state": "absent"})}
            for name, found in members.items()
        ],
    }


def _rows(connection: Connection, *where: Any) -> list[Holding]:
    found = select(table).where(*where).order_by(table.c.address, table.c.destination)
    return [Holding(*row) for row in connection.execute(found)]


def _put(connection: Connection, one: Holding) -> None:
    _delete(connection, one)
    connection.execute(insert(table).values(one._asdict()))


def _delete(connection: Connection, one: Holding) -> None:
    same = (table.c.address == one.address, table.c.destination == one.destination)
    connection.execute(delete(table).where(*same))
