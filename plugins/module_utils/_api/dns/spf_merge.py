# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Merge the service's SPF terms into a domain's record, and withdraw them from it.

A domain has one SPF record, which belongs to its owner. So only the service's mechanisms are added
or removed; every other byte stays, spaces included.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence

from ..errors import Refused
from . import messages
from .spf import Spf, Term, is_all, is_spf, parse

Meaning = tuple[str, tuple[str, str]]

# Resolvers reliably get an answer by UDP up to this size (RFC 7208, 3.4).
_MAX_BYTES = 450


class SpfConflict(Refused):
    """The records at a name can't be merged without their owner's decision.

    :param problem: what is wrong, in one sentence
    :param remedy: what to do, in one sentence
    :param replacement: the one record that can replace several, if there is one
    """

    code = "spf_conflict"

    def __init__(self, problem: str, remedy: str, replacement: str | None = None) -> None:
        super().__init__(f"{problem} {remedy}")
        self.problem = problem
        self.remedy = remedy
        self.replacement = replacement


def merge(current: Sequence[str], wanted: str) -> str:
    """Return the SPF record to publish: the current one with the mechanisms of another.

    The text is unchanged if nothing is missing.

    :param current: the TXT records at the name; others than SPF are ignored
    :raises SpfConflict: there are several SPF records, or one that contradicts the other
    :raises SpfError: a record is malformed
    """
    records = [text for text in current if is_spf(text)]
    if not records:
        return wanted
    asked = parse(wanted)
    return _merged(_only(records, asked, _merged), asked)


def withdraw(current: Sequence[str], wanted: str) -> str | None:
    """Return the SPF record without the mechanisms of another.

    The text is unchanged if it has none of them. Return None if there is no record, or if it is the
    service's own.

    :param current: the TXT records at the name; others than SPF are ignored
    :raises SpfConflict: there are several SPF records
    :raises SpfError: a record is malformed
    """
    records = [text for text in current if is_spf(text)]
    if not records:
        return None
    asked = parse(wanted)
    text = _only(records, asked, _without)
    return None if _has_same_words(text, wanted) else _without(text, asked)


def moved_before(text: str, ours: Collection[tuple[str, str]], place: int) -> str:
    """Return a record with the service's mechanisms before the term at a place.

    :param ours: the keys of the service's mechanisms
    """
    terms = parse(text).terms
    dropped = {number for number, term in enumerate(terms) if term.key in ours}
    added = dict.fromkeys(str(terms[number]) for number in sorted(dropped))
    return _rewritten(text, dropped, list(added), place)


def size_advice(text: str) -> tuple[str, ...]:
    """Return advice on a record that is too long for one UDP answer."""
    size = len(text.encode("utf-8", "surrogateescape"))
    return (messages.text("spf_size", size=size, most=_MAX_BYTES),) if size > _MAX_BYTES else ()


def mechanisms(spf: Spf) -> list[Term]:
    """Return the terms that are merged and withdrawn: all but modifiers and ``all``."""
    return [term for term in spf.terms if not term.is_modifier and not is_all(term)]


def lacking(wanted: Spf, held: Iterable[Term]) -> list[Term]:
    """Return the mechanisms of a record that are not among some terms."""
    keys = {term.key for term in held}
    return [term for term in mechanisms(wanted) if term.key not in keys]


def _merged(text: str, wanted: Spf) -> str:
    """Return a record with the mechanisms of another before its first ``all``."""
    spf = parse(text)
    ours = {term.key: term for term in mechanisms(wanted)}
    for term in spf.terms:
        mine = ours.get(term.key)
        if mine and mine.effective != term.effective:
            raise SpfConflict(*messages.pair("spf_other_qualifier", term=term, ours=mine))
    keys = {term.key for term in spf.terms}
    for term in wanted.terms:
        if term.is_modifier and term.key not in keys:
            raise SpfConflict(*messages.pair("spf_modifier", term=term))
    held: set[tuple[str, str]] = set()
    dropped: set[int] = set()
    for place, term in enumerate(spf.terms):
        if term.key in ours:
            # Receivers ignore terms after `all`, so the term moves before it.
            if place > spf.first_all or term.key in held:
                dropped.add(place)
            else:
                held.add(term.key)
    missing = [str(term) for key, term in ours.items() if key not in held]
    place = spf.first_all
    if place == len(spf.terms):
        # A modifier has no position in the evaluation, but people read ``redirect=`` as the end.
        places = [n for n, term in enumerate(spf.terms, 1) if not term.is_modifier]
        place = max(places, default=0)
    merged = _rewritten(text, dropped, missing, place)
    if missing and _has_same_words(merged, str(wanted)):
        # An explicit + keeps the owner's record apart from the service's, which `withdraw` deletes.
        missing[0] = f"+{missing[0].removeprefix('+')}"
        merged = _rewritten(text, dropped, missing, place)
    return merged


