# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What people type into a command or a form, piece by piece: an allow-list for each kind.

A piece that is not understood is None. Of what was typed then, a sentence repeats a plain word at
most, so that nothing else can get into a message, a log or an exception.
"""

from __future__ import annotations

import re
from datetime import date

from postroom_bot import addresses
from postroom_bot.domain import ID_ALPHABET, ID_LENGTH
from postroom_bot.ui.markup import one_line

MAX_REASON = 200
MAX_DESTINATIONS = 10

NOT_AN_ADDRESS = "That is not an email address. Write it in full, such as `alice@example.com`."
NOT_A_MAILBOX = "That is not a mailbox. Write its address in full, such as `alice@example.com`."
NOT_A_DOMAIN = "That is not a domain. Write it in full, such as `example.com`."
NOT_A_DATE = "That is not a date. Write it as `YYYY-MM-DD`, such as `2027-01-31`."
NOT_A_REQUEST = "That is not the number of a request. It looks like `R-7K2M`."
NOT_DESTINATIONS = (
    f"Give 1 to {MAX_DESTINATIONS} addresses that mail is to go on to, separated by commas."
)
BAD_SIGNS = f"Before the @ only {addresses.SIGNS} may stand."
REASON_TOO_LONG = f"The reason is too long. Use up to {MAX_REASON} characters."

_SCHEME = re.compile(r"https?://", re.IGNORECASE)
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_REQUEST = re.compile(rf"(?:R-)?([{ID_ALPHABET}]{{{ID_LENGTH},8}})", re.IGNORECASE | re.ASCII)
_BETWEEN = re.compile(r"[\s,;]+")
# A word like any other: no password that is worth its name, and nothing that acts on the reader.
_PLAIN = re.compile(r"[a-z]{1,20}", re.IGNORECASE | re.ASCII)
# What people put round an address, or what is left of a sentence.
_AROUND = "\"'`()[]<>,;:!?\u2018\u2019\u201c\u201d\u00ab\u00bb"


def address(text: str) -> str | None:
    """Return the address as a normalised key."""
    try:
        return addresses.address(_trimmed(text))
    except addresses.InvalidAddress:
        return None


def address_list(text: str) -> tuple[str, ...] | None:
    """Return addresses that commas, spaces or the word "and" separate, each once, in order."""
    found = [address(word) for word in pieces(text)]
    known = tuple(dict.fromkeys(one for one in found if one is not None))
    return known if None not in found and 1 <= len(known) <= MAX_DESTINATIONS else None


def domain(text: str) -> str | None:
    """Return the domain as a normalised key; it may be written as a web address."""
    try:
        return addresses.domain(_SCHEME.sub("", _trimmed(text)).removesuffix("/"))
    except addresses.InvalidAddress:
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
    line = one_line(text, MAX_REASON + 1)
    # Cut by one_line, it is longer than allowed.
    return line if len(line) <= MAX_REASON else None


def why_not(text: str, problem: str) -> str:
    """Return what is wrong with a text that is none of its kind.

    :param problem: what is said of that kind, one of the sentences above
    """
    if problem is NOT_DESTINATIONS:
        wrong = [word for word in pieces(text) if address(word) is None]
        return why_not(wrong[0], NOT_AN_ADDRESS) if wrong else problem
    if problem in (NOT_AN_ADDRESS, NOT_A_MAILBOX) and _has_bad_signs(text):
        return f"{problem.partition('. ')[0]}. {BAD_SIGNS}"
    return problem.replace("That", shown(text) or "That", 1)


def shown(text: str) -> str:
    """Return a plain word as code; "" for whatever else was typed, which is not repeated."""
    word = _trimmed(text)
    return f"`{word}`" if _PLAIN.fullmatch(word) else ""


def _has_bad_signs(text: str) -> bool:
    """Whether a text is an address but for signs before the @."""
    local, _, rest = _trimmed(text).rpartition("@")
    return bool(local) and domain(rest) is not None and not addresses.has_known_signs(local)


def pieces(text: str) -> list[str]:
    """Return what commas, spaces or the word "and" separate."""
    return [word for word in _BETWEEN.split(text) if word and word.casefold() != "and"]


def _trimmed(text: str) -> str:
    return text.strip().rstrip(".").strip(_AROUND).strip()
