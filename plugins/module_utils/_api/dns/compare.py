# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Decide whether a record set has a wanted record, and which edit would make it right.

Verifying and publishing both ask here. Records of others are kept byte for byte.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType
from typing import Literal, NamedTuple

from ..errors import InvalidInput
from ..models import DnsRecordSet
from . import dkim, messages, spf, spf_merge
from .messages import Params, join_words
from .rrset import Key, Mx, Txt, Value, texts_of, txt, wanted_sets

Status = Literal["match", "missing", "conflict", "unknown"]
Values = tuple[Value, ...]
_NO_PARAMS: Params = MappingProxyType({})


class Wanted(NamedTuple):
    """One record that the service wants.

    :param name: in full, as A-labels, without a dot at the end
    :param ours: all values that the service wants of the type at the name, this one included
    :param domain: the domain that the record belongs to
    """

    name: str
    value: Value
    ours: Values
    domain: str = ""

    @property
    def type(self) -> str:
        """The record's type."""
        return "MX" if isinstance(self.value, Mx) else "TXT"

    @property
    def key(self) -> Key:
        """The name and type of the record set that it belongs to."""
        return self.name, self.type

    @property
    def text(self) -> str:
        """The text of a TXT record; empty for another."""
        return self.value.text if isinstance(self.value, Txt) else ""

    @property
    def noun(self) -> str:
        """The kind of record in a word: MX, SPF, DKIM or TXT."""
        if isinstance(self.value, Mx):
            return "MX"
        if spf.is_spf(self.text):
            return "SPF"
        return "DKIM" if dkim.is_key(self.text) else "TXT"

    @property
    def params(self) -> dict[str, object]:
        """What the texts about the record need."""
        value = self.value
        params = {"name": self.name, "noun": self.noun, "domain": self.domain}
        if isinstance(value, Mx):
            return {**params, "record": str(value), "host": value.exchange, "priority": value[0]}
        return {**params, "record": f"TXT {self.text}"}


class Comparison(NamedTuple):
    """How a record set compares with a wanted record.

    :param params: what the texts of the code need
    :param held: whether the record itself is published, even among others
    :param values: the values of the set that would make it right; None if only the owner of the
        domain can decide
    :param change: the code of the edit; empty if the values stay as they are
    :param advice: sentences on what is right, but may become wrong
    :param proposal: the SPF record to publish, if the record is one
    """

    status: Status
    code: str
    params: Params = _NO_PARAMS
    held: bool = False
    values: Values | None = None
    change: str = ""
    advice: tuple[str, ...] = ()
    proposal: str | None = None

    @property
    def detail(self) -> str:
        """What was found."""
        return messages.detail(self.code, self.params)

    @property
    def remedy(self) -> str:
        """What to do; empty if nothing is."""
        return messages.remedy(self.code, self.params)


class Removal(NamedTuple):
    """The edit that takes a record out of a set.

    :param change: its code; empty if the values stay as they are
    :param warning: a sentence on what is left in place
    """

    values: Values
    change: str = ""
    warning: str = ""


def wanted_records(record_set: DnsRecordSet) -> tuple[Wanted, ...]:
    """Return each record that the service wants for a domain, in the service's order."""
    sets = {one.key: one.values for one in wanted_sets(record_set, 0)}
    return tuple(
        Wanted(one.name, one.values[0], sets[one.key], record_set.domain.key)
        for record in record_set.records
        for one in wanted_sets(record_set._replace(records=(record,)), 0)
    )


def compare(wanted: Wanted, values: Sequence[Value]) -> Comparison:
    """Compare a wanted record with the current values of its name and type."""
    values = tuple(values)
    if isinstance(wanted.value, Mx):
        return _compare_mx(wanted, wanted.value, values)
    if wanted.noun == "SPF":
        return _compare_spf(wanted, values)
    if wanted.noun == "DKIM":
        return _compare_dkim(wanted, wanted.value, values)
    if wanted.text in texts_of(values):
        return Comparison("match", "present", wanted.params, held=True, values=values)
    return _missing(wanted, values)


def without(wanted: Wanted, values: Values) -> Removal:
    """Return a record set's values without a wanted record, and nothing else removed."""
    if isinstance(wanted.value, Mx):
        ours: list[Value] = [wanted.value]
    elif wanted.noun == "SPF":
        return _without_spf(wanted.text, values)
    elif wanted.noun == "DKIM":
        ours = [v for v in _keys(values) if dkim.same_key(wanted.text, v.text)]
    else:
        ours = [v for v in values if isinstance(v, Txt) and v.text == wanted.text]
    kept = tuple(value for value in values if value not in ours)
    return Removal(kept, f"{wanted.noun.lower()}_withdrawn" if kept != values else "")


def _missing(wanted: Wanted, values: Values) -> Comparison:
    code = f"{wanted.noun.lower()}_missing"
    proposal = wanted.text if wanted.noun == "SPF" else None
    after = (*values, wanted.value)
    return Comparison("missing", code, wanted.params, values=after, change=code, proposal=proposal)


