# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Addresses and domains as the bot compares them: the client core's names, made fit for a chat.

A chat takes less than a mail server does: signs that mean something in Slack's markup, in a
pattern or in a program's variables are refused here, once, for all commands and rules.
"""

from __future__ import annotations

import re

from postroom_client.errors import InvalidInput
from postroom_client.names import (
    glob_key,
    parse_address,
    parse_domain,
)

#: More is never a name; what follows is not made for texts of any length.
_MAX_LENGTH = 320
_LOCAL = re.compile(r"[a-z0-9._+'=-]+", re.ASCII)
#: The characters accepted before the @, for messages.
SIGNS = "English letters, digits and . _ + - = '"


class InvalidAddress(ValueError):
    """The text is not an address or a domain that the bot accepts. The message is for people."""


def address(text: str) -> str:
    """Return the key of an address: lower case, the domain as A-labels.

    :raises InvalidAddress: it is not an address, or has characters that the bot never accepts
    """
    _check_text(text)
    try:
        key = parse_address(text).key
    except InvalidInput:
        raise InvalidAddress(_no_address(text)) from None
    if not has_known_signs(local_of(key)):
        raise InvalidAddress(_no_address(text))
    return key


def domain(text: str) -> str:
    """Return the key of a domain: lower case, as A-labels.

    :raises BadName: it is not a fully qualified domain name
    """
    _check_text(text)
    try:
        return parse_domain(text).key
    except InvalidInput:
        raise InvalidAddress(
            f"{_shown(text)} is not a domain name. Write it in full, such as example.com."
        ) from None


def domain_of(key: str) -> str:
    """Return the domain of an address's key."""
    return key.rpartition("@")[2]


def local_of(key: str) -> str:
    """Return the local part of an address's key."""
    return key.rpartition("@")[0]


def has_known_signs(local: str) -> bool:
    """Return whether a local part, in any case, has only characters that the bot accepts."""
    return _LOCAL.fullmatch(local.lower()) is not None


def pattern(text: str) -> str:
    """Return a shell-style pattern as it is matched with keys."""
    return glob_key(text)


def _check_text(text: str) -> None:
    """Refuse what is too long, and what holds signs that are not seen or turn the reading round."""
    if len(text) > _MAX_LENGTH:
        raise InvalidAddress(f"A name of {len(text)} characters is too long. Shorten it.")
    if not text.isprintable():
        raise InvalidAddress(f"{_shown(text)} has invisible characters. Type it again.")


def _no_address(text: str) -> str:
    return (
        f"{_shown(text)} is not an email address that I take. Write it in full, such as "
        f"alice@example.com; before the @, use only {SIGNS}."
    )


def _shown(text: str) -> str:
    """Return a text so that nothing in it is seen as something else or acts on the reader."""
    return ascii(text)
