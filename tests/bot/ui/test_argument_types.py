# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Values as people type them, with typographic and invisible characters, and days of all years."""

from __future__ import annotations

import contextlib
from datetime import UTC, date
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ansible_collections.postroom.email.tests.bot.ui.samples import errors, sent
from postroom_bot.domain import Action, Change
from postroom_bot.ui import argument_types, parser, views

SALES, ALICE, BOB = "sales@example.com", "alice@example.com", "bob@example.com"
FAIR = date(2027, 1, 31)

#: What surrounds a value: quotes of several languages, brackets, and Slack's emphasis.
around = st.sampled_from(
    [
        *(
            "\u201e\u201c",
            "\u201c\u201d",
            "\u201d\u201d",
            "\u2018\u2019",
            "\u201a\u2018",
            "\u00ab\u00bb",
        ),
        *(
            "\u00bb\u00ab",
            "\u2039\u203a",
            '""',
            "''",
            "``",
            "()",
            "[]",
            "**",
            "__",
            "~~",
            " .",
            " ,",
            " :",
            " \u2026",
        ),
    ]
)
hyphens = st.sampled_from("-\u2010\u2011\u2012\u2013\u2212")


def surrounded(value: str, pairs: list[str]) -> str:
    """Return a value in these pairs of marks, starting with the innermost pair."""
    for pair in pairs:
        value = f"{pair[0].strip()}{value}{pair[1]}"
    return value


@settings(deadline=None)
@given(
    st.sampled_from([SALES, "o'brien@example.com", "_team-a@b-c.example"]),
    st.lists(around, max_size=3),
    hyphens,
    st.sampled_from("'\u2019\u2018\u02bc\u00b4"),
    st.sampled_from(["because", "Because:", "(because", "*because*", "because\u2026"]),
)
def test_what_phones_and_editors_insert_is_ignored(
    address: str, pairs: list[str], hyphen: str, apostrophe: str, because: str
) -> None:
    """Quotes, emphasis, punctuation and typographic characters don't change what is understood."""
    typed = surrounded(address.replace("-", hyphen).replace("'", apostrophe), pairs)
    day = surrounded(f"2027{hyphen}01{hyphen}31", pairs)
    mailbox = f"<mailto:{ALICE}|{ALICE}>"
    text = f"alias add {typed} to {surrounded(mailbox, pairs)} until: {day} {because} x"
    made = Change(Action.ALIAS_ADD, address, ALICE, last_day=FAIR, justification="x")
    assert parser.parse(text) == made
    listed = Change(Action.FORWARD_ADD, SALES, destinations=(address, BOB))
    assert parser.parse(f"forward add {SALES} to {typed} and {surrounded(BOB, pairs)}") == listed
    assert parser.parse(f"status {surrounded(f'r{hyphen}7k2m', pairs)}") == parser.Status("R-7K2M")
    form = sent(target=typed, last_day="2027-01-31", mailbox=ALICE, justification="x")
    assert views.read_form("alias_add", form) == made


#: Zero-width characters, marks of direction, a soft hyphen and a byte order mark.
invisible = st.sampled_from(
    "\u200b\u200c\u200d\u2060\u200e\u200f\u202a\u202e\u2066\u2069\u00ad\ufeff"
)


@settings(deadline=None)
@given(
    st.sampled_from(
        [
            *(f"alias add {SALES} to |", "alias remove |", f"forward add {SALES} to {BOB}, |"),
            *("dns |", "cancel |", f"alias add {SALES} until |", "password |"),
        ]
    ),
    invisible,
    st.data(),
)
def test_an_invisible_character_is_named_as_the_problem(
    start: str, character: str, data: st.DataObject
) -> None:
    """A value with an invisible character is refused for that reason, in commands and in forms."""
    word = {"dns": "example.com", "cancel": "R-7K2M"}.get(start.split(maxsplit=1)[0], ALICE)
    word = "2027-01-31" if "until" in start else word
    place = data.draw(st.integers(0, len(word)))
    typed = word[:place] + character + word[place:]
    with pytest.raises(parser.InvalidCommand) as refusal:
        parser.parse(start.replace("|", typed))
    if start.startswith("password"):
        assert isinstance(refusal.value, parser.TypedPassword)
    else:
        assert str(refusal.value).startswith(argument_types.INVISIBLE)
    typed = ALICE[:place] + character + ALICE[place:]
    assert errors("forward_add", target=typed, destinations=f"{BOB}\n{typed}") == {
        "target": argument_types.INVISIBLE,
        "destinations": argument_types.INVISIBLE,
    }
    form = sent(target=SALES, justification=f"the {character}fair")
    assert views.read_form("alias_add", form).justification == "the fair"


@given(st.dates())
@example(date(2099, 12, 31))
@example(date(2100, 1, 1))
@example(date.max)
def test_every_accepted_day_has_an_end_in_every_time_zone(day: date) -> None:
    """A last day is accepted only if the end of that day can be stored."""
    change = None
    with contextlib.suppress(parser.InvalidCommand):
        change = parser.parse(f"alias add {SALES} until {day}")
    assert (change is not None) is (day <= date(2099, 12, 31))
    if isinstance(change, Change):
        for zone in ("Pacific/Kiritimati", "Etc/GMT+12"):
            end = change.end_of_last_day(ZoneInfo(zone))
            assert end is not None
            assert end.astimezone(UTC).date() >= day
    else:
        found = errors("alias_add", target=SALES, last_day=str(day))
        assert "2099-12-31" in found["last_day"]
