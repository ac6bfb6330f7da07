# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Values of a definition: times, and how values, keys and places are told in a finding."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import date, datetime, time, timezone
from difflib import get_close_matches
from typing import NamedTuple

from ..names import Name
from .definition import Finding, Place
from .messages import Reason

_LONGEST_SHOWN = 60
_TIME = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})"
    r"(?:[Tt ]([0-9]{2}:[0-9]{2}:[0-9]{2})(?:\.([0-9]+))?([Zz]|[+-][0-9]{2}:[0-9]{2})?)?"
)
#: Keys that are too far from the right one to be taken for a slip of it.
_MEANT = {
    "name": "address",
    "address": "name",
    "email": "name",
    "alias": "aliases",
    "users": "mailboxes",
}


class Expiry(NamedTuple):
    """When something ends, as it was written and as it is compared."""

    text: str
    moment: datetime

    def reason(self, now: datetime) -> Reason | None:
        """Return that it has expired, or None."""
        return Reason("expired", {"date": self.text}) if self.moment <= now else None


def parse_expiry(value: object) -> Expiry:
    """Return when something ends: a date to its end in UTC, or a time with its zone.

    :raises ValueError: it is neither; the message says what to write
    """
    # Ansible's own reader of YAML makes dates and times of what looks like them.
    text = value.isoformat() if isinstance(value, date) else value
    match = _TIME.fullmatch(text) if isinstance(text, str) else None
    if match is None or not isinstance(text, str):
        raise ValueError(_no_time(text))
    day, clock, fraction, zone = match.groups()
    if clock and not zone:
        raise ValueError(
            f"The time {text} has no zone. Add one, such as {text}Z for UTC, or {text}+01:00."
        )
    try:
        if not clock:
            end = datetime.combine(date.fromisoformat(day), time.max, timezone.utc)
            return Expiry(text, end)
        micros = (fraction or "0")[:6].ljust(6, "0")
        offset = "+00:00" if zone in "Zz" else zone
        return Expiry(text, datetime.fromisoformat(f"{day}T{clock}.{micros}{offset}"))
    except ValueError:
        raise ValueError(_no_time(text)) from None


def _no_time(value: object) -> str:
    found = quoted(value) if isinstance(value, str) else shape(value)
    return (
        f"A date or time is needed here, not {found}. Write a date such as 2026-12-31, or a time "
        "with its zone such as 2026-12-31T18:00:00+01:00."
    )


def shape(value: object) -> str:
    """Return what a value is, in words and without its content."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        aside = "yes, on and true" if value else "no, off and false"
        return f"{str(value).lower()} (as YAML reads {aside})"
    if isinstance(value, str):
        return "text"
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, (list, tuple)):
        return "a list"
    return "a number" if isinstance(value, (int, float)) else f"a {type(value).__name__}"


def quoted(text: str) -> str:
    """Return a text in quotes, on one line and not too long."""
    return repr(text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}...")


def shown(key: str) -> str:
    """Return a key as it can be shown in the way to it."""
    short = key if len(key) <= _LONGEST_SHOWN else f"{key[:_LONGEST_SHOWN]}..."
    return short if short.isprintable() else ascii(short)


def nearest(key: str, known: Sequence[str]) -> str | None:
    """Return the known key that an unknown one may stand for."""
    close = get_close_matches(key[:_LONGEST_SHOWN].lower(), known, 1)
    meant = close[0] if close else _MEANT.get(key)
    return meant if meant in known else None


def listed(words: Sequence[str]) -> str:
    """Return words as a list in a sentence."""
    return f"{', '.join(words[:-1])} and {words[-1]}"


def twice(name: Name, place: Place, first: Name, first_place: Place) -> Finding:
    """Return the finding that a name is there twice."""
    there = spot(first_place, place)
    if name.spelled == first.spelled:
        text = f"{name} is declared twice, first in {there}."
    else:
        text = f"{name} is the same as {first}, which is declared in {there}."
    return Finding(f"{text} Keep one of the two.", place)


def spot(place: Place, here: Place) -> str:
    """Return a place in words, within a sentence about another place."""
    line = None if place.line is None else f"line {place.line}"
    file = place.source.file
    if place.source is here.source:
        about = [line]
    else:
        about = [line, "in the options of the task" if file is None else f"in {file}"]
    known = ", ".join(part for part in about if part)
    return f"{place.where} ({known})" if known else place.where
