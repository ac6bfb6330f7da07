# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""One ordinary request, its people and its votes."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from postroom_bot.model import (
    Action,
    Person,
    Posted,
    Quorum,
    Request,
    State,
    Vote,
    VoteState,
    Wish,
)

NOON = datetime(2026, 11, 21, 12, 5, tzinfo=UTC)
ALICE, BOB, CAROL = "U0ALICE", "U0BOB", "U0CAROL"
NAMES = {ALICE: "Alice", BOB: "Bob", CAROL: "Carol"}
CARD = Posted("C0CARDS", "1.000001")
MAILBOX, ADDRESS = "alice@example.com", "sales@example.com"

ALIAS = Wish(Action.ALIAS_ADD, ADDRESS, reason="the fair")
FORWARD = Wish(Action.FORWARD_ADD, ADDRESS, destinations=("a@x.example", "b@x.example"))
PASSWORD = Wish(Action.PASSWORD, "bob@example.com")

PERSON = Person(ALICE, "T0HOME", "Alice", mailbox=MAILBOX)

_REQUEST = Request(
    id="R-7K2M",
    wish=ALIAS,
    requester=ALICE,
    team="T0HOME",
    state=State.PENDING,
    created_at=NOON,
    requester_mailbox=MAILBOX,
    rule="aliases",
    quorum=(Quorum("mail-admins", 2),),
    expires_at=NOON + timedelta(hours=24),
    card=CARD,
)


def request(state: State = State.PENDING, **changes: Any) -> Request:
    """Return the request in a state, with changes; ended ones ended at 13:22 UTC."""
    ended = None if state in (State.NEW, State.PENDING) else NOON.replace(hour=13, minute=22)
    return replace(_REQUEST, **{"state": state, "ended_at": ended, **changes})


def vote(voter: str, *, approves: bool = True, minutes: int = 0, **changes: Any) -> Vote:
    """Return a vote that counts, cast so many minutes after noon."""
    made = Vote(
        request="R-7K2M",
        voter=voter,
        team="T0HOME",
        approves=approves,
        state=VoteState.COUNTED,
        at=NOON + timedelta(minutes=minutes),
        card=CARD,
    )
    return replace(made, **changes)
