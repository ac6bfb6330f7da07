# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""The grammar of SPF records (RFC 7208, 4.5 to 7.1): a text to its terms, or what is wrong in it.

Nothing is looked up and nothing is evaluated. Names of mechanisms and modifiers are read in any
case, as ABNF has it; modifiers that nobody knows are allowed, mechanisms are not.
"""

from __future__ import annotations

import ipaddress
import json
import re
from collections.abc import Callable, Iterable
from typing import NamedTuple, NoReturn

from ..errors import InvalidInput

_VERSION = "v=spf1"
_LONGEST_SHOWN = 60
_LONGEST_NAME = 253
_LONGEST_LABEL = 63
_ADDRESS_BITS = {"ip4": 32, "ip6": 128}

_MODIFIER = re.compile(r"([A-Za-z][A-Za-z0-9_.-]*)(=.*)", re.DOTALL)
_DIRECTIVE = re.compile(r"([+~?-]?)([^:/]*)(.*)", re.DOTALL)
# A domain or an address after a colon, and the lengths of networks; either may be missing.
_HOSTS = re.compile(r"(?::(.*?))?(?:/([0-9]+))?(?://([0-9]+))?", re.DOTALL)
# A macro, or one character that stands for itself. The letters c, r and t are for explanations.
_TOKEN = re.compile(r"%\{[slodiphv](?:0*[1-9][0-9]*)?r?[-.+,/_=]*\}|%[%_-]|[!-$&-~]", re.IGNORECASE)
_LAST_LABEL = re.compile(r"(?!-)[0-9a-z-]+(?<!-)", re.IGNORECASE)


class SpfError(InvalidInput):
    """A text does not hold to the grammar of SPF: receivers take it as a permanent error."""

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
        """Whether it is ``name=value``, which has no qualifier and no place in the order."""
        return self.value.startswith("=")

    @property
    def effective(self) -> str:
        """The qualifier that holds: ``+`` where none is written."""
        return self.qualifier or "+"

    @property
    def target(self) -> str:
        """The domain or the address that it names, as written, without lengths; may be empty."""
        if self.is_modifier or self.name not in ("a", "mx", "ip4", "ip6"):
            return self.value[1:]
        return _hosts(self)[0]

    @property
    def lengths(self) -> tuple[str, str]:
        """The lengths of IPv4 and IPv6 networks that an ``a`` or ``mx`` has; each may be empty."""
        return _hosts(self)[1:]

    @property
    def key(self) -> tuple[str, str]:
        """What two terms have in common that mean the same, apart from the qualifier."""
        if self.is_modifier and self.name not in _NAMING_MODIFIERS:
            return self.name, self.value
        if self.name in _ADDRESS_BITS:
            address, length, _unused = _hosts(self)
            suffix = f"/{length}" if length else ""
            return self.name, str(ipaddress.ip_network(f"{address}{suffix}", strict=False))
        return self.name, folded(self.target) + _lengths_that_count(self)


class Spf(NamedTuple):
    """An SPF record: its terms in their order."""

    terms: tuple[Term, ...]

    def __str__(self) -> str:
        return " ".join([_VERSION, *map(str, self.terms)])

    @property
    def before_all(self) -> tuple[Term, ...]:
        """The terms before the first ``all``, which are those that can decide anything."""
        return self.terms[: self.first_all]

    @property
    def first_all(self) -> int:
        """The place of the first ``all``, or behind the last term where there is none."""
        places = (place for place, term in enumerate(self.terms) if is_all(term))
        return next(places, len(self.terms))

    def modifier(self, name: str) -> Term | None:
        """Return the modifier of that name."""
        found = (term for term in self.terms if term.is_modifier and term.name == name)
        return next(found, None)


def is_spf(text: str) -> bool:
    """Tell whether a text announces itself as SPF (RFC 7208, 4.5), well formed or not."""
    return text[: len(_VERSION)].lower() == _VERSION and text[len(_VERSION) :][:1] in ("", " ")


def is_all(term: Term) -> bool:
    """Tell whether a term is the mechanism ``all``, which ends the evaluation."""
    return term.name == "all" and not term.is_modifier


def has_macro(name: str) -> bool:
    """Tell whether a domain depends on who sends, or has characters that macros stand for."""
    return "%" in name


def folded(name: str) -> str:
    """Return a domain as it is compared: in one case and without the dot at the end.

    The letter of a macro keeps its case, which tells whether its value is escaped for URLs.
    """
    name = name.removesuffix(".")
    return name if has_macro(name) else name.lower()


def parse(text: str) -> Spf:
    """Return the terms of an SPF record.

    :raises SpfError: it is none, or a term is wrong; the sentence names the term and the remedy
    """
    if not is_spf(text):
        raise SpfError(
            f"{_shown(text)} is not an SPF record. Begin it with {_VERSION} and a space."
        )
    spf = Spf(tuple(_term(word) for word in text[len(_VERSION) :].split(" ") if word))
    _check_repeated(spf.terms)
    return spf


def _term(word: str) -> Term:
    if any(not "!" <= character <= "~" for character in word):
        _fail(word, "has a character that SPF does not allow. Use visible ASCII only.")
    modifier = _MODIFIER.fullmatch(word)
    if modifier:
        term = Term("", modifier[1].lower(), modifier[2], word)
        _check_modifier(term)
        return term
    qualifier, name, value = _parts(_DIRECTIVE, word)
    term = Term(qualifier, name.lower(), value, word)
    _CHECKS.get(term.name, _check_unknown)(term)
    return term


def _check_repeated(terms: Iterable[Term]) -> None:
    seen = set()
    for term in terms:
        if not term.is_modifier or term.name not in _NAMING_MODIFIERS:
            continue
        if term.name in seen:
            _fail(str(term), f"is a second {term.name}=. Leave only one of them.")
        seen.add(term.name)


def _check_modifier(term: Term) -> None:
    if term.name in _NAMING_MODIFIERS:
        _check_domain(term, term.value[1:])
    else:
        _check_macros(term, term.value[1:])


def _check_all(term: Term) -> None:
    if term.value:
        _fail(str(term), f"has more than a qualifier. Write {term.qualifier}all.")


def _check_named(term: Term) -> None:
    """Check an include or exists, after which a domain has to follow."""
    if not term.value.startswith(":"):
        _fail(str(term), f"names no domain. Write {term.name}: and the domain.")
    _check_domain(term, term.value[1:])


def _check_ptr(term: Term) -> None:
    if term.value:
        _check_named(term)


def _check_hosts(term: Term) -> None:
    """Check an a or mx, after which a domain may follow, and lengths of networks."""
    matched = _HOSTS.fullmatch(term.value)
    if not matched:
        example = f"{term.name}:example.com/24"
        _fail(str(term), f"cannot be read. Write it like {example}.")
    if matched[1] is not None:
        _check_domain(term, matched[1])
    _check_length(term, matched[2], 32)
    _check_length(term, matched[3], 128)


def _check_network(term: Term) -> None:
    bits = _ADDRESS_BITS[term.name]
    address, length, second = _hosts(term) if _HOSTS.fullmatch(term.value) else ("", "", "")
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
    # Long numbers are never turned into integers, which would take its time.
    if digits and not (len(digits) <= 3 and str(int(digits)) == digits and int(digits) <= most):
        _fail(str(term), f"has a network length that is not 0 to {most}. Correct the number.")


def _check_unknown(term: Term) -> None:
    word = str(term)
    rest = word[len(term.qualifier) :]
    remedy = "Correct its name, or remove it."
    for name, bits in _ADDRESS_BITS.items():
        if _is_address(rest.partition("/")[0], bits):
            remedy = f"Write {term.qualifier}{name}:{rest}."
    if word.endswith((",", ";")):
        remedy = "Separate terms by spaces only."
    _fail(word, f"is no mechanism of SPF. {remedy}")


def _check_domain(term: Term, name: str) -> None:
    tokens = _check_macros(term, name)
    if tokens and len(tokens[-1]) > 1:
        return
    name = name.removesuffix(".")
    _rest, dot, last = name.rpartition(".")
    if not dot or not _LAST_LABEL.fullmatch(last) or last.isdigit():
        _fail(str(term), "names no full domain. Write one such as mail.example.com.")
    if not has_macro(name) and not _fits(name):
        _fail(
            str(term),
            f"names a domain that DNS cannot hold. Its labels have 1 to {_LONGEST_LABEL} "
            f"characters, and all of it at most {_LONGEST_NAME}.",
        )


def _fits(name: str) -> bool:
    labels = name.split(".")
    return len(name) <= _LONGEST_NAME and all(0 < len(label) <= _LONGEST_LABEL for label in labels)


def _check_macros(term: Term, text: str) -> list[str]:
    """Return the macros and characters of a text."""
    tokens = _TOKEN.findall(text)
    if "".join(tokens) != text:
        _fail(
            str(term),
            "has a macro that SPF does not know. Write it like %{d} or %{ir}, "
            "with one of the letters s, l, o, d, i, p, h and v; a percent sign is %%.",
        )
    return tokens


def _hosts(term: Term) -> tuple[str, str, str]:
    """Return the target of a term that was checked, and both lengths; each may be empty."""
    target, length, second = _parts(_HOSTS, term.value)
    return target, length, second


def _lengths_that_count(term: Term) -> str:
    """Return the lengths of an ``a`` or ``mx`` where they are not those of single addresses."""
    if term.name not in ("a", "mx"):
        return ""
    _unused, length, second = _hosts(term)
    first = f"/{length}" if length not in ("", "32") else ""
    return first + (f"//{second}" if second not in ("", "128") else "")


def _parts(pattern: re.Pattern[str], text: str) -> list[str]:
    """Return the groups of a pattern that matches every text it is used for."""
    matched = pattern.fullmatch(text)
    return [group or "" for group in matched.groups()] if matched else ["", "", ""]


def _shown(text: str) -> str:
    """Return a text in quotes, on one line, in ASCII and not too long."""
    short = text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}..."
    return json.dumps(short)


def _fail(word: str, problem: str) -> NoReturn:
    raise SpfError(f"The SPF term {_shown(word)} {problem}")


_NAMING_MODIFIERS = ("redirect", "exp")
_CHECKS: dict[str, Callable[[Term], None]] = {
    "all": _check_all,
    "include": _check_named,
    "exists": _check_named,
    "ptr": _check_ptr,
    "a": _check_hosts,
    "mx": _check_hosts,
    "ip4": _check_network,
    "ip6": _check_network,
}
