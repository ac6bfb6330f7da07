# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Planning that a domain's DNS records are published, or withdrawn. Pure: nothing is asked.

Other people's records at the same names stay as they are, byte for byte.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import NamedTuple

from ..errors import InvalidInput, Refused, TooExpensive
from ..records import dkim, merging, spf
from ..records.sets import Key, Mx, RecordSet, Txt, Value, as_lines, texts_of, txt
from .changes import Action, shown

CurrentSets = Mapping[Key, RecordSet]
#: Counts the look-ups of an SPF record: see ``weighing.weigher``.
Weigh = Callable[[str, "str | None", str], Sequence[str]]
_Values = tuple[Value, ...]
_NO_TEXTS: Mapping[str, Sequence[str]] = MappingProxyType({})


class SetChange(NamedTuple):
    """One record set's way from what it is to what it is to be.

    :param before: the whole set; None where there is none
    :param after: the whole set; None where it is to go
    :param reason: a clause
    """

    action: Action
    before: RecordSet | None
    after: RecordSet | None
    reason: str

    @property
    def subject(self) -> RecordSet:
        """The record set, as it is to be or as it was."""
        subject = self.after or self.before
        if subject is None:
            raise ValueError("a change is about something")
        return subject

    def as_dict(self) -> dict[str, str]:
        """Return it as a module shows it."""
        return shown(self.action, "record set", self.subject, self.reason)


class Publication(NamedTuple):
    """What is to be written.

    :param changes: at most one a record set, in the service's order
    :param warnings: sentences on what is kept and may be in the way
    :param refused: sentences on record sets that are left alone though they lack something, by key
    """

    changes: tuple[SetChange, ...] = ()
    warnings: tuple[str, ...] = ()
    refused: Mapping[Key, str] = MappingProxyType({})


class _Draft(NamedTuple):
    """What becomes of the values of a set; without reasons they are as they were."""

    values: _Values
    reasons: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    def then(self, step: _Draft) -> _Draft:
        """Return what becomes of it by one step more."""
        reasons, warnings = self.reasons + step.reasons, self.warnings + step.warnings
        return _Draft(step.values, reasons, warnings)


def plan_presence(
    wanted: Sequence[RecordSet],
    current: CurrentSets,
    aliases: Mapping[str, str],
    behind: Mapping[str, Sequence[str]] = _NO_TEXTS,
    covered: Collection[str] = (),
    weigh: Weigh = lambda _name, _before, _after: (),
) -> Publication:
    """Plan that the service's records are there.

    :param current: what is at the names now, by name and type
    :param aliases: where the CNAME records at the names lead to
    :param behind: the texts there, by the same names, as far as they are known. An alias that
        leads to the service's key is as good as the key
    :param covered: names that have addresses by a wildcard, and nothing of their own
    :param weigh: counts the look-ups of an SPF record before it is written or suggested
    :raises Refused: something is there that only its owner can decide on
    """
    free = [record_set for record_set in wanted if record_set.name not in aliases]
    barred = [
        record_set.name
        for record_set in wanted
        if record_set.name in aliases and not _leads(behind.get(record_set.name, ()), record_set)
    ]
    problems = [
        f"{name}: the name is an alias (CNAME) of {aliases[name]}, and nothing else can be at it. "
        "Delete the CNAME record first."
        for name in dict.fromkeys(barred)
    ]
    publication = _plan(free, current, partial(_with, weigh=weigh), problems)
    warnings = publication.warnings + tuple(map(_uncovered, covered))
    return publication._replace(warnings=warnings)


def plan_absence(
    wanted: Sequence[RecordSet], current: CurrentSets, aliases: Mapping[str, str]
) -> Publication:
    """Plan that the service's records are gone, and nothing else.

    :param current: what is at the names now, by name and type
    :param aliases: where the CNAME records at the names lead to; such names are left alone
    :raises Refused: something is there that only its owner can decide on
    """
    free = [record_set for record_set in wanted if record_set.name not in aliases]
    return _plan(free, current, _without, [])


def as_diff(publication: Publication) -> list[dict[str, str]]:
    """Return before and after as lines of a zone file, one pair a change."""
    return [
        {
            "before_header": f"record set {change.subject}",
            "after_header": f"record set {change.subject}",
            "before": as_lines([change.before] if change.before else []),
            "after": as_lines([change.after] if change.after else []),
        }
        for change in publication.changes
    ]


