# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Checks of declared entries against each other: addresses, domains, members and loops."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import NamedTuple

from ..models import Domain, Forwarder
from ..names import Name
from .definition import Finding, Place
from .definition_values import spot
from .entries import Entry

_MOST_NAMED = 6
_LEFT = -1


class Claim(NamedTuple):
    """Whose an address is, and where it is said so."""

    owner: Entry
    place: Place


def check(entries: Mapping[str, Entry], now: datetime) -> Iterator[Finding]:
    """Yield what does not fit together.

    :param entries: all that is declared, by the keys of the names
    """
    live = [e for e in entries.values() if e.kind != Domain.kind and e.why_gone(now) is None]
    claims = {entry.name.key: Claim(entry, entry.place) for entry in live}
    yield from _check_aliases(live, claims, now)
    gone = {e.name.key: e for e in entries.values() if e.kind == Domain.kind and e.absent}
    if gone:
        yield from _check_domains(claims, gone)
    forwarders = [entry for entry in live if entry.kind == Forwarder.kind]
    for forwarder in forwarders:
        if not forwarder.members and not forwarder.flawed:
            yield Finding(
                f"The forwarder {forwarder.name} has no members, so that its mail would go "
                "nowhere. Add members, or declare it with state: absent.",
                forwarder.place,
            )
    yield from _check_loops(forwarders, claims)


def _check_aliases(
    live: Iterable[Entry], claims: dict[str, Claim], now: datetime
) -> Iterator[Finding]:
    """Yield aliases that are something else already, and add the others to the claims."""
    for entry in live:
        for key, alias in (entry.aliases or {}).items():
            if key == entry.name.key:
                yield Finding(
                    f"{alias.name} is the {entry.kind}'s own primary address, which can be no "
                    "alias of it. Drop the alias.",
                    alias.place,
                )
            elif alias.why_gone(now) is None:
                first = claims.setdefault(key, Claim(entry, alias.place))
                if first.owner is not entry:
                    yield _claimed_twice(alias.name, alias.place, first)


def _claimed_twice(name: Name, place: Place, first: Claim) -> Finding:
    owner = first.owner
    there = spot(first.place, place)
    if owner.name == name:
        text = f"{name} is the primary address of a {owner.kind}, declared in {there}"
    else:
        text = f"{name} is an alias of the {owner.kind} {owner.name} too, declared in {there}"
    return Finding(
        f"{text}. An address can be in one place only: drop it in one of the two.", place
    )


def _check_domains(claims: Mapping[str, Claim], gone: Mapping[str, Entry]) -> Iterator[Finding]:
    for address, claim in claims.items():
        domain = gone.get(address.rpartition("@")[2])
        if domain is not None:
            yield Finding(
                f"{address} is to be present, but its domain {domain.name} is to be absent, as "
                f"declared in {spot(domain.place, claim.place)}. Drop one of the two.",
                claim.place,
            )


def _check_loops(forwarders: Iterable[Entry], claims: Mapping[str, Claim]) -> Iterator[Finding]:
    """Yield each member that closes a loop. Each forwarder is gone through once."""
    # Where it stands on the way from the first forwarder, or that it has been left for good.
    position: dict[str, int] = {}
    for start in forwarders:
        if start.name.key in position:
            continue
        trail = [start]
        position[start.name.key] = 0
        waiting = [iter(start.members.items())]
        while trail:
            step = next(waiting[-1], None)
            if step is None:
                waiting.pop()
                position[trail.pop().name.key] = _LEFT
                continue
            target = _forwarder_of(step[0], claims)
            if target is None:
                continue
            at = position.get(target.name.key)
            if at is None:
                position[target.name.key] = len(trail)
                trail.append(target)
                waiting.append(iter(target.members.items()))
            elif at != _LEFT:
                yield _loop(trail, at, *step)


def _forwarder_of(address: Name, claims: Mapping[str, Claim]) -> Entry | None:
    claim = claims.get(address.key)
    return claim.owner if claim is not None and claim.owner.kind == Forwarder.kind else None


def _loop(trail: list[Entry], start: int, member: Name, place: Place) -> Finding:
    first = trail[start].name
    aside = "" if member == first else f" ({member} is an alias of {first})"
    length = len(trail) - start
    if length == 1:
        text = f"The forwarder {first} would forward to itself{aside}"
    else:
        text = f"Mail would go round in a loop: {_way(trail, start)}{aside}"
    return Finding(f"{text}. Drop this member.", place)


def _way(trail: list[Entry], start: int) -> str:
    length = len(trail) - start
    # Sliced first: a loop may be very long.
    names = [str(entry.name) for entry in trail[start : start + _MOST_NAMED]]
    if length > _MOST_NAMED:
        names = [*names[:-1], f"{length - _MOST_NAMED} more", str(trail[-1].name)]
    return " -> ".join([*names, names[0]])
