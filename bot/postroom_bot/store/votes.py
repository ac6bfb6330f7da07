# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Votes. Each person has one vote per request, which is cast first and later counted or refused."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import fields, replace
from typing import Any

from sqlalchemy import ColumnElement, Connection, and_, select, update
from sqlalchemy.exc import IntegrityError

from postroom_bot.domain import MessageRef, Reason, Vote, VoteState
from postroom_bot.errors import LeaseLost
from postroom_bot.store.tables import insert_new, pop_reason, reason_values, values_of
from postroom_bot.store.tables import vote as table


class SamePerson(Exception):
    """An approval from another Slack account with the same mailbox was already counted."""


def cast(connection: Connection, vote: Vote) -> bool:
    """Save a vote, replacing any refused vote by the same person.

    :returns: False if the person already has a vote that was not refused
    """
    values = _values(vote)
    if insert_new(connection, table, values):
        return True
    refused = and_(_same(vote), table.c.state == VoteState.REFUSED)
    return connection.execute(update(table).where(refused).values(values)).rowcount == 1


def of(connection: Connection, request_id: str) -> list[Vote]:
    """Return the votes on a request in the order in which they were cast."""
    found = []
    mine = select(table).where(table.c.request == request_id)
    for row in connection.execute(mine.order_by(table.c.at, table.c.voter)).mappings():
        values = values_of(table, row)
        values["card"] = MessageRef(values.pop("card_channel"), values.pop("card_ts"))
        values["groups"] = tuple(values["groups"])
        values["refusal"] = pop_reason(values, "refusal")
        found.append(Vote(**values))
    return found


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

    :param refusal: why the vote does not count
    :raises SamePerson: if an approval with this mailbox was already counted; nothing is changed
    :raises LeaseLost: if the vote has changed in the database
    """
    changed = replace(
        vote, state=state, refusal=refusal, mailbox=mailbox, groups=tuple(sorted(groups))
    )
    same = and_(_same(vote), table.c.state == vote.state, table.c.at == vote.at)
    try:
        with connection.begin_nested():
            found = connection.execute(update(table).where(same).values(_values(changed))).rowcount
    except IntegrityError:
        raise SamePerson(vote.voter) from None
    if found != 1:
        raise LeaseLost(vote.request)
    return changed


def _same(vote: Vote) -> ColumnElement[bool]:
    return and_(table.c.request == vote.request, table.c.voter == vote.voter)


def _values(vote: Vote) -> dict[str, Any]:
    values = {field.name: getattr(vote, field.name) for field in fields(vote)}
    values |= reason_values("refusal", values.pop("refusal"))
    channel, ts = values.pop("card")
    return values | {"card_channel": channel, "card_ts": ts}
