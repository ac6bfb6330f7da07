# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What people type into a command or a form, piece by piece: an allow-list for each kind.

A piece that is not understood is None. No sentence is made of it, so it can't get into a message,
a log or an exception.
"""

from __future__ import annotations

import re
from datetime import date

from postroom_bot import names
from postroom_bot.model import ID_ALPHABET, ID_LENGTH
from postroom_bot.words.message import one_line

LONGEST_REASON = 200
MOST_DESTINATIONS = 10

NOT_AN_ADDRESS = "That is not an email address. Write it in full, such as `alice@example.com`."
NOT_A_MAILBOX = "That is not a mailbox. Write its address in full, such as `alice@example.com`."
NOT_A_DOMAIN = "That is not a domain. Write it in full, such as `example.com`."
NOT_A_DATE = "That is not a date. Write it as `YYYY-MM-DD`, such as `2027-01-31`."
NOT_A_REQUEST = "That is not the number of a request. It looks like `R-7K2M`."
NOT_DESTINATIONS = (
    f"Give 1 to {MOST_DESTINATIONS} addresses that mail is to go on to, separated by commas."
)
REASON_TOO_LONG = f"The reason is too long. Use up to {LONGEST_REASON} characters."

_SCHEME = re.compile(r"https?://", re.IGNORECASE)
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_REQUEST = re.compile(rf"(?:R-)?([{ID_ALPHABET}]{{{ID_LENGTH},8}})", re.IGNORECASE | re.ASCII)
_BETWEEN = re.compile(r"[\s,;]+")
# What people put round an address, or what is left of a sentence.
_AROUND = "\"'`()[]<>,;:!?\u2018\u2019\u201c\u201d\u00ab\u00bb"


def address(text: str) -> str | None:
    """Return the address as a normalised key."""
    try:
        return names.address(_trimmed(text))
    except names.BadName:
        return None


def addresses(text: str) -> tuple[str, ...] | None:
    """Return addresses that commas, spaces or the word "and" separate, each once, in order."""
    words = [word for word in _BETWEEN.split(text) if word and word.casefold() != "and"]
    found = [address(word) for word in words]
    known = tuple(dict.fromkeys(one for one in found if one is not None))
    return known if None not in found and 1 <= len(known) <= MOST_DESTINATIONS else None


def domain(text: str) -> str | None:
    """Return the domain as a normalised key; it may be written as a web address."""
    try:
        return names.domain(_SCHEME.sub("", _trimmed(text)).removesuffix("/"))
    except names.BadName:
        return None


def day(text: str) -> date | None:
    """Return the date, whether it has passed or not."""
    found = _trimmed(text)
    if not _DATE.fullmatch(found):
        return None
    try:
        return date.fromisoformat(found)
    except ValueError:
        return None


def request_id(text: str) -> str | None:
    """Return the id of a request in the way that they are kept: ``R-7K2M``."""
    found = _REQUEST.fullmatch(_trimmed(text))
    return f"R-{found[1].upper()}" if found else None


def reason(text: str) -> str | None:
    """Return the reason as one line; "" is one, too."""
    line = one_line(text, LONGEST_REASON + 1)
    # Cut by one_line, it is longer than allowed.
    return line if len(line) <= LONGEST_REASON else None


def _trimmed(text: str) -> str:
    return text.strip().rstrip(".").strip(_AROUND).strip()
