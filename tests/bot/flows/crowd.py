# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Many wishes at once, and the checks that none was lost and none carried out twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeVar

from ansible_collections.postroom.email.tests.bot.flows.premises import Deployment
from ansible_collections.postroom.email.tests.bot.listeners.hands import card_of, fresh_address
from ansible_collections.postroom.email.tests.fakes.slack.person import Person
from ansible_collections.postroom.email.tests.support.recorder import Exchange
from postroom_bot.model import State

#: For all of them together, on a machine with much else to do.
PATIENCE = 120.0
_ENDS = ("Done", "Failed", "Stopped")

T = TypeVar("T")


@dataclass(frozen=True)
class Alias:
    """An alias that somebody wants, for their own mailbox, and whoever is to approve it."""

    address: str
    requester: Person
    approver: Person

    @property
    def mailbox(self) -> str:
        """The mailbox that it is for."""
        return str(self.requester.user.email)


def wanted(flow: Deployment, each: int) -> list[Alias]:
    """Return so many new aliases for each mailbox, those of one mailbox apart from each other."""
    alice, bob, carol, dora = flow.premises.people
    pairs = ((alice, bob), (bob, carol), (carol, dora), (dora, bob))
    return [Alias(fresh_address(), *pair) for _ in range(each) for pair in pairs]


def carry_through(flow: Deployment, aliases: list[Alias]) -> list[Exchange]:
    """Have all of them asked for, approved and carried out, as much as can be at the same time.

    :return: what the mail service was asked to write
    """
    flow.premises.recorder.take()
    in_parallel(lambda one: flow.asks(one.requester, f"alias add {one.address}"), aliases)
    in_parallel(lambda one: _approve(flow, one), aliases)
    flow.here.slack.wait_for(lambda: all(_has_ended(flow, one) for one in aliases), PATIENCE)
    return flow.premises.recorder.take_writes()


def in_parallel(work: Callable[[T], object], things: Iterable[T]) -> None:
    """Do it with all of them, eight at a time."""
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, things))


def lost(flow: Deployment, aliases: Iterable[Alias]) -> list[str]:
    """Return the aliases that are said to be there and are not."""
    there = {address for one in flow.premises.people for address in flow.here.aliases(_box(one))}
    done = {one.wish.target for one in flow.requests() if one.state is State.DONE}
    return [one.address for one in aliases if one.address in done - there]


def repeated(flow: Deployment, aliases: Iterable[Alias], writes: Iterable[Exchange]) -> list[str]:
    """Return what there is not exactly one of for each alias: requests, cards, writes."""
    named = list(aliases)
    requests = Counter(one.wish.target for one in flow.requests())
    counts = {one.address: (requests[one.address], len(flow.cards(one.address))) for one in named}
    found = [f"{address}: {count}" for address, count in counts.items() if count != (1, 1)]
    done = [one for one in writes if one.status == 200]
    return found + ([] if len(done) == len(named) else [f"{len(done)} writes for {len(named)}"])


def overlapping(writes: Iterable[Exchange]) -> list[str]:
    """Return where a mailbox was written while another write to it was under way."""
    ordered = sorted(writes, key=lambda one: (one.path, one.began))
    return [
        f"{later.path}: at {later.began:.3f}, before {earlier.ended:.3f}"
        for earlier, later in pairwise(ordered)
        if earlier.path == later.path and later.began < earlier.ended
    ]


def _approve(flow: Deployment, one: Alias) -> None:
    card = card_of(flow.here, one.requester, one.address)
    assert one.approver.press(card, "request_approve").ok


def _has_ended(flow: Deployment, one: Alias) -> bool:
    return any(end in card.text for card in flow.cards(one.address) for end in _ENDS)


def _box(person: Person) -> str:
    return str(person.user.email)
