# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Decide whether a record set contains a wanted record and, if not, how to edit the set.

This code is used both to verify and to publish records. Other services' records are kept byte for
byte.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType
from typing import Literal, NamedTuple

from ..errors import InvalidInput
from ..models import RequiredRecords
from . import dkim, messages, spf
from .messages import Params, join_words
from .record_types import Key, Mx, Txt, Value, texts_of, txt, wanted_sets

Status = Literal["match", "missing", "conflict", "unknown"]
Values = tuple[Value, ...]
_NO_PARAMS: Params = MappingProxyType({})


class WantedRecord(NamedTuple):
    """One record that the service requires.

    :param name: the fully qualified name as A-labels, without a trailing dot
    :param all_values: all values that the service requires for this name and type
    """

    name: str
    value: Value
    all_values: Values
    domain: str = ""

    @property
    def type(self) -> str:
        """The record's type, ``MX`` or ``TXT``."""
        return "MX" if isinstance(self.value, Mx) else "TXT"

    @property
    def key(self) -> Key:
        """The record set's name and type."""
        return self.name, self.type

    @property
    def text(self) -> str:
        """The text of a TXT record, or an empty string for an MX record."""
        return self.value.text if isinstance(self.value, Txt) else ""

    @property
    def noun(self) -> str:
        """The kind of record: MX, SPF, DKIM or TXT."""
        if isinstance(self.value, Mx):
            return "MX"
        if spf.is_spf(self.text):
            return "SPF"
        return "DKIM" if dkim.is_key(self.text) else "TXT"

    @property
    def params(self) -> dict[str, object]:
        """The parameters of messages about the record."""
        value = self.value
        params = {"name": self.name, "noun": self.noun, "domain": self.domain}
        if isinstance(value, Mx):
            return {**params, "record": str(value), "host": value.exchange, "priority": value[0]}
        return {**params, "record": f"TXT {self.text}"}


class Comparison(NamedTuple):
    """The result of comparing a record set with a wanted record.

    :param is_published: whether the wanted record is published, possibly with other records
    :param values: the values that the set should have, or None if the domain's owner must decide
    :param change: the code of the edit, or an empty string if the values don't change
    :param proposal: the SPF record to publish, or None if the wanted record is not an SPF record
    """

    status: Status
    code: str
    params: Params = _NO_PARAMS
    is_published: bool = False
    values: Values | None = None
    change: str = ""
    proposal: str | None = None

    @property
    def detail(self) -> str:
        """The state of the record set, as a clause."""
        return messages.detail(self.code, self.params)

    @property
    def remedy(self) -> str:
        """The remedy, as one sentence, or an empty string if there is nothing to do."""
        return messages.remedy(self.code, self.params)


class Removal(NamedTuple):
    """The edit that removes a record from a record set.

    :param change: the code of the edit, or an empty string if the values don't change
    :param warning: a warning about a record that is kept, or an empty string
    """

    values: Values
    change: str = ""
    warning: str = ""


def wanted_records(required: RequiredRecords) -> tuple[WantedRecord, ...]:
    """Return the records that the service requires for a domain, in the service's order."""
    sets = {one.key: one.values for one in wanted_sets(required, 0)}
    return tuple(
        WantedRecord(one.name, one.values[0], sets[one.key], required.domain.key)
        for record in required.records
        for one in wanted_sets(required._replace(records=(record,)), 0)
    )


def compare(wanted: WantedRecord, values: Sequence[Value]) -> Comparison:
    """Compare a wanted record with the current values of its record set."""
    values = tuple(values)
    if isinstance(wanted.value, Mx):
        return _compare_mx(wanted, wanted.value, values)
    if wanted.noun == "SPF":
        return _compare_spf(wanted, values)
    if wanted.noun == "DKIM":
        return _compare_dkim(wanted, wanted.value, values)
    if wanted.text in texts_of(values):
        return _match(wanted, values)
    return _missing(wanted, values)


def without(wanted: WantedRecord, values: Values) -> Removal:
    """Return the edit that removes a wanted record, and nothing else, from a record set."""
    if wanted.noun == "SPF":
        return _without_spf(wanted.text, values)

    def is_ours(value: Value) -> bool:
        if isinstance(value, Txt) and wanted.noun == "DKIM":
            return dkim.is_key(value.text) and dkim.same_key(wanted.text, value.text)
        return value == wanted.value or (isinstance(value, Txt) and value.text == wanted.text)

    kept = tuple(value for value in values if not is_ours(value))
    return Removal(kept, f"{wanted.noun.lower()}_withdrawn" if kept != values else "")


def _match(wanted: WantedRecord, values: Values, proposal: str | None = None) -> Comparison:
    return Comparison("match", "present", wanted.params, True, values, proposal=proposal)  # noqa: FBT003


