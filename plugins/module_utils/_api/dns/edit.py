# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""The values of one record set with the service's among them, or without them. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from ..errors import InvalidInput, Refused, TooExpensive
from . import dkim, spf
from . import spf_merge as merging
from .rrset import Mx, RecordSet, Txt, Value, texts_of, txt

#: Checks an SPF record through resolvers: see ``weighing.weigher``.
Weigh = Callable[[str, str, "str | None", str], Sequence[str]]
Values = tuple[Value, ...]


class Draft(NamedTuple):
    """What becomes of the values of a set; without reasons they are as they were."""

    values: Values
    reasons: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    def then(self, step: Draft) -> Draft:
        """Return what becomes of it by one step more."""
        reasons, warnings = self.reasons + step.reasons, self.warnings + step.warnings
        return Draft(step.values, reasons, warnings)


def with_service(wanted: RecordSet, before: RecordSet, *, weigh: Weigh) -> Draft:
    """Return a set's values with the service's among them."""
    draft = Draft(before.values)
    for value in wanted.values:
        if isinstance(value, Txt) and spf.is_spf(value.text):
            check = partial(weigh, wanted.name, value.text)
            draft = draft.then(_with_spf(draft.values, value, check))
        else:
            draft = draft.then(_with_value(draft.values, value, wanted.values))
    return draft._replace(warnings=(*draft.warnings, *_rivals(wanted, before)))


def _with_value(values: Values, wanted: Value, ours: Values) -> Draft:
    if isinstance(wanted, Mx):
        return _with_mx(values, wanted, ours)
    if dkim.is_key(wanted.text):
        return _with_key(values, wanted, ours)
    if wanted.text in texts_of(values):
        return Draft(values)
    return Draft((*values, wanted), ("it lacks a text of the service",))


def _with_mx(values: Values, wanted: Mx, ours: Values) -> Draft:
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
    return Draft(kept, tuple(reasons))


def _with_spf(
    values: Values, wanted: Txt, weigh: Callable[[str | None, str], Sequence[str]]
) -> Draft:
    """Return the values with the service's terms in the one SPF record."""
    try:
        merged = merging.merge(texts_of(values), wanted.text)
    except merging.SpfConflict as conflict:
        if conflict.replacement:
            try:
                weigh(None, conflict.replacement)
            except (TooExpensive, merging.SpfConflict) as error:
                raise merging.SpfConflict(conflict.problem, str(error)) from None
        raise
    advice = merging.size_advice(merged)
    warnings: tuple[str, ...] = (advice,) if advice else ()
    found = [value for value in _of_text(values) if spf.is_spf(value.text)]
    if not found:
        return Draft((*values, wanted), ("it lacks the SPF record",), warnings)
    there = found[0]
    warnings += tuple(weigh(there.text, merged))
    if there.text == merged:
        return Draft(values, (), warnings)
    after = tuple(txt(merged) if value == there else value for value in values)
    return Draft(after, (_lack(there.text, wanted.text),), warnings)


def _lack(there: str, wanted: str) -> str:
    lacking = merging.lacking(spf.parse(wanted), spf.parse(there).before_all)
    if lacking:
        return f"its SPF record lacks {', '.join(map(str, lacking))}"
    return "its SPF record names the service more than once"


def _with_key(values: Values, wanted: Txt, ours: Values) -> Draft:
    """Return the values with the service's key and no other, for a selector has one."""
    keys = [v for v in _of_text(values) if dkim.is_key(v.text) and (v == wanted or v not in ours)]
    # The same key in other words stays; of several, the one in the service's words.
    same = [key for key in keys if dkim.compare(wanted.text, [key.text]).status == "match"]
    kept = wanted if wanted in same or not same else min(same)
    if keys == [kept]:
        return Draft(values)
    after = tuple(value for value in values if value == kept or value not in keys)
    if kept in keys:
        return Draft(after, ("it has other DKIM keys beside the service's",))
    reason = "its DKIM key is not the service's" if keys else "it lacks the DKIM key"
    return Draft((*after, kept), (reason,))


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


def without_service(wanted: RecordSet, before: RecordSet) -> Draft:
    """Return a set's values without the service's."""
    draft = Draft(before.values)
    for value in wanted.values:
        draft = draft.then(_without_value(draft.values, value))
    return draft


def _without_value(values: Values, wanted: Value) -> Draft:
    if isinstance(wanted, Mx):
        return _dropped(values, [wanted], f"the mail server {_named(wanted)}")
    if spf.is_spf(wanted.text):
        return _without_spf(values, wanted.text)
    texts = _of_text(values)
    if dkim.is_key(wanted.text):
        ours = [v for v in texts if dkim.is_key(v.text) and dkim.same_key(wanted.text, v.text)]
        return _dropped(values, ours, "the service's DKIM key")
    return _dropped(values, [v for v in texts if v.text == wanted.text], "a text of the service")


def _dropped(values: Values, ours: Sequence[Value], what: str) -> Draft:
    kept = tuple(value for value in values if value not in ours)
    return Draft(kept, (f"it is not to have {what}",) if kept != values else ())


def _without_spf(values: Values, wanted: str) -> Draft:
    """Return the values with the service's terms in no SPF record, however many there are."""
    records = [value for value in _of_text(values) if spf.is_spf(value.text)]
    exact = [value for value in records if value.text == wanted]
    draft = _dropped(values, exact, "the SPF record")
    for record in records:
        if record not in exact:
            draft = draft.then(_without_terms(draft.values, record, wanted))
    return draft


def _without_terms(values: Values, record: Txt, wanted: str) -> Draft:
    try:
        rest = merging.withdraw([record.text], wanted)
    except InvalidInput as error:
        return Draft(values, (), (f"the SPF record cannot be read and stays as it is. {error}",))
    if rest is None:
        return _dropped(values, [record], "the SPF record")
    if rest == record.text:
        return Draft(values)
    after = (txt(rest) if value == record else value for value in values)
    values = tuple(dict.fromkeys(after))
    return Draft(values, ("its SPF record is not to have the service's terms",))


def _of_text(values: Values) -> list[Txt]:
    return [value for value in values if isinstance(value, Txt)]


def _named(value: Mx) -> str:
    return f"{value.exchange} (priority {value.priority})"
