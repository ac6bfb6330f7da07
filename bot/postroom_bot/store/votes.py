# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The votes. Each person has one vote per request. It is cast, and later counted or refused."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from sqlalchemy import ColumnElement, Connection, and_, select, update
from sqlalchemy.exc import IntegrityError

from postroom_bot.domain import Reason, Vote, VoteState
from postroom_bot.errors import LeaseLost
from postroom_bot.store.tables import from_row, insert_new, to_columns
from postroom_bot.store.tables import vote as table


class MailboxAlreadyApproved(Exception):
    """An approval from another Slack account with the same mailbox was already counted."""


def cast(connection: Connection, vote: Vote) -> bool:
    """Save a vote, replacing any refused vote by the same person.

    :returns: False if the person already has a vote that was not refused
    """
    values = to_columns(vote)
    if insert_new(connection, table, values):
        return True
    refused = and_(_same(vote), table.c.state == VoteState.REFUSED)
    return connection.execute(update(table).where(refused).values(values)).rowcount == 1


def on_request(connection: Connection, request_id: str) -> list[Vote]:
    """Return the votes on a request in the order in which they were cast."""
    mine = select(table).where(table.c.request == request_id)
    rows = connection.execute(mine.order_by(table.c.at, table.c.voter)).mappings()
    return [Vote(**from_row(table, row)) for row in rows]


def has_vote(connection: Connection, request_id: str, voter: str) -> bool:
    """Return whether a person has a vote on a request that was not refused."""
    mine = select(table.c.voter).where(
        table.c.request == request_id, table.c.voter == voter, table.c.state != VoteState.REFUSED
    )
    return connection.scalar(mine) is not None


def set_state(
    connection: Connection,
    vote: Vote,
    state: VoteState,
    *,
    refusal: Reason | None = None,
    mailbox: str | None = None,
    groups: Collection[str] = (),
) -> Vote:
    """Change the state of a vote, and return the changed vote.

    :raises MailboxAlreadyApproved: if an approval with this mailbox was already counted; the
        transaction must then end
    :raises LeaseLost: if the vote has changed in the database
    """
    changed = replace(
        vote, state=state, refusal=refusal, mailbox=mailbox, groups=tuple(sorted(groups))
    )
    same = and_(_same(vote), table.c.state == vote.state, table.c.at == vote.at)
    try:
        found = connection.execute(update(table).where(same).values(to_columns(changed))).rowcount
    except IntegrityError:
        raise MailboxAlreadyApproved(vote.voter) from None
    if found != 1:
        raise LeaseLost(vote.request)
    return changed


def _same(vote: Vote) -> ColumnElement[bool]:
    return and_(table.c.request == vote.request, table.c.voter == vote.voter)