def _compare_mx(wanted: Wanted, ours: Mx, values: Values) -> Comparison:
    """Compare mail servers. One of ours with another priority is moved, those of others stay."""
    found = [value for value in values if isinstance(value, Mx)]
    foreign = sorted(value for value in found if value not in wanted.ours)
    null = [value for value in foreign if not value.exchange]
    moved = [value for value in foreign if value.exchange == ours.exchange]
    reached = [value for value in wanted.ours if value in found]
    # Others get mail if they come first, or if the service cannot be reached at all.
    first = min(value.priority for value in wanted.ours if isinstance(value, Mx))
    rivals = [value for value in foreign if not reached or value.priority <= first]
    held = ours in found
    if held and not foreign:
        return Comparison("match", "present", wanted.params, held=True, values=values)
    if not foreign:
        return _missing(wanted, values)
    after: Values | None = None
    change = ""
    if not null:
        after = tuple(value for value in values if value not in moved)
        after = after if held else (*after, ours)
        change = ("mx_repeated" if held else "mx_priority") if moved else ""
        change = change or ("" if held else "mx_missing")
    in_the_way = null or moved or rivals
    entries = join_words([str(value) for value in in_the_way])
    params = {
        **wanted.params,
        "found": join_words([str(value.priority) for value in moved]),
        "hosts": join_words([f"{mx.exchange} (priority {mx.priority})" for mx in in_the_way]),
        "others": f"the record{'s' * (len(in_the_way) > 1)} {entries}",
        "add": "" if held else f", and add {ours}",
    }
    if null:
        code = "mx_null"
    elif moved:
        code = "mx_repeated" if held or len(moved) > 1 else "mx_priority"
    elif rivals:
        code = "mx_rivals"
    elif held:
        advice = tuple(messages.text("backup", host=mx.exchange, priority=mx[0]) for mx in foreign)
        return Comparison("match", "present", params, held=True, values=values, advice=advice)
    else:
        return _missing(wanted, values)
    return Comparison("conflict", code, params, held=held, values=after, change=change)


def _compare_spf(wanted: Wanted, values: Values) -> Comparison:
    """Compare the one SPF record of a domain, into which the service's terms are merged."""
    found = [v for v in values if isinstance(v, Txt) and spf.is_spf(v.text)]
    if not found:
        return _missing(wanted, values)
    params = wanted.params
    current = found[0].text
    try:
        merged = spf_merge.merge([value.text for value in found], wanted.text)
        policy, asked = spf.parse(current), spf.parse(wanted.text)
    except (spf_merge.SpfConflict, InvalidInput) as error:
        code = "spf_contradicts" if isinstance(error, spf_merge.SpfConflict) else "spf_invalid"
        code = "spf_several" if len(found) > 1 else code
        params |= {"number": len(found), "reason": getattr(error, "remedy", str(error))}
        proposal = getattr(error, "replacement", None)
        return Comparison("conflict", code, params, proposal=proposal)
    if merged == current:
        advice = _spf_advice(wanted.name, policy)
        return Comparison(
            "match", "present", params, held=True, values=values, advice=advice, proposal=merged
        )
    lacking = spf_merge.lacking(asked, policy.terms)
    terms = lacking or spf_merge.mechanisms(asked)
    params |= {"terms": join_words(list(map(str, terms))), "proposal": merged}
    if lacking:
        code = "spf_incomplete"
    elif spf_merge.lacking(asked, policy.before_all):
        code = "spf_after_all"
    else:
        code = "spf_repeated"
    after = tuple(txt(merged) if value == found[0] else value for value in values)
    status: Status = "missing" if lacking else "conflict"
    return Comparison(
        status,
        code,
        params,
        values=after,
        change=code,
        proposal=merged,
    )


def _spf_advice(name: str, policy: spf.Spf) -> tuple[str, ...]:
    """Return advice on the length of an SPF record and its result for all other senders."""
    size = spf_merge.size_advice(str(policy))
    last = policy.terms[policy.first_all :][:1]
    if not last and not policy.modifier("redirect"):
        return (messages.text("spf_no_all", name=name), *size)
    if last and last[0].effective in "+?":
        return (messages.text("spf_open", name=name, term=last[0]), *size)
    return size


def _compare_dkim(wanted: Wanted, ours: Txt, values: Values) -> Comparison:
    """Compare the keys of a selector, which has one. The same key in other words is left alone."""
    others = [value for value in wanted.ours if value != ours]
    keys = [v for v in values if isinstance(v, Txt) and v not in others and _is_key(v, ours)]
    if not keys:
        return _missing(wanted, values)
    same = [key for key in keys if dkim.problem(wanted.text, key.text) is None]
    kept = ours if ours in same or not same else min(same)
    after = tuple(value for value in values if value == kept or value not in keys)
    after = after if kept in keys else (*after, kept)
    if keys == [kept]:
        advice = dkim.advice(wanted.text, kept.text)
        return Comparison("match", "present", wanted.params, held=True, values=after, advice=advice)
    if len(keys) > 1:
        change = "dkim_several" if kept in keys else "dkim_other_key"
        params = {**wanted.params, "number": len(keys)}
        return Comparison("conflict", "dkim_several", params, values=after, change=change)
    code, more = dkim.problem(wanted.text, keys[0].text) or ("dkim_other_text", {})
    params = {**wanted.params, **more}
    return Comparison("conflict", code, params, values=after, change=code)


def _is_key(value: Txt, ours: Txt) -> bool:
    return value.text == ours.text or dkim.is_key(value.text)


def _keys(values: Values) -> list[Txt]:
    return [value for value in values if isinstance(value, Txt) and dkim.is_key(value.text)]


def _without_spf(wanted: str, values: Values) -> Removal:
    """Take the service's terms out of all SPF records, and its own record altogether."""
    change = warning = ""
    for value in [v for v in values if isinstance(v, Txt) and spf.is_spf(v.text)]:
        try:
            rest = None if value.text == wanted else spf_merge.withdraw([value.text], wanted)
        except InvalidInput as error:
            warning = messages.text("spf_unreadable", problem=error)
            continue
        if rest is None:
            values = tuple(other for other in values if other != value)
            change = change or "spf_withdrawn"
        elif rest != value.text:
            edited = (txt(rest) if other == value else other for other in values)
            values = tuple(dict.fromkeys(edited))
            change = change or "spf_terms_withdrawn"
    return Removal(values, change, warning)
