# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Ordinary and hostile requests, and checks that Slack would accept a payload."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from ansible_collections.postroom.email.tests.fakes.slack.block_validation import problems
from postroom_bot.domain import (
    Action,
    Change,
    MessageRef,
    Person,
    Quorum,
    Reason,
    Request,
    State,
    Vote,
    VoteState,
)
from postroom_bot.ui import views
from postroom_bot.ui.markup import Message

NOON = datetime(2026, 11, 21, 12, 5, tzinfo=UTC)
ALICE, BOB, CAROL = "U0ALICE", "U0BOB", "U0CAROL"
CARD = MessageRef("C0CARDS", "1.000001")
MAILBOX, ADDRESS = "alice@example.com", "sales@example.com"
PASSWORD = Change(Action.PASSWORD, "bob@example.com")
PERSON = Person(ALICE, mailbox=MAILBOX)

#: Markup that user input must not be able to add to the bot's messages.
CALLS = ("<!here", "<!channel", "<!everyone", "<!subteam", "<@U0EVIL", "<https://evil")
HOSTILE = (
    "<!here> and <!channel>",
    "<@U0EVIL>",
    "<https://evil.example|click>",
    "`code` *bold* _slanted_ ~gone~ :tada:",
    "one\ntwo\r\nthree\u2028four",
    "\u202egnp.exe\u202c\u200b\x00\x1b[31m",
    "&lt;!here&gt;",
    "<" * 300,
    "&" * 300,
    "\ud800",
)

_REQUEST = Request(
    id="R-7K2M",
    change=Change(Action.ALIAS_ADD, ADDRESS, justification="the fair"),
    requester=ALICE,
    team="T0HOME",
    state=State.PENDING,
    created_at=NOON,
    requester_mailbox=MAILBOX,
    rule="aliases",
    quorum=(Quorum("mail-admins", 2),),
    decide_by=NOON + timedelta(hours=24),
    card=CARD,
)


def request(state: State = State.PENDING, **changes: Any) -> Request:
    """Return a request with these changes. Unless it is new or pending, it ended at 13:22 UTC."""
    ended = None if state in (State.NEW, State.PENDING) else NOON.replace(hour=13, minute=22)
    return replace(_REQUEST, **{"state": state, "closed_at": ended, **changes})


def sent(**typed: str | None) -> dict[str, Any]:
    """Return a view's values in Slack's format."""
    values: dict[str, Any] = {}
    for block, value in typed.items():
        if block == "last_day":
            values[block] = {"value": {"type": "datepicker", "selected_date": value}}
        else:
            values[block] = {"value": {"type": "plain_text_input", "value": value}}
    return values


def errors(form: str, **typed: str | None) -> dict[str, str]:
    """Return the errors of a submitted form."""
    with pytest.raises(views.FormErrors) as wrong:
        views.read_form(form, sent(**typed))
    return wrong.value.errors


def sentence(text: str) -> Reason:
    """Return a reason with this text."""
    return Reason("policy.deny", {"text": text})


def vote(voter: str, *, approves: bool = True, minutes: int = 0, **changes: Any) -> Vote:
    """Return a counted vote that was cast this many minutes after noon."""
    at = NOON + timedelta(minutes=minutes)
    made = Vote("R-7K2M", voter, "T0HOME", approves, VoteState.COUNTED, at, CARD)
    return replace(made, **changes)


def hostile_requests() -> Iterator[tuple[str, Request, list[Vote]]]:
    """Yield requests of every state and action, with votes, and with hostile text in all fields."""
    hostile = itertools.cycle(HOSTILE)
    for state, action in itertools.product(State, Action):
        text = next(hostile)
        change = Change(
            action,
            f"{text[:60]}@example.com",
            mailbox=text,
            destinations=(text, f"{'x' * 64}@{'a' * 63}.example"),
            last_day=date(2027, 1, 31),
            justification=text,
        )
        made = request(
            state,
            change=change,
            requester=text,
            requester_mailbox=text,
            rule=text,
            quorum=(Quorum(text, 2), Quorum("security", 1)),
            warnings=(sentence(text), sentence(text)),
            result=sentence(text),
            blocked=sentence(text),
            origin="expiry" if action is Action.ALIAS_REMOVE else "slack",
        )
        yield (
            text,
            made,
            [vote(text, justification=text), vote(BOB, approves=False, justification=text)],
        )


def check(payload: Message | Mapping[str, Any]) -> None:
    """Check that Slack accepts a message or view, and that user input adds no markup."""
    assert problems(payload) == []
    for text in strings(payload._asdict() if isinstance(payload, Message) else payload):
        assert not any(call in text for call in CALLS), text
        # Check that the text can be encoded as UTF-8, as Slack requires.
        text.encode()
    for button in buttons(payload):
        assert button["accessibility_label"]


def strings(payload: Any, under: str = "") -> Iterator[str]:
    """Yield every text in which Slack interprets markup."""
    if isinstance(payload, Mapping):
        # In plain text and in the elements of rich text, markup characters are literal.
        if payload.get("type") not in ("plain_text", "text"):
            for key, value in payload.items():
                yield from strings(value, key)
    elif isinstance(payload, list | tuple):
        for value in payload:
            yield from strings(value, under)
    elif isinstance(payload, str) and under == "text":
        yield payload


def blocks_of(payload: Message | Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the blocks of a message or a view."""
    return list(payload.blocks if isinstance(payload, Message) else payload["blocks"])


def buttons(payload: Message | Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return all buttons of a message or a view."""
    rows = [block["elements"] for block in blocks_of(payload) if block["type"] == "actions"]
    return [element for row in rows for element in row if element["type"] == "button"]


def presses(payload: Message | Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the action and the value of each button."""
    return [(one["action_id"], one["value"]) for one in buttons(payload)]


def seen(payload: Message | Mapping[str, Any]) -> str:
    """Return the visible text of the blocks as one string."""
    return "\n".join(strings(blocks_of(payload)))
