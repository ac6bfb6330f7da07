# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Normalization of addresses and domains, based on the client core's names.

The bot accepts fewer addresses than a mail server. In all commands and rules, it rejects characters
that are special in Slack's markup, in patterns or in playbook variables.
"""

from __future__ import annotations

import re

from postroom_client.errors import InvalidInput
from postroom_client.names import glob_key, parse_address, parse_domain

#: No valid address is longer. The parsers don't limit the length of their input.
_MAX_LENGTH = 320
_LOCAL = re.compile(r"[a-z0-9._+'=-]+", re.ASCII)
#: A description of the characters accepted before the @, for messages.
SIGNS = "English letters, digits and . _ + - = '"


#: Normalizes a shell-style pattern, so that it matches keys.
pattern = glob_key


class InvalidAddress(ValueError):
    """The text is not an address or domain that the bot accepts. The message is for the user."""


def address(text: str) -> str:
    """Return the key of an address, in lower case and with the domain in its A-label form.

    :raises InvalidAddress: the text is not an address, or has characters that the bot rejects
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
    """Return the key of a domain, in lower case and in its A-label form.

    :raises InvalidAddress: the text is not a fully qualified domain name
    """
    _check_text(text)
    try:
        return parse_domain(text).key
    except InvalidInput:
        raise InvalidAddress(
            f"{text!a} is not a domain name. Write it in full, such as example.com."
        ) from None


def domain_of(key: str) -> str:
    """Return the domain of an address's key."""
    return key.rpartition("@")[2]


def local_of(key: str) -> str:
    """Return the local part of an address's key."""
    return key.rpartition("@")[0]


def _check_text(text: str) -> None:
    """Raise InvalidAddress if the text is too long or has invisible or bidirectional characters."""
    if len(text) > _MAX_LENGTH:
        raise InvalidAddress(f"A name with {len(text)} characters is too long. Shorten it.")
    if not text.isprintable():
        raise InvalidAddress(f"{text!a} contains invisible characters. Type it again.")
