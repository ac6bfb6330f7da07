# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Parse SPF records (RFC 7208, 4.5 to 7.1). Nothing is looked up or evaluated.

Names of mechanisms and modifiers are case-insensitive. Unknown modifiers are allowed, unknown
mechanisms are not.
"""

from __future__ import annotations

import ipaddress
import json
import re
from typing import NamedTuple, NoReturn

from ..errors import InvalidInput

_VERSION = "v=spf1"
_MAX_SHOWN = 60
_MAX_NAME = 253
_MAX_LABEL = 63
_NAMING_MODIFIERS = ("redirect", "exp")
_ADDRESS_BITS = {"ip4": 32, "ip6": 128}

_MODIFIER = re.compile(r"([A-Za-z][A-Za-z0-9_.-]*)(=.*)", re.DOTALL)
_DIRECTIVE = re.compile(r"([+~?-]?)([^:/]*)(.*)", re.DOTALL)
# A domain or an address after a colon, and the lengths of networks; either may be missing.
_HOSTS = re.compile(r"(?::(.*?))?(?:/([0-9]+))?(?://([0-9]+))?", re.DOTALL)
# A macro, or one character that stands for itself. The letters c, r and t are for explanations.
_TOKEN = re.compile(r"%\{[slodiphv](?:0*[1-9][0-9]*)?r?[-.+,/_=]*\}|%[%_-]|[!-$&-~]", re.IGNORECASE)
_LAST_LABEL = re.compile(r"(?!-)[0-9a-z-]+(?<!-)", re.IGNORECASE)


class SpfError(InvalidInput):
    """The text of a record is invalid, which receivers treat as a permanent error."""

    code = "invalid_spf"


class Term(NamedTuple):
    """A mechanism or a modifier.

    :param qualifier: as written: ``+``, ``-``, ``~``, ``?``, or empty
    :param name: in lower case: ``include``, ``a``, ``all``, ``redirect``, ``exp`` or another
    :param value: what follows the name, as written, from its ``:``, ``/`` or ``=`` on
    :param written: the whole term as it was written
    """

    qualifier: str
    name: str
    value: str
    written: str

    def __str__(self) -> str:
        return self.written

    @property
    def is_modifier(self) -> bool:
        """Whether it is ``name=value``, which has no qualifier and no effective position."""
        return self.value.startswith("=")

    @property
    def effective(self) -> str:
        """The qualifier that applies: ``+`` if none is written."""
        return self.qualifier or "+"

    @property
    def target(self) -> str:
        """The domain or the address that it names, as written, without lengths; may be empty."""
        if self.is_modifier or self.name not in ("a", "mx", "ip4", "ip6"):
            return self.value[1:]
        return _parts(_HOSTS, self.value)[0]

    @property
    def lengths(self) -> tuple[str, str]:
        """The lengths of IPv4 and IPv6 networks that an ``a`` or ``mx`` has; each may be empty."""
        _target, length, second = _parts(_HOSTS, self.value)
        return length, second

    @property
    def key(self) -> tuple[str, str]:
        """What two terms with the same meaning have in common, apart from the qualifier."""
        if self.is_modifier and self.name not in _NAMING_MODIFIERS:
            return self.name, self.value
        if self.name in _ADDRESS_BITS:
            address, length, _unused = _parts(_HOSTS, self.value)
            suffix = f"/{length}" if length else ""
            return self.name, str(ipaddress.ip_network(f"{address}{suffix}", strict=False))
        length, second = self.lengths if self.name in ("a", "mx") else ("", "")
        # The lengths of single addresses change nothing.
        suffix = f"/{length}" if length not in ("", "32") else ""
        suffix += f"//{second}" if second not in ("", "128") else ""
        return self.name, folded(self.target) + suffix


class Spf(NamedTuple):
    """An SPF record: its terms in their order."""

    terms: tuple[Term, ...]

    def __str__(self) -> str:
        return " ".join([_VERSION, *map(str, self.terms)])

    @property
    def before_all(self) -> tuple[Term, ...]:
        """The terms before the first ``all``; later ones have no effect."""
        return self.terms[: self.first_all]

    @property
    def first_all(self) -> int:
        """The place of the first ``all``, or the number of terms if there is none."""
        places = (place for place, term in enumerate(self.terms) if is_all(term))
        return next(places, len(self.terms))

    def modifier(self, name: str) -> Term | None:
        """Return the modifier of that name."""
        found = (term for term in self.terms if term.is_modifier and term.name == name)
        return next(found, None)


def is_spf(text: str) -> bool:
    """Return whether a text is meant to be SPF (RFC 7208, 4.5), well formed or not."""
    return text[: len(_VERSION)].lower() == _VERSION and text[len(_VERSION) :][:1] in ("", " ")


def is_all(term: Term) -> bool:
    """Return whether a term is the mechanism ``all``, which ends the evaluation."""
    return term.name == "all" and not term.is_modifier


def has_macro(name: str) -> bool:
    """Return whether a domain contains a macro."""
    return "%" in name


def folded(name: str) -> str:
    """Return a domain in lower case and without the dot at the end.

    The letter of a macro keeps its case, which decides whether its value is escaped for URLs.
    """
    name = name.removesuffix(".")
    return name if has_macro(name) else name.lower()


def parse(text: str) -> Spf:
    """Return the terms of an SPF record.

    :raises SpfError: it is not one, or a term is wrong, which the message names
    """
    if not is_spf(text):
        raise SpfError(
            f"{_shown(text)} is not an SPF record. Begin it with {_VERSION} and a space."
        )
    spf = Spf(tuple(_term(word) for word in text[len(_VERSION) :].split(" ") if word))
    for name in _NAMING_MODIFIERS:
        same = [term for term in spf.terms if term.is_modifier and term.name == name]
        if len(same) > 1:
            _fail(str(same[1]), f"is a second {name}=. Leave only one of them.")
    return spf


def _term(word: str) -> Term:
    """Parse and check one term."""
    if any(not "!" <= character <= "~" for character in word):
        _fail(word, "has a character that SPF does not allow. Use visible ASCII only.")
    modifier = _MODIFIER.fullmatch(word)
    if modifier:
        term = Term("", modifier[1].lower(), modifier[2], word)
        check = _check_domain if term.name in _NAMING_MODIFIERS else _check_macros
        check(term, term.value[1:])
        return term
    qualifier, name, value = _parts(_DIRECTIVE, word)
    term = Term(qualifier, name.lower(), value, word)
    if term.name == "all":
        if value:
            _fail(word, f"has more than a qualifier. Write {qualifier}all.")
    elif term.name in ("include", "exists") or (term.name == "ptr" and value):
        if not value.startswith(":"):
            _fail(word, f"names no domain. Write {term.name}: and the domain.")
        _check_domain(term, value[1:])
    elif term.name in ("a", "mx"):
        _check_hosts(term)
    elif term.name in _ADDRESS_BITS:
        _check_network(term)
    elif term.name != "ptr":
        _unknown(term)
    return term


def _check_hosts(term: Term) -> None:
    """Check an a or mx, with an optional domain and network lengths."""
    matched = _HOSTS.fullmatch(term.value)
    if not matched:
        _fail(str(term), f"cannot be read. Write it like {term.name}:example.com/24.")
    if matched[1] is not None:
        _check_domain(term, matched[1])
    _check_length(term, matched[2], 32)
    _check_length(term, matched[3], 128)


def _check_network(term: Term) -> None:
    bits = _ADDRESS_BITS[term.name]
    address, length, second = _parts(_HOSTS, term.value)
    if second or not _is_address(address, bits):
        example = "ip4:192.0.2.0/24" if bits == 32 else "ip6:2001:db8::/32"
        kind = "IPv4" if bits == 32 else "IPv6"
        _fail(str(term), f"is not an {kind} address or network. Write it like {example}.")
    _check_length(term, length, bits)


def _is_address(text: str, bits: int) -> bool:
    try:
        # A zone, as in fe80::1%eth0, is for one machine's interfaces.
        return "%" not in text and ipaddress.ip_address(text).max_prefixlen == bits
    except ValueError:
        return False


def _check_length(term: Term, digits: str | None, most: int) -> None:
    # Long numbers are not converted to integers, which would be slow.
    if digits and not (len(digits) <= 3 and str(int(digits)) == digits and int(digits) <= most):
        _fail(str(term), f"has a network length that is not 0 to {most}. Correct the number.")


def _unknown(term: Term) -> NoReturn:
    word = str(term)
    rest = word[len(term.qualifier) :]
    remedy = "Correct its name, or remove it."
    for name, bits in _ADDRESS_BITS.items():
        if _is_address(rest.partition("/")[0], bits):
            remedy = f"Write {term.qualifier}{name}:{rest}."
    if word.endswith((",", ";")):
        remedy = "Separate terms by spaces only."
    _fail(word, f"is not an SPF mechanism. {remedy}")


def _check_domain(term: Term, name: str) -> None:
    tokens = _check_macros(term, name)
    if tokens and len(tokens[-1]) > 1:
        return
    name = name.removesuffix(".")
    labels = name.split(".")
    last = labels[-1]
    if len(labels) == 1 or not _LAST_LABEL.fullmatch(last) or last.isdigit():
        _fail(str(term), "names no full domain. Write one such as mail.example.com.")
    fits = len(name) <= _MAX_NAME and all(0 < len(label) <= _MAX_LABEL for label in labels)
    if not has_macro(name) and not fits:
        _fail(
            str(term),
            f"names an invalid domain. Its labels have 1 to {_MAX_LABEL} characters, and all of it "
            f"at most {_MAX_NAME}.",
        )


def _check_macros(term: Term, text: str) -> list[str]:
    """Return the macros and characters of a text."""
    tokens = _TOKEN.findall(text)
    if "".join(tokens) != text:
        _fail(
            str(term),
            "has an unknown macro. Write it like %{d} or %{ir}, with one of the letters s, l, o, "
            "d, i, p, h and v; a percent sign is %%.",
        )
    return tokens


def _parts(pattern: re.Pattern[str], text: str) -> list[str]:
    """Return the groups of a pattern; empty texts if it does not match."""
    matched = pattern.fullmatch(text)
    return [group or "" for group in matched.groups()] if matched else ["", "", ""]


def _shown(text: str) -> str:
    """Return a text in quotes, on one line, in ASCII and not too long."""
    short = text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}..."
    return json.dumps(short)


def _fail(word: str, problem: str) -> NoReturn:
    raise SpfError(f"The SPF term {_shown(word)} {problem}")
