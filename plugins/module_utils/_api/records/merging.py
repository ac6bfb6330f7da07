# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""The service's SPF terms into the record that a domain has, and out of it again.

A domain has one SPF record, and what stands in it is its owner's. So only the service's mechanisms
are put in or taken out; all other terms stay as they are written and in their order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from ..errors import Refused
from .spf import Spf, Term, is_all, is_spf, parse

Meaning = tuple[str, tuple[str, str]]

# Resolvers are sure to get an answer by UDP up to here (RFC 7208, 3.4).
_LONGEST_BY_UDP = 450
_DECIDE = (
    "They contradict each other, so decide which one holds, add to it what you need of the others, "
    "and remove the others."
)


class SpfConflict(Refused):
    """The records at the name can't be merged without their owner's decision."""


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
    spf = _the_only(there, asked, _merged)
    merged = _merged(spf, asked)
    return there[0] if merged == spf else str(merged)


def withdraw(current: Sequence[str], wanted: str) -> str | None:
    """Return the SPF record without the mechanisms of ``wanted``.

    It is the very text that is there where nothing is to do, and None where there is nothing to
    keep: no record, or no more than what the service had around its mechanisms.

    :param current: the TXT records at the name; those that are not SPF do not matter
    :raises SpfConflict: there are several SPF records
    :raises SpfError: a record is malformed
    """
    there = _records(current)
    if not there:
        return None
    asked = parse(wanted)
    spf = _the_only(there, asked, _without)
    kept = _without(spf, asked)
    if kept == spf:
        return there[0]
    return str(kept) if _meanings(kept) - _meanings(asked) else None


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


def _merged(spf: Spf, wanted: Spf) -> Spf:
    """Return a record with the mechanisms of another before its first ``all``."""
    mine = {term.key: term for term in mechanisms(wanted)}
    _check_agreement(spf, wanted, mine)
    kept: list[Term] = []
    for place, term in enumerate(spf.terms):
        if term.key in mine and place > spf.first_all:
            continue  # Nobody reads it there, so it is put in anew below.
        if term.key in mine and term.key in {other.key for other in kept}:
            continue
        kept.append(term)
    held = {term.key for term in kept}
    missing = [term for key, term in mine.items() if key not in held]
    place = _end_of_mechanisms(kept)
    return Spf((*kept[:place], *missing, *kept[place:]))


def _end_of_mechanisms(terms: Sequence[Term]) -> int:
    """Return the place before the first ``all``; without one, behind the last mechanism.

    A modifier has no place in the evaluation, but people read ``redirect=`` as the end.
    """
    first_all = Spf(tuple(terms)).first_all
    if first_all < len(terms):
        return first_all
    return max((place for place, term in enumerate(terms, 1) if not term.is_modifier), default=0)


def _check_agreement(spf: Spf, wanted: Spf, mine: dict[tuple[str, str], Term]) -> None:
    """Refuse where a record says otherwise of what the service asks for."""
    for term in spf.terms:
        ours = mine.get(term.key)
        if ours and ours.effective != term.effective:
            raise SpfConflict(
                f"The SPF record has {term} where the service asks for {ours}. Replace {term} by "
                f"{ours} in it, or remove {term}."
            )
    held = {term.key for term in spf.terms}
    for term in wanted.terms:
        if term.is_modifier and term.key not in held:
            raise SpfConflict(
                f"The service asks for {term}, which can't be merged with an SPF record that says "
                f"otherwise. Add {term} to it, or remove that record."
            )


def _meaning(term: Term) -> Meaning:
    return term.effective, term.key


def _meanings(spf: Spf) -> set[Meaning]:
    return {_meaning(term) for term in spf.terms}


def _the_only(texts: Sequence[str], wanted: Spf, change: Callable[[Spf, Spf], Spf]) -> Spf:
    """Return the record, or refuse and name the one that can stand in for several.

    :param change: what is to be done to it for the sake of ``wanted``
    """
    records = [parse(text) for text in texts]
    if len(records) == 1:
        return records[0]
    problem = f"There are {len(texts)} SPF records, and receivers then heed none of them."
    try:
        remedy = _replacement(records, wanted, change)
    except SpfConflict:
        remedy = _DECIDE
    raise SpfConflict(f"{problem} {remedy}")


def _replacement(records: Sequence[Spf], wanted: Spf, change: Callable[[Spf, Spf], Spf]) -> str:
    """Return the sentence that names the one record to publish, or says who has to decide."""
    # What the service's own record says of everybody else is not the owner's word.
    owners = [spf for spf in records if _meanings(spf) != _meanings(wanted)] or records
    one = _united(owners)
    if one is None:
        return _DECIDE
    softened = len(_everybody_else(owners)) > 1
    choice = ", with the ~all of one of them and not the -all of another" if softened else ""
    return f"Replace them by this one{choice}: {change(one, wanted)}"


def _without(spf: Spf, wanted: Spf) -> Spf:
    mine = {_meaning(term) for term in mechanisms(wanted)}
    return Spf(tuple(term for term in spf.terms if _meaning(term) not in mine))


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
