# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""The service's SPF terms into the record that a domain has, and out of it again.

A domain has one SPF record, and it belongs to the domain's owner. So only the service's mechanisms
are put in or taken out; every other byte stays, spaces included.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence

from ..errors import InvalidInput, Refused
from .spf import Spf, Term, is_all, is_spf, parse

Meaning = tuple[str, tuple[str, str]]

# Resolvers are sure to get an answer by UDP up to here (RFC 7208, 3.4).
_LONGEST_BY_UDP = 450
_DECIDE = (
    "They contradict each other, so decide which one holds, add to it what you need of the others, "
    "and remove the others."
)


class SpfConflict(Refused):
    """The records at the name can't be merged without their owner's decision.

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
    """Return the SPF record to publish: what is there, with the mechanisms of ``wanted`` in it.

    It is the very text that is there where nothing is to do.

    :param current: the TXT records at the name; those that are not SPF do not matter
    :raises SpfConflict: there are several SPF records, or one that says otherwise of the same
    :raises SpfError: a record is malformed
    """
    there = _records(current)
    if not there:
        return wanted
    asked = parse(wanted)
    return _merged(_the_only(there, asked, _merged), asked)


def proposal(current: Sequence[str], wanted: str) -> str | None:
    """Return the record to publish instead of the current ones, or None if there is none."""
    try:
        return merge(current, wanted)
    except SpfConflict as conflict:
        return conflict.replacement
    except InvalidInput:
        return None


def withdraw(current: Sequence[str], wanted: str) -> str | None:
    """Return the SPF record without the mechanisms of ``wanted``.

    The text is unchanged if it has none of them. Return None if there is no record, or if it is the
    service's own.

    :param current: the TXT records at the name; those that are not SPF do not matter
    :raises SpfConflict: there are several SPF records
    :raises SpfError: a record is malformed
    """
    there = _records(current)
    if not there:
        return None
    asked = parse(wanted)
    text = _the_only(there, asked, _without)
    return None if _in_the_same_words(text, wanted) else _without(text, asked)


def moved_before(text: str, ours: Collection[tuple[str, str]], place: int) -> str:
    """Return a record with the service's mechanisms before the term at a place.

    :param ours: the keys of the service's mechanisms
    """
    terms = parse(text).terms
    dropped = {number for number, term in enumerate(terms) if term.key in ours}
    added = dict.fromkeys(str(terms[number]) for number in sorted(dropped))
    return _rewritten(text, dropped, list(added), place)


def size_advice(text: str) -> str | None:
    """Return what is to be said of a record's length, if anything is."""
    size = len(text.encode("utf-8", "surrogateescape"))
    if size <= _LONGEST_BY_UDP:
        return None
    return (
        f"The SPF record has {size} bytes, and above {_LONGEST_BY_UDP} some receivers get it late "
        "or not at all. Remove terms that no mail of yours needs."
    )


def mechanisms(spf: Spf) -> list[Term]:
    """Return the terms that are put in and taken out: all but modifiers and ``all``."""
    return [term for term in spf.terms if not term.is_modifier and not is_all(term)]


def lacking(wanted: Spf, held: Iterable[Term]) -> list[Term]:
    """Return the mechanisms of a record that are not among the terms of another."""
    keys = {term.key for term in held}
    return [term for term in mechanisms(wanted) if term.key not in keys]


def _records(texts: Iterable[str]) -> list[str]:
    return [text for text in texts if is_spf(text)]


def _merged(text: str, wanted: Spf) -> str:
    """Return a record with the mechanisms of another before its first ``all``."""
    spf = parse(text)
    mine = {term.key: term for term in mechanisms(wanted)}
    _check_agreement(spf, wanted, mine)
    held: set[tuple[str, str]] = set()
    dropped: set[int] = set()
    for place, term in enumerate(spf.terms):
        if term.key in mine:
            # Receivers ignore terms after `all`, so the term moves before it.
            if place > spf.first_all or term.key in held:
                dropped.add(place)
            else:
                held.add(term.key)
    missing = [str(term) for key, term in mine.items() if key not in held]
    place = _end_of_mechanisms(spf)
    merged = _rewritten(text, dropped, missing, place)
    if missing and _in_the_same_words(merged, str(wanted)):
        # An explicit + keeps the owner's record apart from the service's, which `withdraw` deletes.
        missing[0] = f"+{missing[0].removeprefix('+')}"
        merged = _rewritten(text, dropped, missing, place)
    return merged


def _in_the_same_words(text: str, other: str) -> bool:
    return text.lower().split() == other.lower().split()