def _missing(wanted: WantedRecord, values: Values) -> Comparison:
    code = f"{wanted.noun.lower()}_missing"
    proposal = wanted.text if wanted.noun == "SPF" else None
    after = (*values, wanted.value)
    return Comparison("missing", code, wanted.params, values=after, change=code, proposal=proposal)


def _compare_mx(wanted: WantedRecord, mx: Mx, values: Values) -> Comparison:
    """Compare MX records. The proposed edit corrects priorities and keeps other hosts."""
    found = [each for each in values if isinstance(each, Mx)]
    foreign = sorted(each for each in found if each not in wanted.all_values)
    null = [each for each in foreign if not each.exchange]
    moved = [each for each in foreign if each.exchange == mx.exchange]
    # Other hosts get mail if their priority is at least as good as the service's, or if none of the
    # service's hosts is published.
    first = min(each.priority for each in wanted.all_values if isinstance(each, Mx))
    is_reached = any(each in found for each in wanted.all_values)
    rivals = [each for each in foreign if not is_reached or each.priority <= first]
    is_published = mx in found
    in_the_way = null or moved or rivals
    if not in_the_way:
        return _match(wanted, values) if is_published else _missing(wanted, values)
    if null:
        code = "mx_null"
    elif moved:
        code = "mx_repeated" if is_published or len(moved) > 1 else "mx_priority"
    else:
        code = "mx_rivals"
    after: Values | None = None
    change = ""
    if not null:
        kept = tuple(each for each in values if each not in moved)
        after = kept if is_published else (*kept, mx)
        change = "" if is_published else "mx_missing"
        if moved:
            change = "mx_repeated" if is_published else "mx_priority"
    entries = join_words(list(map(str, in_the_way)))
    params = {
        **wanted.params,
        "found": join_words([str(each.priority) for each in moved]),
        "hosts": join_words([f"{each.exchange} (priority {each.priority})" for each in in_the_way]),
        "others": f"the record{'s' * (len(in_the_way) > 1)} {entries}",
        "add": "" if is_published else f", and add {mx}",
    }
    return Comparison(
        "conflict", code, params, is_published=is_published, values=after, change=change
    )


def _compare_spf(wanted: WantedRecord, values: Values) -> Comparison:
    """Compare SPF records. The proposed edit merges the service's terms into the record."""
    found = [v for v in values if isinstance(v, Txt) and spf.is_spf(v.text)]
    if not found:
        return _missing(wanted, values)
    try:
        merged = spf.merge([value.text for value in found], wanted.text)
    except spf.SpfConflict as error:
        return Comparison("conflict", error.reason, {**wanted.params, **error.params})
    except InvalidInput as error:
        problem = str(error).removesuffix(".").replace(". ", ": ")
        return Comparison("conflict", "spf_invalid", {**wanted.params, "problem": problem})
    if merged == found[0].text:
        return _match(wanted, values, proposal=merged)
    terms = spf.parse(found[0].text).lacking(spf.parse(wanted.text))
    after = tuple(txt(merged) if value == found[0] else value for value in values)
    return Comparison(
        "missing",
        "spf_incomplete",
        {**wanted.params, "terms": join_words(list(map(str, terms))), "proposal": merged},
        values=after,
        change="spf_incomplete",
        proposal=merged,
    )


def _compare_dkim(wanted: WantedRecord, wanted_key: Txt, values: Values) -> Comparison:
    """Compare a selector's DKIM keys. There must be a single key, equivalent to the wanted one."""
    others = [value for value in wanted.all_values if value != wanted_key]
    texts = [v for v in values if isinstance(v, Txt) and v not in others]
    keys = [value for value in texts if value.text == wanted.text or dkim.is_key(value.text)]
    if not keys:
        return _missing(wanted, values)
    same = [key for key in keys if dkim.problem(wanted.text, key.text) is None]
    kept = wanted_key if wanted_key in same or not same else min(same)
    after = tuple(value for value in values if value == kept or value not in keys)
    if keys == [kept]:
        return _match(wanted, values)
    code, params = dkim.problem(wanted.text, keys[0].text) or ("dkim_several", {})
    if len(keys) > 1:
        code, params = "dkim_several", {"number": len(keys)}
    after = after if kept in keys else (*after, kept)
    return Comparison("conflict", code, {**wanted.params, **params}, values=after, change=code)


def _without_spf(wanted: str, values: Values) -> Removal:
    """Remove the service's terms from SPF records. Delete copies of the service's record."""
    change = warning = ""
    for value in [v for v in values if isinstance(v, Txt) and spf.is_spf(v.text)]:
        try:
            rest = spf.withdraw(value.text, wanted)
        except InvalidInput as error:
            warning = messages.text("spf_kept", problem=error)
            continue
        if rest is None:
            values = tuple(other for other in values if other != value)
            change = change or "spf_withdrawn"
        elif rest != value.text:
            edited = (txt(rest) if other == value else other for other in values)
            values = tuple(dict.fromkeys(edited))
            change = change or "spf_terms_withdrawn"
    return Removal(values, change, warning)
