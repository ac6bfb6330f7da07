# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Parse SPF records (RFC 7208), merge the service's terms into a record, and withdraw them.

A domain has a single SPF record, which belongs to the domain's owner. Only the service's mechanisms
are added or removed; every other byte is kept, including spaces.
"""

from __future__ import annotations

import ipaddress
import json
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ..errors import InvalidInput, Refused, shortened
from . import messages

_VERSION = "v=spf1"
_ADDRESS_BITS = {"ip4": 32, "ip6": 128}
_MODIFIER = re.compile(r"([A-Za-z][A-Za-z0-9_.-]*)(=.*)", re.DOTALL)
_DIRECTIVE = re.compile(r"([+~?-]?)([^:/]*)(.*)", re.DOTALL)
# A domain or an address after a colon, and prefix lengths for IPv4 and IPv6, all optional.
_HOSTS = re.compile(r"(?::(.*?))?(?:/([0-9]+))?(?://([0-9]+))?", re.DOTALL)
# The macro letters c, r and t are only valid in explanations.
_MACRO = r"%\{[slodiphv](?:0*[1-9][0-9]*)?r?[-.+,/_=]*\}|%[%_-]"
_TEXT = re.compile(rf"(?:{_MACRO}|[!-$&-~])+", re.IGNORECASE)
# A domain must end with a macro or with a label that is not a number.
_DOMAIN = re.compile(
    rf"(?:{_MACRO}|[!-$&-~])*(?:{_MACRO}|\.(?![0-9]+\.?$)(?!-)[0-9a-z-]+(?<!-)\.?)", re.IGNORECASE
)


class SpfError(InvalidInput):
    """An SPF record is invalid, which receivers treat as a permanent error."""

    code = "invalid_spf"


class SpfConflict(Refused):
    """The service's terms can't be merged; the domain's owner must decide.

    :param reason: a code in ``messages``
    """

    code = "spf_conflict"

    def __init__(self, reason: str, **params: object) -> None:
        super().__init__(messages.sentences(reason, params))
        self.reason = reason
        self.params = params


class Term(NamedTuple):
    """A mechanism or a modifier.

    :param qualifier: the qualifier as written: ``+``, ``-``, ``~``, ``?`` or an empty string
    :param name: the name in lower case, such as ``include``, ``a``, ``all`` or ``redirect``
    :param value: the text after the name as written, starting with ``:``, ``/`` or ``=``
    """

    qualifier: str
    name: str
    value: str
    written: str

    def __str__(self) -> str:
        return self.written

    @property
    def is_modifier(self) -> bool:
        """Whether the term is a ``name=value`` pair. The position of such terms has no effect."""
        return self.value.startswith("=")

    @property
    def is_all(self) -> bool:
        """Whether the term is the ``all`` mechanism, which ends the evaluation."""
        return self.name == "all" and not self.is_modifier

    @property
    def effective(self) -> str:
        """The effective qualifier, which is ``+`` by default."""
        return self.qualifier or "+"

    @property
    def target(self) -> str:
        """The term's domain in lower case without the trailing dot, or an empty string."""
        is_host = self.name in ("a", "mx") and not self.is_modifier
        return folded(_groups(_HOSTS, self.value)[0] if is_host else self.value[1:])

    @property
    def key(self) -> tuple[str, str]:
        """A key that is equal for terms that differ only in qualifier or notation."""
        if self.is_modifier:
            is_domain = self.name in ("redirect", "exp")
            return self.name, f"={self.target}" if is_domain else self.value
        host, length, second = _groups(_HOSTS, self.value)
        if self.name in _ADDRESS_BITS:
            network = f"{host}/{length}" if length else host
            return self.name, str(ipaddress.ip_network(network, strict=False))
        if self.name not in ("a", "mx"):
            return self.name, self.target
        # The prefix length of a single address has no effect.
        suffix = f"/{length}" if length not in ("", "32") else ""
        suffix += f"//{second}" if second not in ("", "128") else ""
        return self.name, self.target + suffix


class Spf(NamedTuple):
    """An SPF record's terms in order."""

    terms: tuple[Term, ...]

    @property
    def first_all(self) -> int:
        """The index of the first ``all``, or the number of terms if there is none."""
        places = (place for place, term in enumerate(self.terms) if term.is_all)
        return next(places, len(self.terms))

    @property
    def before_all(self) -> tuple[Term, ...]:
        """The terms before the first ``all``; mechanisms after it have no effect."""
        return self.terms[: self.first_all]

    @property
    def mechanisms(self) -> list[Term]:
        """The terms to merge or withdraw: all terms except modifiers and ``all``."""
        return [term for term in self.terms if not term.is_modifier and not term.is_all]

    def lacking(self, wanted: Spf) -> list[Term]:
        """Return the mechanisms of ``wanted`` that this record lacks or has only after ``all``."""
        keys = {term.key for term in self.before_all}
        return [term for term in wanted.mechanisms if term.key not in keys]


def is_spf(text: str) -> bool:
    """Return whether a text is an SPF record (RFC 7208, 4.5), even if it is malformed."""
    return text[: len(_VERSION)].lower() == _VERSION and text[len(_VERSION) :][:1] in ("", " ")


def folded(name: str) -> str:
    """Return a domain in lower case without the trailing dot.

    A domain with macros keeps its case, because an upper-case macro letter means URL escaping.
    """
    name = name.removesuffix(".")
    return name if "%" in name else name.lower()