def _rewritten(text: str, dropped: set[int], added: Sequence[str], place: int) -> str:
    """Return a record without some terms and with others at a place, the rest as it is written.

    :param dropped: the places of terms
    :param place: where the others go: before the term at this place, or behind the last one
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


def _end_of_mechanisms(spf: Spf) -> int:
    """Return the place before the first ``all``; without one, behind the last mechanism.

    A modifier has no place in the evaluation, but people read ``redirect=`` as the end.
    """
    if spf.first_all < len(spf.terms):
        return spf.first_all
    return max(
        (place for place, term in enumerate(spf.terms, 1) if not term.is_modifier), default=0
    )


def _check_agreement(spf: Spf, wanted: Spf, mine: dict[tuple[str, str], Term]) -> None:
    """Refuse where a record says otherwise of what the service asks for."""
    for term in spf.terms:
        ours = mine.get(term.key)
        if ours and ours.effective != term.effective:
            raise SpfConflict(
                f"The SPF record has {term} where the service asks for {ours}.",
                f"Replace {term} by {ours} in it, or remove {term}.",
            )
    held = {term.key for term in spf.terms}
    for term in wanted.terms:
        if term.is_modifier and term.key not in held:
            raise SpfConflict(
                f"The service asks for {term}, which can't be merged with an SPF record that says "
                "otherwise.",
                f"Add {term} to it, or remove that record.",
            )


def _meaning(term: Term) -> Meaning:
    return term.effective, term.key


def _meanings(spf: Spf) -> set[Meaning]:
    return {_meaning(term) for term in spf.terms}


def _the_only(texts: Sequence[str], wanted: Spf, change: Callable[[str, Spf], str]) -> str:
    """Return the only record. Raise SpfConflict, with a replacement, if there are several.

    :param change: what is to be done to it for the sake of ``wanted``
    """
    records = [parse(text) for text in texts]
    if len(records) == 1:
        return texts[0]
    problem = f"There are {len(texts)} SPF records, and receivers then ignore all of them."
    try:
        remedy, replacement = _replacement(records, wanted, change)
    except SpfConflict:
        remedy, replacement = _DECIDE, None
    raise SpfConflict(problem, remedy, replacement)


def _replacement(
    records: Sequence[Spf], wanted: Spf, change: Callable[[str, Spf], str]
) -> tuple[str, str | None]:
    """Return the sentence with the one record to publish, and that record, if there is one."""
    # What the service's own record says of everybody else is not the owner's word.
    owners = [spf for spf in records if _meanings(spf) != _meanings(wanted)] or records
    one = _united(owners)
    if one is None:
        return _DECIDE, None
    softened = len(_everybody_else(owners)) > 1
    choice = ", with the ~all of one of them and not the -all of another" if softened else ""
    replacement = change(str(one), wanted)
    return f"Replace them by this one{choice}: {replacement}", replacement


def _without(text: str, wanted: Spf) -> str:
    mine = {_meaning(term) for term in mechanisms(wanted)}
    terms = enumerate(parse(text).terms)
    dropped = {place for place, term in terms if _meaning(term) in mine}
    return _rewritten(text, dropped, (), 0)


def _united(records: Sequence[Spf]) -> Spf | None:
    """Return one record that says what all of them say, or None where they contradict."""
    terms = [term for spf in records for term in mechanisms(Spf(spf.before_all))]
    by_key = {term.key: term for term in terms}
    last = _last_word(records)
    if last is None or len(set(map(_meaning, terms))) > len(by_key):
        return None
    extra = {term.key: term for spf in records for term in spf.terms if _is_extra(term)}
    if len({name for name, _value in extra}) < len(extra):
        return None
    return Spf((*by_key.values(), *last, *extra.values()))


def _last_word(records: Sequence[Spf]) -> tuple[Term, ...] | None:
    """Return what the records say of everybody else, or None where they contradict."""
    said = _everybody_else(records)
    if len(said) <= 1:
        return tuple(said.values())
    qualifiers = {term.effective: term for term in said.values() if is_all(term)}
    # Of these two, the one that has no mail refused is what a person would try first.
    if len(qualifiers) == len(said) and qualifiers.keys() <= {"-", "~"}:
        return (qualifiers["~"],)
    return None


def _everybody_else(records: Sequence[Spf]) -> dict[Meaning, Term]:
    endings = [
        spf.terms[spf.first_all] if spf.first_all < len(spf.terms) else spf.modifier("redirect")
        for spf in records
    ]
    return {_meaning(term): term for term in endings if term}


def _is_extra(term: Term) -> bool:
    return term.is_modifier and term.name != "redirect"
