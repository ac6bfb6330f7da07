# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Names: domains and email addresses, compared normalised and shown as they were written.

Two spellings of one name are equal: case is folded, and a domain is compared as its A-labels
(IDNA 2008). ``parse_domain`` and ``parse_address`` are strict, for what a user declares;
``read_name`` is tolerant, for what a service answers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fnmatch import translate
from functools import lru_cache

from .errors import InvalidInput

_LABEL = r"(?!-)[a-z0-9-]{1,63}(?<!-)"
_DOMAIN = re.compile(rf"{_LABEL}(?:\.{_LABEL})+")
_LOCAL = re.compile(r"[a-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[a-z0-9!#$%&'*+/=?^_`{|}~-]+)*")
_LONGEST_DOMAIN = 253
_LONGEST_LOCAL = 64
_LONGEST_ADDRESS = 254


@dataclass(frozen=True, slots=True, order=True)
class Name:
    """A domain or an address. Equality, order and hash go by ``key`` alone."""

    key: str
    spelled: str = field(compare=False)

    # As the dataclass would, but for the tuple: names are hashed by the hundred thousand.
    def __hash__(self) -> int:
        return hash(self.key)

    def __str__(self) -> str:
        return self.spelled

    @property
    def domain(self) -> Name:
        """The domain of an address; a domain's own name."""
        if "@" not in self.key:
            return self
        return Name(self.key.rpartition("@")[2], self.spelled.rpartition("@")[2])


def parse_domain(text: str, option: str = "name") -> Name:
    """Return the domain that a user wrote.

    :raises InvalidInput: the text is not a fully qualified domain name
    """
    spelled = text.strip()
    key = _domain_key(spelled)
    if key is None:
        hint = " It looks like an email address." if "@" in text else ""
        raise InvalidInput(
            f"{option}: {text!r} is not a domain name.{hint} "
            "Write it in full, such as example.com, in letters, digits and inner hyphens, "
            "without scheme or path."
        )
    return Name(key, spelled.removesuffix("."))


def parse_address(text: str, option: str = "name") -> Name:
    """Return the email address that a user wrote.

    :raises InvalidInput: the text is not an address that the service can hold
    """
    spelled = text.strip()
    local, at, domain = spelled.rpartition("@")
    if not at:
        raise InvalidInput(
            f"{option}: {text!r} is not an email address, for it has no @. "
            "Write it in full, such as alice@example.com."
        )
    key_local = local.lower()
    # Before folding: a few characters beyond ASCII have a lower case within.
    if not local.isascii() or not _LOCAL.fullmatch(key_local) or len(key_local) > _LONGEST_LOCAL:
        raise InvalidInput(
            f"{option}: {text!r} is not an email address that the service can hold. Before the @ "
            f"use 1 to {_LONGEST_LOCAL} ASCII letters, digits, or signs such as . _ + and -."
        )
    key_domain = _domain_key(domain)
    if key_domain is None:
        raise InvalidInput(
            f"{option}: {text!r} is not an email address, for there is no domain name after the @. "
            "Write it in full, such as alice@example.com."
        )
    key = f"{key_local}@{key_domain}"
    if len(key) > _LONGEST_ADDRESS:
        raise InvalidInput(
            f"{option}: {text!r} is longer than {_LONGEST_ADDRESS} characters. Shorten it."
        )
    return Name(key, spelled)


def read_name(text: str) -> Name:
    """Return the name that a service answered, whatever it looks like."""
    local, at, domain = text.strip().rpartition("@")
    key = _ascii_domain(domain.removesuffix("."))
    return Name(local.lower() + at + (domain.lower() if key is None else key), text)


def glob_key(pattern: str) -> str:
    """Return a shell-style pattern as it is to be matched with keys."""
    local, at, domain = pattern.strip().rpartition("@")
    # Label by label, for the labels that are patterns have no A-label.
    labels = (_ascii_domain(label) or label.lower() for label in domain.split("."))
    return local.lower() + at + ".".join(labels)


def matcher(patterns: Iterable[str]) -> Callable[[str], bool]:
    """Return what tells whether a name's key matches one of these shell-style patterns."""
    alternatives = [translate(glob_key(pattern)) for pattern in patterns]
    if not alternatives:
        return lambda key: False  # noqa: ARG005
    compiled = re.compile("|".join(alternatives))
    return lambda key: compiled.match(key) is not None


@lru_cache(maxsize=4096)
def _domain_key(text: str) -> str | None:
    """Return what a domain is compared by, or None where it is not fully qualified."""
    key = _ascii_domain(text.removesuffix("."))
    if key is None or len(key) > _LONGEST_DOMAIN or not _DOMAIN.fullmatch(key):
        return None
    return None if key.rpartition(".")[2].isdigit() else key


@lru_cache(maxsize=4096)
def _ascii_domain(text: str) -> str | None:
    """Return the lower-case A-labels of a domain, or None where it has none."""
    text = text.lower()
    if text.isascii() and "xn--" not in text:
        return text
    # Imported at use: most tenants have no such name, and a module pays for each import.
    import idna  # noqa: PLC0415

    try:
        return idna.encode(text, uts46=True, std3_rules=True).decode("ascii").lower()
    except idna.IDNAError:
        return None
