# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""What somebody's SPF record would cost receivers with the service's terms, before it is written.

One look-up too many makes receivers reject all of the record, and with it mail of the owner's that
has nothing to do with the service.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ..errors import Refused
from ..planning.publication import SetChange
from ..records.judging import Rejection, cost_advice, rejection_of
from ..records.lookups import Ask, Cost, count, within
from ..records.sets import RecordSet, texts_of
from ..records.spf import is_spf


class _Merged(NamedTuple):
    """An SPF record that other terms come into."""

    name: str
    before: str
    after: str


def weigh(changes: Sequence[SetChange], ask: Ask, seconds: float) -> tuple[str, ...]:
    """Count what SPF records cost that are merged. Return what is to be said of it.

    :param seconds: for all questions
    :raises Refused: receivers take a record as it is, and would reject it for its look-ups
    """
    ask = within(seconds, ask)
    return tuple(text for merged in _merged(changes) for text in _weighed(merged, ask))


def _merged(changes: Sequence[SetChange]) -> Iterator[_Merged]:
    for change in changes:
        before, after = _policy(change.before), _policy(change.after)
        if before and after and before != after:
            yield _Merged(change.subject.name, before, after)


def _policy(record_set: RecordSet | None) -> str | None:
    """Return the SPF record in a set, if there is one."""
    texts = texts_of(record_set.values) if record_set else []
    return next(filter(is_spf, texts), None)


def _weighed(merged: _Merged, ask: Ask) -> list[str]:
    cost = count(merged.after, merged.name, ask)
    rejection = rejection_of(cost)
    record = f"the SPF record at {merged.name}"
    if rejection is None:
        return cost_advice(record, cost)
    if _is_broken_by(cost, count(merged.before, merged.name, ask)):
        raise Refused(_refusal(record, rejection))
    return [f"Receivers reject {record}: {rejection.why}. Mend it: {rejection.remedy}."]


def _is_broken_by(cost: Cost, before: Cost) -> bool:
    """Tell whether it is the number of look-ups that makes the difference."""
    return cost.too_many and rejection_of(before) is None


def _refusal(record: str, rejection: Rejection) -> str:
    return (
        f"With the service's terms, receivers would reject {record}: {rejection.why}. Before you "
        f"publish, {rejection.remedy}."
    )
