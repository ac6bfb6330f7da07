# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Store and query requests, change their state, and lease each request to one holder at a time.

The holder of a lease processes the request outside transactions and writes with `save` and
`transition`. Both functions check the state and the lease first, so a holder that has lost its
lease can no longer write.

While a request is executed, it locks its mailbox or forwarder. The lock does not depend on the
lease: once an executor may have changed something, the request keeps the lock until it has ended,
so that no other request mistakes its additions for existing ones. Only a removal after a last day
doesn't keep its lock, because it is retried without an end.
"""

from __future__ import annotations

import itertools
import json
import secrets
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    String,
    and_,
    case,
    cast,
    delete,
    exists,
    func,
    not_,
    or_,
    select,
    tuple_,
    update,
)
from sqlalchemy.exc import IntegrityError
from sqlalchemy.sql.dml import ReturningUpdate

from postroom_bot.domain import (
    ADDITIONS,
    END_OF_CHANGE,
    FOLLOWING,
    ID_ALPHABET,
    ID_LENGTH,
    OPEN,
    Change,
    Person,
    Request,
    State,
    VoteState,
)
from postroom_bot.errors import LeaseLost
from postroom_bot.store.tables import (
    audit,
    from_row,
    holding,
    insert_new,
    notification,
    to_columns,
    vote,
)
from postroom_bot.store.tables import request as table

TRIES_PER_LENGTH = 8


def add(
    connection: Connection,
    *,
    change: Change,
    requester: str,
    team: str,
    at: datetime,
    origin: str = "slack",
    state: State = State.NEW,
    **fields: Any,
) -> Request:
    """Add a request with a new id. By default, the request is due immediately.

    The id is new in the audit as well, which also names requests that were deleted.
    """
    fields = {"due_at": at, **fields}
    made = Request("", change, requester, team, state, at, origin=origin, **fields)
    for tried in itertools.count():
        length = ID_LENGTH + tried // TRIES_PER_LENGTH
        made = replace(made, id="R-" + "".join(secrets.choice(ID_ALPHABET) for _ in range(length)))
        is_used = connection.scalar(select(exists().where(audit.c.request == made.id)))
        if not is_used and insert_new(connection, table, to_columns(made)):
            break
    return made


def get(connection: Connection, request_id: str) -> Request | None:
    """Return the request with this id, or None. Case is ignored, and `R-` is optional."""
    wanted = "R-" + request_id.strip().upper().removeprefix("R-")
    return next(iter(_all(connection, select(table).where(table.c.id == wanted))), None)


def lease_next(
    connection: Connection, *, holder: str, now: datetime, lease: timedelta, only: str | None = None
) -> Request | None:
    """Lease and return the most overdue request that is not leased, or return None.

    Requests that would have to wait for another request's lock are skipped.

    :param only: the id of the only request to lease, whether it is due or not
    """
    free = or_(table.c.lease_until.is_(None), table.c.lease_until <= now)
    if only is None:
        other = table.alias()
        lock_name = func.coalesce(table.c.mailbox, table.c.target)
        locked = exists().where(other.c.lock == lock_name, other.c.id != table.c.id)
        executable = table.c.state.in_([State.APPROVED, State.EXECUTING])
        wanted = and_(table.c.due_at <= now, not_(and_(executable, locked)))
    else:
        wanted = table.c.id == only
    choice = select(table.c.id).where(free, wanted).order_by(table.c.due_at, table.c.id).limit(1)
    taken = (
        update(table)
        .where(table.c.id == choice.with_for_update(skip_locked=True).scalar_subquery(), free)
        .values(lease_holder=holder, lease_until=now + lease, lease_count=table.c.lease_count + 1)
        .returning(*table.c)
    )
    return next(iter(_all(connection, taken)), None)


def renew(connection: Connection, request: Request, *, until: datetime) -> bool:
    """Extend the lease, or return False if the lease was lost."""
    extended = update(table).where(_same_lease(request)).values(lease_until=until)
    return connection.execute(extended).rowcount == 1


def lock(connection: Connection, request: Request, *, until: datetime) -> Request | None:
    """Lock the request's mailbox or forwarder, and extend the lease.

    :returns: None if another request has the lock
    :raises LeaseLost: if the state or the lease has changed in the database
    """
    try:
        with connection.begin_nested():
            return save(connection, request, lock=request.lock_name, lease_until=until)
    except IntegrityError:
        return None


def transition(
    connection: Connection, request: Request, to: State, *, at: datetime, **changes: Any
) -> Request:
    """Change the state and other fields of a request, and return the changed request.

    :raises LeaseLost: if the state or the lease has changed in the database
    :raises ValueError: if the new state can't follow the current one
    """
    if to not in FOLLOWING.get(request.state, frozenset()):
        raise ValueError(f"{request.id} can't go from {request.state} to {to}")
    if to not in OPEN:
        changes |= {"closed_at": at, "lock": None}
    return save(connection, request, state=to, **changes)


def save(connection: Connection, request: Request, **changes: Any) -> Request:
    """Change fields of a request, and return the changed request.

    The returned request keeps its earlier `due_marks`, so that `release` detects whether `mark_due`
    was called in the meantime.

    :raises LeaseLost: if the state or the lease has changed in the database
    """
    same = [table.c.id == request.id, table.c.state == request.state]
    if request.lease_holder is not None:
        same.append(_same_lease(request))
    # Even without changes, this checks that the caller still holds the lease.
    values = to_columns(changes) or {"state": request.state}
    if connection.execute(update(table).where(*same).values(values)).rowcount != 1:
        raise LeaseLost(request.id)
    return replace(request, **changes)


def release(connection: Connection, request: Request, *, due_at: datetime | None) -> None:
    """Release the lease on a request, and make it due at `due_at`, or never if that is None.

    The lock is released as well, unless the request has to keep it.

    If a request was marked due after it was leased, it stays due. If the lease was lost, nothing
    is changed.
    """
    sooner = table.c.due_at.is_not(None) if due_at is None else table.c.due_at < due_at
    marked = and_(table.c.due_marks != request.due_marks, sooner)
    next_due = case((marked, table.c.due_at), else_=due_at)
    values = {"lease_holder": None, "lease_until": None, "due_at": next_due}
    if not request.may_have_changed or request.origin == END_OF_CHANGE:
        values["lock"] = None
    connection.execute(update(table).where(_same_lease(request)).values(values))


def mark_due(connection: Connection, request_id: str, *, at: datetime) -> bool:
    """Make a request due, whether or not it is leased. Return False if there is no such request."""
    marked = update(table).where(table.c.id == request_id)
    return (
        connection.execute(marked.values(due_at=at, due_marks=table.c.due_marks + 1)).rowcount == 1
    )


def open_by(connection: Connection, requester: str | None = None) -> list[Request]:
    """Return the open requests of one requester or of all requesters, oldest first."""
    found = select(table).where(table.c.state.in_(OPEN))
    if requester is not None:
        found = found.where(table.c.requester == requester)
    return _all(connection, found.order_by(table.c.created_at, table.c.id))


def recent_by(connection: Connection, requester: str, limit: int = 10) -> list[Request]:
    """Return a requester's latest requests, newest first."""
    mine = select(table).where(table.c.requester == requester)
    return _all(connection, mine.order_by(table.c.created_at.desc(), table.c.id).limit(limit))


