# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Validation and normalization of domain names and email addresses.

Normalized names are lower case, with domains as IDNA 2008 A-labels, so they can be compared as
strings. Local parts must be ASCII dot-atoms (RFC 5321), so quoted strings and SMTPUTF8 addresses
are invalid.
"""

from __future__ import annotations

import re
import unicodedata

import idna

MAX_DOMAIN = 253
MAX_LOCAL = 64
MAX_ADDRESS = 254

_KELVIN = "\u212a"  # the only non-ASCII character whose lower case is ASCII

_LABEL = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
_ATOM = r"[a-z0-9!#$%&'*+/=?^_`{|}~-]+"
_LOCAL = re.compile(rf"{_ATOM}(?:\.{_ATOM})*")


#: Patterns for addresses that mail servers interpret as a catch-all, a route or an option,
#: keyed by error code.
UNSUPPORTED = {
    "catch_all_not_supported": re.compile(r"\*@"),
    "local_part_has_route": re.compile(r"[^@]*[!%]"),
    "local_part_has_hyphen": re.compile(r"-"),
}


class InvalidName(ValueError):
    """The name is invalid. The exception's message states the reason without repeating the name."""


def domain(text: str) -> str:
    """Normalize a fully qualified domain name, or raise `InvalidName`."""
    if len(text) > MAX_DOMAIN:
        raise InvalidName(f"A domain name can't be longer than {MAX_DOMAIN} characters.")
    if text.endswith("."):
        raise InvalidName("A domain name can't end with a dot.")
    labels = [_label(label) for label in _lower(text).split(".")]
    if len(labels) < 2:
        raise InvalidName("A domain name must have at least two labels, such as example.com.")
    if labels[-1].isdigit():
        raise InvalidName("The last label of a domain name can't be a number.")
    name = ".".join(labels)
    if len(name) > MAX_DOMAIN:
        raise InvalidName(f"A domain name can't exceed {MAX_DOMAIN} characters as A-labels.")
    return name


def address(text: str) -> str:
    """Normalize an email address, or raise `InvalidName`."""
    local, at, host = text.rpartition("@")
    if not at:
        raise InvalidName("An address must have the form local@domain.")
    if len(local) > MAX_LOCAL:
        raise InvalidName(
            f"The part of an address before the @ can't be longer than {MAX_LOCAL} characters."
        )
    # Check before converting to lower case, which turns the Kelvin sign into an ASCII k.
    if not local.isascii() or not _LOCAL.fullmatch(local.lower()):
        raise InvalidName(
            "The part of an address before the @ can only contain ASCII letters, digits, "
            "!#$%&'*+/=?^_`{|}~- and, between them, single dots."
        )
    name = f"{local.lower()}@{domain(host)}"
    if len(name) > MAX_ADDRESS:
        raise InvalidName(f"An address can't be longer than {MAX_ADDRESS} characters.")
    return name


def any_name(text: str) -> str | None:
    """Return a normalized domain name or address, or None if it is invalid."""
    try:
        return address(text) if "@" in text else domain(text)
    except InvalidName:
        return None


def unsupported(address: str) -> str | None:
    """Return the error code for an address that is valid but unsupported, or else None."""
    return next((code for code, form in UNSUPPORTED.items() if form.match(address)), None)


def domain_of(address: str) -> str:
    """Return the domain of a normalized address."""
    return address.rpartition("@")[2]


def _lower(text: str) -> str:
    if text.isascii():
        return text.lower()
    if _KELVIN in text:
        raise InvalidName("A domain name can't contain the Kelvin sign (U+212A).")
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).lower())


def _label(label: str) -> str:
    if not label.isascii() or label[2:4] == "--":
        try:
            label = idna.alabel(label).decode("ascii")
        except (idna.IDNAError, UnicodeError):
            raise InvalidName("A label of the domain name is not valid under IDNA 2008.") from None
    if not _LABEL.fullmatch(label):
        raise InvalidName(
            "Each label of a domain name must be 1 to 63 letters, digits and hyphens, and can't "
            "begin or end with a hyphen."
        )
    return label
