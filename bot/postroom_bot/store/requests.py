# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Requests: made, claimed by one holder at a time, moved from state to state, and looked up.

A holder has a lease: it works on the request outside of any transaction and writes what came of
it with `change` and `move`. Both compare before they set, so that a holder whose lease ran out
and was given to another can write nothing any more.
"""

from __future__ import annotations

import itertools
import secrets
from collections.abc import Mapping
from dataclasses import fields as fields_of
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    RowMapping,
    Select,
    and_,
    case,
    func,
    or_,
    select,
    update,
)

from postroom_bot.domain import (
    FOLLOWING,
    ID_ALPHABET,
    ID_LENGTH,
    OPEN,
    Action,
    Change,
    MessageRef,
    Quorum,
    Request,
    State,
)
from postroom_bot.errors import LeaseLost
from postroom_bot.store.rows import change_values, insert_new, pop_change
from postroom_bot.store.tables import request as table

TRIES_PER_LENGTH = 8

#: Not for `move` and `change`: these have functions of their own.
_KEPT = frozenset({"id", "state", "due_at", "lease_owner", "lease_until", "leases", "version"})


def add(
    connection: Connection,
    *,
    change: Change,
    requester: str,
    team: str,
    at: datetime,
    origin: str = "slack",
    state: State = State.NEW,
    due_at: datetime | None = None,
    **fields: Any,
) -> Request:
    """Make a request under a free id, due at once unless `due_at` says when.

    :param fields: more of `Request`'s fields
    """
    due = at if due_at is None else due_at
    made = Request("", change, requester, team, state, at, origin=origin, due_at=due, **fields)
    for tried in itertools.count():
        length = ID_LENGTH + tried // TRIES_PER_LENGTH
        made = replace(made, id="R-" + "".join(secrets.choice(ID_ALPHABET) for _ in range(length)))
        if insert_new(connection, table, _values(_fields(made))):
            break
    return made


def get(connection: Connection, request_id: str) -> Request | None:
    """Return a request by its id as people write it: in any case, with or without `R-`."""
    wanted = "R-" + request_id.strip().upper().removeprefix("R-")
    row = connection.execute(select(table).where(table.c.id == wanted)).mappings().one_or_none()
    return _request(row) if row else None


def claim(
    connection: Connection,
    *,
    owner: str,
    now: datetime,
    lease: timedelta,
    only: str | None = None,
) -> Request | None:
    """Give the caller the lease of the most overdue request that nobody has, if there is one.

    :param only: the id of the one request that is wanted, whether it is due or not
    """
    free = or_(table.c.lease_until.is_(None), table.c.lease_until <= now)
    wanted = table.c.due_at <= now if only is None else table.c.id == only
    choice = select(table.c.id).where(free, wanted).order_by(table.c.due_at, table.c.id).limit(1)
    found = connection.scalar(choice.with_for_update(skip_locked=True))
    taken = (
        update(table)
        .where(table.c.id == found, free)
        .values(lease_owner=owner, lease_until=now + lease, leases=table.c.leases + 1)
        .returning(*table.c)
    )
    row = connection.execute(taken).mappings().one_or_none() if found else None
    return _request(row) if row else None


def renew(connection: Connection, request: Request, *, owner: str, until: datetime) -> bool:
    """Let the lease last longer; False if it was lost to another."""
    mine = and_(_same_lease(request), table.c.lease_owner == owner)
    return connection.execute(update(table).where(mine).values(lease_until=until)).rowcount == 1


def transition(
    connection: Connection, request: Request, to: State, *, at: datetime, **changes: Any
) -> Request:
    """Move a request on to another state, with other changes, and return it so.

    :raises LeaseLost: if its state or its lease is another by now
    :raises ValueError: if that state can't follow
    """
    if to not in FOLLOWING.get(request.state, frozenset()):
        raise ValueError(f"{request.id} can't go from {request.state} to {to}")
    ended = {} if to in OPEN else {"ended_at": at}
    return _set(connection, request, changes, {"state": to, **ended})


def save(connection: Connection, request: Request, **changes: Any) -> Request:
    """Change a request's other fields and return it so.

    :raises LeaseLost: if its state or its lease is another by now
    """
    return _set(connection, request, changes, {})


def release(connection: Connection, request: Request, *, due_at: datetime | None) -> None:
    """Give a lease back; the request is due again when `due_at` says, or never.

    If somebody poked the request since it was claimed, it stays due for that. A lease that was
    lost is another's now, and left alone.
    """
    sooner = table.c.due_at.is_not(None) if due_at is None else table.c.due_at < due_at
    poked = and_(table.c.version != request.version, sooner)
    next_due = case((poked, table.c.due_at), else_=due_at)
    freed = update(table).where(_same_lease(request))
    connection.execute(freed.values(lease_owner=None, lease_until=None, due_at=next_due))


def mark_due(connection: Connection, request_id: str, *, at: datetime) -> bool:
    """Make a request due, even for the one who is at it right now; False if there is none."""
    poked = update(table).where(table.c.id == request_id)
    return connection.execute(poked.values(due_at=at, version=table.c.version + 1)).rowcount == 1


def open_by(connection: Connection, requester: str | None = None) -> list[Request]:
    """Return a person's open requests, or everybody's, oldest first."""
    found = select(table).where(table.c.state.in_(OPEN))
    if requester is not None:
        found = found.where(table.c.requester == requester)
    return _all(connection, found.order_by(table.c.created_at, table.c.id))


def recent_by(connection: Connection, requester: str, limit: int = 10) -> list[Request]:
    """Return a person's last requests, newest first."""
    mine = select(table).where(table.c.requester == requester)
    return _all(connection, mine.order_by(table.c.created_at.desc(), table.c.id).limit(limit))