def _without(text: str, wanted: Spf) -> str:
    ours = {_meaning(term) for term in mechanisms(wanted)}
    terms = enumerate(parse(text).terms)
    dropped = {place for place, term in terms if _meaning(term) in ours}
    return _rewritten(text, dropped, (), 0)


def _has_same_words(text: str, other: str) -> bool:
    return text.lower().split() == other.lower().split()


def _rewritten(text: str, dropped: set[int], added: Sequence[str], place: int) -> str:
    """Return a record without some terms and with others at a place, the rest as it is written.

    :param dropped: the places of terms
    :param place: the others go before the term at this place, or after the last one
    """
    words = list(re.finditer("[^ ]+", text))
    parts = [text[: words[0].end()]]
    # A dropped term takes the space after it along, because an added term brings one.
    left = ""
    for number, word in enumerate(words[1:]):
        spaces = left or text[words[number].end() : word.start()]
        if number == place:
            parts += [spaces + term for term in added[:1]] + [f" {term}" for term in added[1:]]
            spaces = " " if added else spaces
        left = spaces if number in dropped else ""
        if not left:
            parts.append(spaces + word.group())
    if place >= len(words) - 1:
        parts += [f" {term}" for term in added]
    return "".join(parts) + text[words[-1].end() :]


def _meaning(term: Term) -> Meaning:
    return term.effective, term.key


def _only(texts: Sequence[str], wanted: Spf, change: Callable[[str, Spf], str]) -> str:
    """Return the only record.

    :param change: what the caller does with it
    :raises SpfConflict: there are several; with the changed record that could replace them
    """
    records = [parse(text) for text in texts]
    if len(records) == 1:
        return texts[0]
    # The service's own record is not the owner's decision.
    ours = set(map(_meaning, wanted.terms))
    owners = [spf for spf in records if set(map(_meaning, spf.terms)) != ours] or records
    united, endings = _united(owners), _endings(owners)
    problem, decide = messages.pair("spf_undecided", number=len(texts))
    if united is None:
        raise SpfConflict(problem, decide)
    try:
        replacement = change(str(united), wanted)
    except SpfConflict:
        raise SpfConflict(problem, decide) from None
    choice = messages.text("spf_softened") if len(endings) > 1 else ""
    remedy = messages.text("spf_replace_all", choice=choice, replacement=replacement)
    raise SpfConflict(problem, remedy, replacement)


def _united(records: Sequence[Spf]) -> Spf | None:
    """Return one record with the meaning of all, or None if they contradict each other."""
    terms = [term for spf in records for term in mechanisms(Spf(spf.before_all))]
    by_key = {term.key: term for term in terms}
    if len(set(map(_meaning, terms))) > len(by_key):
        return None
    endings = _endings(records)
    last = tuple(endings.values())
    if len(endings) > 1:
        qualifiers = {term.effective: term for term in last if is_all(term)}
        # Of ~all and -all, the one that refuses no mail is the safe choice.
        if len(qualifiers) < len(endings) or not qualifiers.keys() <= {"-", "~"}:
            return None
        last = (qualifiers["~"],)
    modifiers = [term for spf in records for term in spf.terms if term.is_modifier]
    extra = {term.key: term for term in modifiers if term.name != "redirect"}
    if len({name for name, _value in extra}) < len(extra):
        return None
    return Spf((*by_key.values(), *last, *extra.values()))


def _endings(records: Sequence[Spf]) -> dict[Meaning, Term]:
    """Return what records decide about all other senders."""
    endings = [
        spf.terms[spf.first_all] if spf.first_all < len(spf.terms) else spf.modifier("redirect")
        for spf in records
    ]
    return {_meaning(term): term for term in endings if term}