def parse(text: str) -> Spf:
    """Parse an SPF record.

    :raises SpfError: if the text is not an SPF record, or has an invalid term
    """
    if not is_spf(text):
        raise SpfError(f"{_shown(text)} is not an SPF record. Begin it with {_VERSION}.")
    once: set[str] = set()
    terms = []
    for word in filter(None, text[len(_VERSION) :].split(" ")):
        modifier = _MODIFIER.fullmatch(word)
        qualifier, name, value = _groups(_DIRECTIVE, word)
        term = Term(qualifier, name.lower(), value, word)
        if modifier:
            term = Term("", modifier[1].lower(), modifier[2], word)
        is_valid = all("!" <= character <= "~" for character in word) and _is_valid(term)
        if not is_valid or term.name in once:
            raise SpfError(f"The SPF term {_shown(word)} is invalid. Correct or remove it.")
        # These modifiers may occur only once. No mechanism has either of these names.
        once |= {term.name} & {"redirect", "exp"}
        terms.append(term)
    return Spf(tuple(terms))


def merge(current: Sequence[str], wanted: str) -> str:
    """Merge the mechanisms of ``wanted`` into the current SPF record and return the result.

    The text is unchanged if no mechanism is missing.

    :param current: the TXT records at the name; records other than SPF are ignored
    :param wanted: the SPF record that the service requires
    :raises SpfConflict: if there are several SPF records, or the current record contradicts
        ``wanted``
    :raises SpfError: if a record is invalid
    """
    records = [text for text in current if is_spf(text)]
    if not records:
        return wanted
    if len(records) > 1:
        raise SpfConflict("spf_several", number=len(records))
    text, spf, asked = records[0], parse(records[0]), parse(wanted)
    ours = {term.key: term for term in asked.mechanisms}
    for term in spf.terms:
        mine = ours.get(term.key, term)
        if mine.effective != term.effective:
            raise SpfConflict("spf_contradicts", term=term, ours=mine)
    keys = {term.key for term in spf.terms}
    for term in asked.terms:
        if term.is_modifier and term.key not in keys:
            raise SpfConflict("spf_modifier", term=term)
    missing = list(map(str, spf.lacking(asked)))
    if not missing:
        return text
    place = spf.first_all
    if place == len(spf.terms):
        # The position of ``redirect=`` has no effect, but it is usually written at the end.
        place = max((n for n, term in enumerate(spf.terms, 1) if not term.is_modifier), default=0)
    merged = _inserted(text, place, missing)
    if _has_same_words(merged, wanted):
        # The explicit + distinguishes the owner's record from the service's own, which withdraw()
        # deletes.
        merged = _inserted(text, place, [f"+{missing[0].removeprefix('+')}", *missing[1:]])
    return merged


def withdraw(text: str, wanted: str) -> str | None:
    """Remove the mechanisms of ``wanted`` from an SPF record.

    Return None if the record equals ``wanted``, and the unchanged text if it contains none of the
    mechanisms.

    :raises SpfError: if a record is invalid
    """
    if _has_same_words(text, wanted):
        return None
    ours = {(term.effective, term.key) for term in parse(wanted).mechanisms}
    dropped = {str(term) for term in parse(text).terms if (term.effective, term.key) in ours}
    return re.sub(" ([^ ]+)", lambda word: "" if word[1] in dropped else word[0], text)


def _inserted(text: str, place: int, terms: Iterable[str]) -> str:
    """Return a record with ``terms`` inserted before the term at index ``place``."""
    # The version is the first word, so this is the word before that term.
    end = list(re.finditer("[^ ]+", text))[place].end()
    return "".join([text[:end], *(f" {term}" for term in terms), text[end:]])


def _has_same_words(text: str, other: str) -> bool:
    return text.lower().split() == other.lower().split()


def _is_valid(term: Term) -> bool:
    """Return whether a term follows the grammar, assuming that it is visible ASCII."""
    name, value = term.name, term.value
    if term.is_modifier:
        return (
            _is_domain(value[1:]) if name in ("redirect", "exp") else bool(_TEXT.fullmatch(value))
        )
    if name in ("include", "exists") or (name == "ptr" and value):
        return value.startswith(":") and _is_domain(value[1:])
    if name not in ("a", "mx", *_ADDRESS_BITS):
        return name in ("all", "ptr") and not value
    matched = _HOSTS.fullmatch(value)
    if matched is None:
        return False
    host, length, second = matched.groups()
    if name in ("a", "mx"):
        is_host = host is None or _is_domain(host)
        return is_host and _is_length(length, 32) and _is_length(second, 128)
    bits = _ADDRESS_BITS[name]
    try:
        # A zone ID, as in fe80::1%eth0, is only valid on one machine.
        is_address = "%" not in (host or "%") and ipaddress.ip_address(host).max_prefixlen == bits
    except ValueError:
        return False
    return is_address and second is None and _is_length(length, bits)


def _is_length(digits: str | None, most: int) -> bool:
    # The length is checked first, because converting a long number is slow.
    return digits is None or (
        len(digits) <= 3 and str(int(digits)) == digits and int(digits) <= most
    )


def _is_domain(name: str) -> bool:
    labels = name.removesuffix(".").split(".")
    is_short = len(".".join(labels)) <= 253 and all(0 < len(label) <= 63 for label in labels)
    return _DOMAIN.fullmatch(name) is not None and ("%" in name or is_short)


def _groups(pattern: re.Pattern[str], text: str) -> list[str]:
    """Return the groups of a match, or empty strings if the pattern does not match."""
    matched = pattern.fullmatch(text)
    return [group or "" for group in matched.groups()] if matched else ["", "", ""]


def _shown(text: str) -> str:
    """Return a text in quotes, shortened and escaped to a single line of ASCII."""
    return json.dumps(shortened(text))
