# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Reading the parts of a command or a form: an allow-list for each kind of value.

Each function returns None for text that it does not accept. No error repeats what was typed, since
it may be a password.
"""

from __future__ import annotations

import re
from datetime import date

from postroom_bot import addresses
from postroom_bot.domain import ID_ALPHABET, ID_LENGTH
from postroom_bot.ui.markup import one_line

MAX_REASON = 200
MAX_DESTINATIONS = 10

NOT_AN_ADDRESS = (
    "That is not an email address that I accept. Write it in full, such as `alice@example.com`;"
    f" before the @, use {addresses.SIGNS}."
)
NOT_A_DOMAIN = "That is not a domain. Write it in full, such as `example.com`."
NOT_A_DATE = "That is not a date. Write it as `YYYY-MM-DD`, such as `2027-01-31`."
NOT_A_REQUEST = "That is not a request number. It looks like `R-7K2M`."
NOT_DESTINATIONS = (
    f"Give 1 to {MAX_DESTINATIONS} destination addresses, separated by commas,"
    " such as `alice@example.com, bob@example.com`."
)
REASON_TOO_LONG = f"The reason is too long. Use at most {MAX_REASON} characters."

_SCHEME = re.compile(r"https?://", re.IGNORECASE)
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_REQUEST = re.compile(rf"(?:R-)?([{ID_ALPHABET}]{{{ID_LENGTH},8}})", re.IGNORECASE | re.ASCII)
_SEPARATOR = re.compile(r"[\s,;]+")
# Quotes and brackets around an address, and punctuation at the end of a sentence.
_PUNCTUATION = "\"'`()[]<>,;:!?\u2018\u2019\u201c\u201d\u00ab\u00bb"


def address(text: str) -> str | None:
    """Return an address as a normalised key."""
    try:
        return addresses.address(_trimmed(text))
    except addresses.InvalidAddress:
        return None


def address_list(text: str) -> tuple[str, ...] | None:
    """Return addresses separated by commas, spaces or "and", without duplicates, in order."""
    words = [word for word in _SEPARATOR.split(text) if word and word.casefold() != "and"]
    found = list(dict.fromkeys(address(word) for word in words))
    known = tuple(one for one in found if one is not None)
    return known if None not in found and 1 <= len(known) <= MAX_DESTINATIONS else None


def domain(text: str) -> str | None:
    """Return a domain, which may be written as a web address, as a normalised key."""
    try:
        return addresses.domain(_SCHEME.sub("", _trimmed(text)).removesuffix("/"))
    except addresses.InvalidAddress:
        return None


def day(text: str) -> date | None:
    """Return a date, past or future."""
    found = _trimmed(text)
    try:
        return date.fromisoformat(found) if _DATE.fullmatch(found) else None
    except ValueError:
        return None


def request_id(text: str) -> str | None:
    """Return the id of a request as it is stored: ``R-7K2M``."""
    found = _REQUEST.fullmatch(_trimmed(text))
    return f"R-{found[1].upper()}" if found else None


def reason(text: str) -> str | None:
    """Return a reason as one line, which may be empty."""
    # one_line cuts at the limit, so a longer text is recognised by one character more.
    line = one_line(text, MAX_REASON + 1)
    return line if len(line) <= MAX_REASON else None


def _trimmed(text: str) -> str:
    return text.strip().rstrip(".").strip(_PUNCTUATION).strip()
