# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Domain names and email addresses, normalized for comparison but displayed as entered.

Comparison ignores case and treats a Unicode domain and its A-labels (IDNA 2008) as equal.
``parse_domain`` and ``parse_address`` strictly validate user input. ``read_name`` accepts any name
that a service returns.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from fnmatch import translate
from functools import lru_cache

from .errors import InvalidInput, shortened

_LABEL = r"(?!-)[a-z0-9-]{1,63}(?<!-)"
_LABELS = re.compile(_LABEL)
_DOMAIN = re.compile(rf"{_LABEL}(?:\.{_LABEL})+")
_LOCAL = re.compile(r"[a-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[a-z0-9!#$%&'*+/=?^_`{|}~-]+)*")
_MAX_LABEL = 63
_MAX_DOMAIN = 253
_MAX_LOCAL = 64
_MAX_ADDRESS = 254


class Name:
    """A domain or an address, compared and hashed by ``key``. Treat it as immutable.

    It is not a dataclass, because a frozen dataclass takes twice as long to create and to hash,
    and a large tenant has 100,000 names.
    """

    __slots__ = ("key", "spelled")

    def __init__(self, key: str, spelled: str) -> None:
        self.key = key
        self.spelled = spelled

    def __eq__(self, other: object) -> bool:
        return self.key == other.key if isinstance(other, Name) else NotImplemented

    def __lt__(self, other: Name) -> bool:
        return self.key < other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        return f"Name({self.key!r}, {self.spelled!r})"

    def __str__(self) -> str:
        return self.spelled

    @property
    def domain(self) -> Name:
        """The domain of an address, or the name itself if it is a domain."""
        if "@" not in self.key:
            return self
        return Name(self.key.rpartition("@")[2], self.spelled.rpartition("@")[2])


def parse_domain(text: str, option: str = "name") -> Name:
    """Return a domain from user input.

    :raises InvalidInput: if the text is not a fully qualified domain name
    """
    spelled = text.strip()
    key = _domain_key(spelled)
    if key is None:
        raise InvalidInput(
            f"{option}: {_shown(text)} is not a domain name: {_domain_flaw(spelled)}. Write it in "
            "full, such as example.com, without scheme or path."
        )
    return Name(key, spelled.removesuffix("."))


def parse_address(text: str, option: str = "name") -> Name:
    """Return an email address from user input.

    :raises InvalidInput: if the text is not an address that the service accepts
    """
    spelled = text.strip()
    local, at, domain = spelled.rpartition("@")
    key_local, key_domain = local.lower(), _domain_key(domain)
    flaw = None
    if not at:
        flaw = "it has no @"
    # isascii() checks the original, because lower() turns a few non-ASCII characters into ASCII.
    elif not local.isascii() or not _LOCAL.fullmatch(key_local) or len(local) > _MAX_LOCAL:
        flaw = _local_flaw(local)
    elif key_domain is None:
        flaw = f"after the @, {_domain_flaw(domain)}"
    elif len(local) + 1 + len(key_domain) > _MAX_ADDRESS:
        flaw = f"it is longer than {_MAX_ADDRESS} characters"
    if flaw:
        raise InvalidInput(
            f"{option}: {_shown(text)} is not an email address: {flaw}. Write it in full, such as "
            "alice@example.com."
        )
    return Name(f"{key_local}@{key_domain}", spelled)


def _shown(text: str) -> str:
    return repr(shortened(text))


def _local_flaw(local: str) -> str:
    """Return the reason why the part before the @ is invalid, as a clause."""
    if not local:
        return "there is nothing before the @"
    if "@" in local:
        return "it has more than one @"
    if len(local) > _MAX_LOCAL:
        return f"there are {len(local)} characters before the @ (max {_MAX_LOCAL})"
    if ".." in local or local[0] == "." or local[-1] == ".":
        return "before the @, a dot can't be first, last or doubled"
    signs = (sign for sign in local if sign != ".")
    wrong = next(s for s in signs if not s.isascii() or not _LOCAL.fullmatch(s.lower()))
    return f"{wrong!r} is not one of the ASCII characters that are allowed before the @"


def _domain_flaw(domain: str) -> str:
    """Return the reason why a domain is invalid, as a clause."""
    if "@" in domain:
        return "it looks like an email address"
    key = _ascii_domain(domain.removesuffix("."))
    labels = (key or domain.removesuffix(".").lower()).split(".")
    long = next((label for label in labels if len(label) > _MAX_LABEL), None)
    if long is not None:
        return f"its label {_shown(long)} has more than {_MAX_LABEL} characters"
    if len(".".join(labels)) > _MAX_DOMAIN:
        return f"it has more than {_MAX_DOMAIN} characters"
    if not all(labels):
        return "it starts with a dot or has two in a row" if any(labels) else "it is empty"
    if len(labels) == 1:
        return f"{_shown(domain)} has no dot"
    if key is not None and labels[-1].isdigit():
        return "it ends with a number"
    wrong = next(
        (label for label in labels if not _LABELS.fullmatch(_ascii_domain(label) or "")), domain
    )
    if not wrong.isascii() or _LABELS.fullmatch(wrong):
        return f"IDNA 2008 does not allow its label {_shown(wrong)}"
    return f"its label {_shown(wrong)} has characters other than letters, digits and inner hyphens"


def read_name(text: str) -> Name:
    """Return a name from a service's response without validating it."""
    local, at, domain = text.strip().rpartition("@")
    key = _ascii_domain(domain.removesuffix("."))
    return Name(local.lower() + at + (domain.lower() if key is None else key), text)


def glob_key(pattern: str) -> str:
    """Return a shell-style pattern, normalized like the keys it is matched against."""
    local, at, domain = pattern.strip().rpartition("@")
    # Convert each label separately, because a wildcard can't be converted to an A-label.
    labels = (_ascii_domain(label) or label.lower() for label in domain.split("."))
    return local.lower() + at + ".".join(labels)


def matches(key: str, patterns: Iterable[str]) -> bool:
    """Return whether a key matches any of these shell-style patterns."""
    compiled = _compiled(tuple(patterns))
    return compiled is not None and compiled.match(key) is not None


@lru_cache
def _compiled(patterns: tuple[str, ...]) -> re.Pattern[str] | None:
    text = "|".join(translate(glob_key(pattern)) for pattern in patterns)
    return re.compile(text) if text else None


@lru_cache(maxsize=4096)
def _domain_key(text: str) -> str | None:
    """Return a domain's comparison key, or None if it is not a valid, fully qualified name."""
    key = _ascii_domain(text.removesuffix("."))
    if key is None or len(key) > _MAX_DOMAIN or not _DOMAIN.fullmatch(key):
        return None
    return None if key.rpartition(".")[2].isdigit() else key


@lru_cache(maxsize=4096)
def _ascii_domain(text: str) -> str | None:
    """Return a domain in lower-case A-labels, or None if it can't be encoded."""
    text = text.lower()
    if text.isascii() and "xn--" not in text:
        return text
    # Import this only here, because few tasks have such names and the import is slow.
    import idna  # noqa: PLC0415

    try:
        return idna.encode(text, uts46=True, std3_rules=True).decode("ascii").lower()
    except idna.IDNAError:
        return None