def pending_for(connection: Connection, person: Person, limit: int) -> tuple[list[Request], int]:
    """Return the oldest pending requests on which a person may still vote, and their number."""
    mine = and_(vote.c.voter == person.user, vote.c.state != VoteState.REFUSED)
    waiting = [
        table.c.state == State.PENDING,
        table.c.requester != person.user,
        table.c.id.not_in(select(vote.c.request).where(mine)),
    ]
    if person.mailbox is not None:
        waiting.append(table.c.requester_mailbox.is_distinct_from(person.mailbox))
    # Few different quorums exist, so count the requests with each of them.
    quorum = cast(table.c.quorum, String)
    counts = select(quorum, func.count()).where(*waiting).group_by(quorum)
    found = {
        text: number
        for text, number in connection.execute(counts)
        if person.groups & {group for group, *_ in json.loads(text)}
    }
    votable = select(table).where(*waiting, quorum.in_(found))
    first = votable.order_by(table.c.created_at, table.c.id).limit(limit)
    return _all(connection, first) if found else [], sum(found.values())


def purge(connection: Connection, before: datetime, limit: int = 1000) -> int:
    """Delete requests that ended before a time and hold nothing, and return how many were deleted.

    What they removed remains recorded, without the request.

    :param limit: the maximum number to delete, so that the transaction stays short
    """
    ended = select(table.c.id).where(
        table.c.closed_at < before,
        table.c.due_at.is_(None),
        table.c.id.not_in(select(holding.c.request).where(holding.c.action.in_(ADDITIONS))),
    )
    ids = connection.scalars(ended.order_by(table.c.closed_at).limit(limit)).all()
    connection.execute(update(holding).where(holding.c.request.in_(ids)).values(request=None))
    for part in (vote, notification):
        connection.execute(delete(part).where(part.c.request.in_(ids)))
    return connection.execute(delete(table).where(table.c.id.in_(ids))).rowcount


def count_earlier(
    connection: Connection, requester: str, *, since: datetime, before: tuple[datetime, str]
) -> tuple[int, int]:
    """Return how many earlier requests of a person are open, and how many are recent.

    Removals that the bot requests after the last day do not count.

    :param since: requests created at or after this time are recent
    :param before: the creation time and the id of the request to compare with. Of requests created
        at the same time, the one with the lower id counts as earlier.
    """
    is_open = func.count().filter(table.c.state.in_(OPEN))
    is_recent = func.count().filter(table.c.created_at >= since)
    earlier = tuple_(table.c.created_at, table.c.id) < before
    own = (table.c.requester == requester, table.c.origin != END_OF_CHANGE)
    counts = select(is_open, is_recent).where(*own, earlier)
    open_requests, recent = connection.execute(counts).one()
    return open_requests, recent


def count_open(connection: Connection) -> dict[State, int]:
    """Return the number of requests in each open state, including states without requests."""
    found = select(table.c.state, func.count().label("number")).where(table.c.state.in_(OPEN))
    rows = connection.execute(found.group_by(table.c.state))
    return dict.fromkeys(OPEN, 0) | {row.state: row.number for row in rows}


def open_duplicate(connection: Connection, change: Change, requester: str) -> Request | None:
    """Return the requester's open request for the same change, or None.

    Two changes that differ only in their reason or end date are considered the same.
    """
    for one in open_by(connection, requester):
        same = change.with_own_mailbox(one.requester_mailbox)
        same = replace(same, justification=one.change.justification, last_day=one.change.last_day)
        if same.as_dict() == one.change.as_dict():
            return one
    return None


def _same_lease(request: Request) -> ColumnElement[bool]:
    return and_(
        table.c.id == request.id,
        table.c.lease_holder == request.lease_holder,
        table.c.lease_count == request.lease_count,
    )


def _all(connection: Connection, statement: Select[Any] | ReturningUpdate[Any]) -> list[Request]:
    rows = connection.execute(statement).mappings()
    return [Request(**from_row(table, row)) for row in rows]
