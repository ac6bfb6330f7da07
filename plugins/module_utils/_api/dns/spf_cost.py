# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""What the DNS look-ups of an SPF record mean for receivers, and what to do about it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .compare import in_a_row
from .spf_lookups import MOST_LOOKUPS, MOST_VOIDS, Cost

_MOST_NAMED = 3


class Rejection(NamedTuple):
    """Why receivers reject an SPF record, and what to do: two clauses."""

    why: str
    remedy: str


def cost_advice(record: str, cost: Cost) -> list[str]:
    """Return what is to be said of the look-ups that an SPF record takes.

    :param record: in words
    """
    advice = []
    uncounted = (
        f"The DNS look-ups of {record} could not be counted to the end, so they may be more than "
        f"the {MOST_LOOKUPS} that receivers allow"
    )
    if cost.failed:
        advice.append(
            f"{uncounted}: no resolver told of {_some(cost.failed)}. Give others in the option "
            "resolvers."
        )
    if cost.unfollowed:
        advice.append(f"{uncounted}: where {_some(cost.unfollowed)} leads depends on the sender.")
    if cost.voids_ipv6 > MOST_VOIDS:
        advice.append(
            f"For a sender of IPv6, {cost.voids_ipv6} of the DNS look-ups of {record} find "
            f"nothing, and some receivers allow {MOST_VOIDS}. Write ip4 for a and mx of hosts that "
            "have no address of IPv6."
        )
    return advice


def _some(words: Sequence[str]) -> str:
    """Return the first of many words as a sentence lists them, and how many more there are."""
    more = len(words) - _MOST_NAMED
    return in_a_row([*words[:_MOST_NAMED], *([f"{more} more"] if more > 0 else [])])


def rejection_of(cost: Cost) -> Rejection | None:
    """Return why receivers reject an SPF record for what it takes, if they do."""
    if cost.problem:
        return Rejection(
            cost.problem, "take out the term that leads there, or ask its owner to fix that record"
        )
    if cost.lookups > MOST_LOOKUPS:
        return Rejection(
            f"it takes more than {MOST_LOOKUPS} DNS look-ups ({_look_ups_by_term(cost)})",
            "take out the terms that you do not need, or write ip4 and ip6 for include, a and mx",
        )
    if cost.too_many:
        return Rejection(
            f"{cost.voids} of its DNS look-ups find nothing, and {MOST_VOIDS} may",
            "take out the terms whose domains do not exist any more",
        )
    return None


def _look_ups_by_term(cost: Cost) -> str:
    """List the look-ups of each term, up to the term that exceeds the limit."""
    total = 0
    shown = []
    for term, number in cost.by_term:
        total += number
        if total > MOST_LOOKUPS:
            shown.append(f"{term} at least {number}")
            break
        shown.append(f"{term} {number}")
    more = len(cost.by_term) - len(shown)
    return ", ".join(shown) + (f" and {more} more terms" if more else "")
