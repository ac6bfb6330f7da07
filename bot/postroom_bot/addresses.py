# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Normalize addresses and domains with the client core's parsers.

The bot is stricter than a mail server: in commands and rules, it rejects characters that have a
special meaning in Slack's markup, in patterns or in playbook variables.
"""

from __future__ import annotations

import re

from postroom_client.errors import InvalidInput
from postroom_client.names import glob_key, parse_address, parse_domain

#: The maximum length of a valid address. The parsers don't limit the length of their input.
_MAX_LENGTH = 320
_LOCAL = re.compile(r"[a-z0-9._+'=-]+", re.ASCII)
#: How messages describe the characters that are allowed before the @.
SIGNS = "English letters, digits and . _ + - = '"


#: Normalizes a shell-style pattern so that it can be matched against lookup keys.
pattern = glob_key


class InvalidAddress(ValueError):
    """The bot does not accept the address or domain. The exception's message is for the user."""


def address(text: str) -> str:
    """Return the lookup key for an address: in lower case, with the domain in A-label form.

    :raises InvalidAddress: if the text is not an address, or contains characters that the bot
        rejects
    """
    _check_text(text)
    try:
        key = parse_address(text).key
    except InvalidInput:
        key = ""
    if not _LOCAL.fullmatch(local_of(key)):
        raise InvalidAddress(
            f"{text!a} is not an email address that I accept. Write it in full, such as "
            f"alice@example.com; before the @, use only {SIGNS}."
        )
    return key


def domain(text: str) -> str:
    """Return the lookup key for a domain: its A-label form in lower case.

    :raises InvalidAddress: if the text is not a fully qualified domain name
    """
    _check_text(text)
    try:
        return parse_domain(text).key
    except InvalidInput:
        raise InvalidAddress(
            f"{text!a} is not a domain name. Write it in full, such as example.com."
        ) from None


def domain_of(key: str) -> str:
    """Return the domain of an address, given its lookup key."""
    return key.rpartition("@")[2]


def local_of(key: str) -> str:
    """Return the local part of an address, given its lookup key."""
    return key.rpartition("@")[0]


def _check_text(text: str) -> None:
    """Raise InvalidAddress if a text is too long or has invisible or bidirectional characters."""
    if len(text) > _MAX_LENGTH:
        raise InvalidAddress(f"That name is too long ({len(text)} characters). Shorten it.")
    if not text.isprintable():
        raise InvalidAddress(f"{text!a} contains invisible characters. Type it again.")
