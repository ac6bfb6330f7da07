# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Requests, votes and people of all kinds, harmless and hostile, and what every payload must be."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

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
from postroom_bot.words.check import problems
from postroom_bot.words.message import Message

#: Nothing here hangs on how fast the machine is.
steady = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

#: What nobody may put into the bot's mouth.
CALLS = ("<!here", "<!channel", "<!everyone", "<!subteam", "<@U0EVIL", "<https://evil")

_HOSTILE = (
    "<!here> and <!channel>",
    "<@U0EVIL>",
    "<https://evil.example|click>",
    "`code` *bold* _slanted_ ~gone~ :tada:",
    "{{ lookup('env', 'HOME') }}",
    "one\ntwo\r\nthree\u2028four",
    "\u202egnp.exe\u202c\u200b\x00\x1b[31m",
    "&lt;!here&gt;",
    "<" * 300,
    "&" * 300,
    "\ud800",
)

texts = st.one_of(st.sampled_from(_HOSTILE), st.text(min_size=1, max_size=300))
_locals = st.text("abcXYZ019._+'=-&<>`*", min_size=1, max_size=64)
_domains = st.sampled_from(("example.com", "xn--bcher-kva.example", "a" * 63 + ".example", "x.y"))
addresses = st.one_of(
    st.builds(lambda local, domain: f"{local}@{domain}", _locals, _domains),
    st.builds(lambda text: f"{text[:60]}@example.com", texts),
)
times = st.datetimes(
    min_value=datetime(2020, 1, 1),  # noqa: DTZ001 - hypothesis adds the zone
    max_value=datetime(2100, 1, 1),  # noqa: DTZ001
    timezones=st.just(UTC),
)
users = st.one_of(st.from_regex(r"U[A-Z0-9]{8}", fullmatch=True), texts)
posted = st.builds(Posted, st.from_regex(r"C[A-Z0-9]{8}", fullmatch=True), st.just("1.000001"))
names = st.dictionaries(users, texts, max_size=3)
request_ids = st.from_regex(r"R-[2-9A-HJKMNP-TV-Z]{4}", fullmatch=True)

wishes = st.builds(
    Wish,
    st.sampled_from(Action),
    st.one_of(st.just(""), addresses),
    mailbox=st.none() | addresses,
    destinations=st.lists(addresses, max_size=4).map(tuple),
    expires_on=st.none() | st.dates(date(2020, 1, 1), date(2100, 1, 1)),
    reason=st.just("") | texts,
)
requests = st.builds(
    Request,
    id=request_ids,
    wish=wishes,
    requester=users,
    team=st.just("T0HOME"),
    state=st.sampled_from(State),
    created_at=times,
    origin=st.sampled_from(("slack", "expiry")),
    requester_mailbox=st.none() | addresses,
    rule=st.just("") | texts,
    quorum=st.lists(st.builds(Quorum, texts, st.integers(1, 5)), max_size=2).map(tuple),
    warnings=st.lists(texts, max_size=3).map(tuple),
    expires_at=st.none() | times,
    card=st.none() | posted,
    result=st.just("") | texts,
    ended_at=st.none() | times,
)
votes = st.builds(
    Vote,
    request=request_ids,
    voter=users,
    team=st.just("T0HOME"),
    approves=st.booleans(),
    state=st.sampled_from(VoteState),
    at=times,
    card=posted,
    reason=st.just("") | texts,
    mailbox=st.none() | addresses,
)
people = st.builds(
    Person,
    users,
    st.just("T0HOME"),
    texts,
    mailbox=st.none() | addresses,
    obstacle=st.just("") | texts,
    mailbox_obstacle=st.just("") | texts,
)


def check(payload: Message | Mapping[str, Any]) -> None:
    """Hold a message or a view to Slack's rules and to ours."""
    assert problems(payload) == []
    for text in strings(payload._asdict() if isinstance(payload, Message) else payload):
        assert not any(call in text for call in CALLS), text
        # Slack takes JSON in UTF-8.
        assert json.loads(json.dumps(text).encode()) == text
        text.encode()
    for button in buttons(payload):
        assert button["accessibility_label"]


def strings(payload: Any, under: str = "") -> Iterator[str]:
    """Yield every text in which Slack reads markup."""
    if isinstance(payload, Mapping):
        # In plain text and in the pieces of rich text, markup is only characters.
        if payload.get("type") not in ("plain_text", "text"):
            for key, value in payload.items():
                yield from strings(value, key)
    elif isinstance(payload, list | tuple):
        for value in payload:
            yield from strings(value, under)
    elif isinstance(payload, str) and under == "text":
        yield payload


def buttons(payload: Message | Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return all buttons of a message or a view."""
    blocks = payload.blocks if isinstance(payload, Message) else payload["blocks"]
    return [
        element
        for block in blocks
        if block["type"] == "actions"
        for element in block["elements"]
        if element["type"] == "button"
    ]


def seen(payload: Message | Mapping[str, Any]) -> str:
    """Return what people see in the blocks, as one text."""
    blocks = payload.blocks if isinstance(payload, Message) else payload["blocks"]
    return "\n".join(strings(list(blocks)))
