# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The values in commands and forms: addresses, domains, days, request ids and reasons.

Users may emphasize or quote values, and phones and word processors insert typographic characters.
Errors never repeat what the user typed, because that text may be a password.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date
from typing import Any, NamedTuple

from postroom_bot import addresses
from postroom_bot.domain import ID_ALPHABET, ID_LENGTH
from postroom_bot.ui.markup import one_line

MAX_REASON = 200
MAX_DESTINATIONS = 10
#: The latest last day. Much later days can't be converted to another time zone.
LATEST_DAY = date(2099, 12, 31)
INVISIBLE = "That contains invisible characters, which copied text can have. Type it again."

_REQUEST = re.compile(rf"(?:R-)?([{ID_ALPHABET}]{{{ID_LENGTH},8}})", re.IGNORECASE | re.ASCII)
# Quotes and brackets around a value, Slack's marks for bold and struck text, and punctuation.
_PUNCTUATION = (
    "\"'`()[]<>*~,;:!?\u00b4\u2018\u2019\u201a\u201b\u201c\u201d\u201e\u201f\u00ab\u00bb\u2039\u203a"
    "\u2026"
)
# What phones and word processors insert instead of a hyphen or an apostrophe.
_HYPHENS = str.maketrans(dict.fromkeys("\u2010\u2011\u2012\u2013\u2212\ufe63\uff0d", "-"))
_APOSTROPHES = str.maketrans(dict.fromkeys("\u00b4\u02bc\u2018\u2019\u201b\uff07", "'"))


class InvalidValue(Exception):
    """A value is invalid. The exception's message is for the user, in mrkdwn."""


def trimmed(text: str) -> str:
    """Return a value without what surrounds it, and with ordinary hyphens.

    :raises InvalidValue: if the text contains invisible characters
    """
    text = text.strip().translate(_HYPHENS)
    if not text.isprintable():
        raise InvalidValue(INVISIBLE)
    before = ""
    while text != before:
        before = text
        text = text.strip().rstrip(".").strip(_PUNCTUATION)
        # An address can begin with an underscore, but not end with one.
        if len(text) > 1 and text[0] == text[-1] == "_":
            text = text[1:-1]
    return text


def _address(text: str) -> str | None:
    local, at, domain = trimmed(text).rpartition("@")
    try:
        return addresses.address(f"{local.translate(_APOSTROPHES)}{at}{domain}")
    except addresses.InvalidAddress:
        return None


def _address_list(text: str) -> tuple[str, ...] | None:
    """Parse addresses separated by commas, spaces or "and". Duplicates are dropped."""
    text = " ".join(text.split())
    # Either each address may be emphasized, or the whole list.
    for listed in (text, trimmed(text)):
        words = [word for word in re.split("[ ,;]+", listed) if word and word.casefold() != "and"]
        found = list(dict.fromkeys(_address(word) for word in words))
        known = tuple(one for one in found if one is not None)
        if None not in found and 1 <= len(known) <= MAX_DESTINATIONS:
            return known
    return None


def _domain(text: str) -> str | None:
    """Parse a domain, which may be written as a URL."""
    try:
        return addresses.domain(re.sub(r"(?i)https?://", "", trimmed(text)).removesuffix("/"))
    except addresses.InvalidAddress:
        return None


def _day(text: str) -> date | None:
    typed = trimmed(text)
    try:
        day = (
            date.fromisoformat(typed) if re.fullmatch("[0-9]{4}-[0-9]{2}-[0-9]{2}", typed) else None
        )
    except ValueError:
        return None
    if day is not None and day > LATEST_DAY:
        raise InvalidValue(f"That date is too late. The latest possible date is `{LATEST_DAY}`.")
    return day


def _request_id(text: str) -> str | None:
    found = _REQUEST.fullmatch(trimmed(text))
    return f"R-{found[1].upper()}" if found else None


def _reason(text: str) -> str | None:
    # one_line truncates at its limit, so allow one more character to detect longer text.
    line = one_line(text, MAX_REASON + 1)
    return line if len(line) <= MAX_REASON else None


class ArgumentType(NamedTuple):
    """A kind of value in a command or a form.

    :param convert: a function that returns the normalized value, or None if the text is invalid,
        or raises InvalidValue if there is a more precise error message
    :param error: the error message for invalid text, in mrkdwn
    """

    convert: Callable[[str], Any]
    error: str

    def parse(self, text: str) -> Any:
        """Return the normalized value.

        :raises InvalidValue: if the text is invalid
        """
        value = self.convert(text)
        if value is None:
            raise InvalidValue(self.error)
        return value


ADDRESS = ArgumentType(
    _address,
    "That is not an email address that I accept. Write it in full, such as `alice@example.com`;"
    f" before the @, use only {addresses.SIGNS}.",
)
DESTINATIONS = ArgumentType(
    _address_list,
    f"Enter 1 to {MAX_DESTINATIONS} destination addresses, separated by commas,"
    " such as `alice@example.com, bob@example.com`.",
)
DOMAIN = ArgumentType(_domain, "That is not a domain. Write it in full, such as `example.com`.")
DAY = ArgumentType(_day, "That is not a date. Write it as `YYYY-MM-DD`, such as `2027-01-31`.")
REQUEST = ArgumentType(_request_id, "That is not a request ID. Request IDs look like `R-7K2M`.")
REASON = ArgumentType(_reason, f"The reason is too long. Use at most {MAX_REASON} characters.")