def _leads(texts: Sequence[str], wanted: RecordSet) -> bool:
    """Tell whether these texts are those of a key that is wanted."""
    return all(
        isinstance(value, Txt)
        and dkim.is_key(value.text)
        and dkim.compare(value.text, texts).status == "match"
        for value in wanted.values
    )


def _uncovered(name: str) -> str:
    return (
        f"{name} has addresses by a wildcard only, which ends where a name has records of its "
        f"own. Add A or AAAA records at {name} if it is used for more than mail."
    )


def _plan(
    wanted: Sequence[RecordSet],
    current: CurrentSets,
    rule: Callable[[RecordSet, RecordSet], _Draft],
    problems: list[str],
) -> Publication:
    """Return what a rule makes of each set; all that stands against it is told at once."""
    changes: list[SetChange] = []
    warnings: list[str] = []
    refused: dict[Key, str] = {}
    for record_set in wanted:
        empty = record_set._replace(values=())
        before = current.get(record_set.key, empty)
        try:
            draft = rule(record_set, before)
        except TooExpensive as error:
            refused[record_set.key] = str(error)
            continue
        except (InvalidInput, Refused) as error:
            problems.append(f"{record_set}: {error}")
            continue
        warnings += [f"{record_set}: {warning}" for warning in draft.warnings]
        changes += _change(record_set, before, draft)
    if problems:
        raise Refused(" ".join(problems))
    return Publication(tuple(changes), tuple(warnings), refused)


def _change(wanted: RecordSet, before: RecordSet, draft: _Draft) -> Iterator[SetChange]:
    ours = set(draft.values) <= set(wanted.values)
    # What holds other people's records as well keeps their time to live.
    after = before._replace(values=draft.values, ttl=wanted.ttl if ours else before.ttl)
    reasons = list(draft.reasons)
    if before.values and after.values and before.ttl != after.ttl:
        reasons.append(f"its TTL is {before.ttl} in place of {after.ttl} seconds")
    if not reasons:
        return
    reason = ", ".join(reasons)
    if not before.values:
        yield SetChange("create", None, after, reason)
    elif not after.values:
        yield SetChange("delete", before, None, reason)
    else:
        yield SetChange("update", before, after, reason)


def _with(wanted: RecordSet, before: RecordSet, *, weigh: Weigh) -> _Draft:
    """Return a set's values with the service's among them."""
    draft = _Draft(before.values)
    for value in wanted.values:
        if isinstance(value, Txt) and spf.is_spf(value.text):
            draft = draft.then(_with_spf(draft.values, value, partial(weigh, wanted.name)))
        else:
            draft = draft.then(_with_value(draft.values, value, wanted.values))
    return draft._replace(warnings=(*draft.warnings, *_rivals(wanted, before)))


def _with_value(values: _Values, wanted: Value, ours: _Values) -> _Draft:
    if isinstance(wanted, Mx):
        return _with_mx(values, wanted, ours)
    if dkim.is_key(wanted.text):
        return _with_key(values, wanted, ours)
    if wanted.text in texts_of(values):
        return _Draft(values)
    return _Draft((*values, wanted), ("it lacks a text of the service",))


def _with_mx(values: _Values, wanted: Mx, ours: _Values) -> _Draft:
    """Return the values with a mail server in one priority and no other."""
    hosts = [value for value in values if isinstance(value, Mx)]
    if any(not value.exchange for value in hosts):
        raise Refused(
            "a null MX record (0 .) says that the domain takes no mail. Delete it first if the "
            "domain is to receive mail."
        )
    moved = [v for v in hosts if v.exchange == wanted.exchange and v not in ours]
    kept = tuple(value for value in values if value not in moved)
    priority = f"is to have priority {wanted.priority} only"
    reasons = [f"its mail server {_named(value)} {priority}" for value in moved]
    if wanted not in kept:
        kept = (*kept, wanted)
        reasons = reasons or [f"it lacks the mail server {_named(wanted)}"]
    return _Draft(kept, tuple(reasons))


def _with_spf(
    values: _Values, wanted: Txt, weigh: Callable[[str | None, str], Sequence[str]]
) -> _Draft:
    """Return the values with the service's terms in the one SPF record."""
    try:
        merged = merging.merge(texts_of(values), wanted.text)
    except merging.SpfConflict as conflict:
        if conflict.replacement:
            try:
                weigh(None, conflict.replacement)
            except TooExpensive as error:
                raise merging.SpfConflict(conflict.problem, str(error)) from None
        raise
    advice = merging.size_advice(merged)
    warnings: tuple[str, ...] = (advice,) if advice else ()
    found = [value for value in _of_text(values) if spf.is_spf(value.text)]
    if not found:
        return _Draft((*values, wanted), ("it lacks the SPF record",), warnings)
    there = found[0]
    if there.text == merged:
        return _Draft(values, (), warnings)
    warnings += tuple(weigh(there.text, merged))
    after = tuple(txt(merged) if value == there else value for value in values)
    return _Draft(after, (_lack(there.text, wanted.text),), warnings)