def waiting(connection: Connection) -> list[Request]:
    """Return all requests that wait for approvals, oldest first."""
    pending = select(table).where(table.c.state == State.PENDING)
    return _all(connection, pending.order_by(table.c.created_at, table.c.id))


def count_since(connection: Connection, requester: str, since: datetime) -> int:
    """Count what a person asked for since then."""
    mine = and_(table.c.requester == requester, table.c.created_at >= since)
    return connection.scalar(select(func.count()).where(mine)) or 0


def count_open(connection: Connection) -> dict[State, int]:
    """Count the open requests of each state; states without any are 0."""
    found = select(table.c.state, func.count().label("number")).where(table.c.state.in_(OPEN))
    rows = connection.execute(found.group_by(table.c.state))
    return dict.fromkeys(OPEN, 0) | {row.state: row.number for row in rows}


def twin(connection: Connection, change: Change, requester: str) -> Request | None:
    """Return an open request of the same person for the same, whatever its reason and end."""
    return next(
        (one for one in open_by(connection, requester) if one.change.is_twin_of(change)), None
    )


def destinations_of(connection: Connection, forwarder: str) -> dict[str, Request]:
    """Return the destinations that chat has added, each with the request that added it last.

    Those that chat has removed again are left out.
    """
    done = and_(table.c.target == forwarder, table.c.state == State.DONE)
    found: dict[str, Request] = {}
    for one in _all(connection, select(table).where(done).order_by(table.c.ended_at, table.c.id)):
        if one.change.action is Action.FORWARD_ADD:
            found |= dict.fromkeys(one.change.destinations, one)
        elif one.change.action is Action.FORWARD_REMOVE:
            for name in one.change.destinations or list(found):
                found.pop(name, None)
    return found


def _set(
    connection: Connection, request: Request, changes: Mapping[str, Any], step: dict[str, Any]
) -> Request:
    """Compare and set, keeping the version that the holder knows: later pokes are news to it."""
    if kept := _KEPT & changes.keys():
        raise ValueError(f"not a change: {', '.join(sorted(kept))}")
    changed = replace(request, **changes, **step)
    same = [table.c.id == request.id, table.c.state == request.state]
    if request.lease_owner is not None:
        same.append(_same_lease(request))
    values = _values({**changes, **step})
    # Without any change it still tells whether the request is the caller's.
    statement = update(table).where(*same).values(values or {"state": request.state})
    if connection.execute(statement).rowcount != 1:
        raise LeaseLost(request.id)
    return changed


def _same_lease(request: Request) -> ColumnElement[bool]:
    return and_(
        table.c.id == request.id,
        table.c.lease_owner == request.lease_owner,
        table.c.leases == request.leases,
    )


def _fields(request: Request) -> dict[str, Any]:
    return {field.name: getattr(request, field.name) for field in fields_of(request)}


def _values(fields: Mapping[str, Any]) -> dict[str, Any]:
    values = dict(fields)
    if "change" in values:
        values |= change_values(values.pop("change"))
    if "card" in values:
        card = values.pop("card") or (None, None)
        values |= {"card_channel": card[0], "card_ts": card[1]}
    return values


def _request(row: RowMapping) -> Request:
    values = dict(row)
    channel, ts = values.pop("card_channel"), values.pop("card_ts")
    values["card"] = MessageRef(channel, ts) if channel else None
    values["change"] = pop_change(values)
    values["quorum"] = tuple(Quorum(*one) for one in values["quorum"])
    values["warnings"] = tuple(values["warnings"])
    return Request(**values)


def _all(connection: Connection, statement: Select[Any]) -> list[Request]:
    return [_request(row) for row in connection.execute(statement).mappings()]