def _lack(there: str, wanted: str) -> str:
    lacking = merging.lacking(spf.parse(wanted), spf.parse(there).before_all)
    if lacking:
        return f"its SPF record lacks {', '.join(map(str, lacking))}"
    return "its SPF record names the service more than once"


def _with_key(values: _Values, wanted: Txt, ours: _Values) -> _Draft:
    """Return the values with the service's key and no other, for a selector has one."""
    keys = [v for v in _of_text(values) if dkim.is_key(v.text) and (v == wanted or v not in ours)]
    # The same key in other words stays; of several, the one in the service's words.
    same = [key for key in keys if dkim.compare(wanted.text, [key.text]).status == "match"]
    kept = wanted if wanted in same or not same else min(same)
    if keys == [kept]:
        return _Draft(values)
    after = tuple(value for value in values if value == kept or value not in keys)
    if kept in keys:
        return _Draft(after, ("it has other DKIM keys beside the service's",))
    reason = "its DKIM key is not the service's" if keys else "it lacks the DKIM key"
    return _Draft((*after, kept), (reason,))


def _rivals(wanted: RecordSet, before: RecordSet) -> Iterator[str]:
    """Yield what mail servers of others at the name mean."""
    ours = [value for value in wanted.values if isinstance(value, Mx)]
    first = min((mx.priority for mx in ours), default=0)
    hosts = {mx.exchange for mx in ours}
    for value in sorted(mx for mx in before.values if isinstance(mx, Mx)):
        if value.exchange in hosts:
            continue
        effect = "gets mail while the service cannot be reached"
        if value.priority <= first:
            effect = "gets the mail first" if value.priority < first else "gets a part of the mail"
        yield f"{_named(value)} is kept and {effect}. Remove its record unless you want that."


def _without(wanted: RecordSet, before: RecordSet) -> _Draft:
    """Return a set's values without the service's."""
    draft = _Draft(before.values)
    for value in wanted.values:
        draft = draft.then(_without_value(draft.values, value))
    return draft


def _without_value(values: _Values, wanted: Value) -> _Draft:
    if isinstance(wanted, Mx):
        return _dropped(values, [wanted], f"the mail server {_named(wanted)}")
    if spf.is_spf(wanted.text):
        return _without_spf(values, wanted.text)
    texts = _of_text(values)
    if dkim.is_key(wanted.text):
        ours = [v for v in texts if dkim.is_key(v.text) and dkim.same_key(wanted.text, v.text)]
        return _dropped(values, ours, "the service's DKIM key")
    return _dropped(values, [v for v in texts if v.text == wanted.text], "a text of the service")


def _dropped(values: _Values, ours: Sequence[Value], what: str) -> _Draft:
    kept = tuple(value for value in values if value not in ours)
    return _Draft(kept, (f"it is not to have {what}",) if kept != values else ())


def _without_spf(values: _Values, wanted: str) -> _Draft:
    """Return the values with the service's terms in no SPF record, however many there are."""
    records = [value for value in _of_text(values) if spf.is_spf(value.text)]
    exact = [value for value in records if value.text == wanted]
    draft = _dropped(values, exact, "the SPF record")
    for record in records:
        if record not in exact:
            draft = draft.then(_without_terms(draft.values, record, wanted))
    return draft


def _without_terms(values: _Values, record: Txt, wanted: str) -> _Draft:
    try:
        rest = merging.withdraw([record.text], wanted)
    except InvalidInput as error:
        return _Draft(values, (), (f"the SPF record cannot be read and stays as it is. {error}",))
    if rest is None:
        return _dropped(values, [record], "the SPF record")
    if rest == record.text:
        return _Draft(values)
    after = (txt(rest) if value == record else value for value in values)
    values = tuple(dict.fromkeys(after))
    return _Draft(values, ("its SPF record is not to have the service's terms",))


def _of_text(values: _Values) -> list[Txt]:
    return [value for value in values if isinstance(value, Txt)]


def _named(value: Mx) -> str:
    return f"{value.exchange} (priority {value.priority})"
