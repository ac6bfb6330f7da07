# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Publishing: look at the name server, plan, and write what was planned with one update a zone.

An update holds what was seen, and the server compares before it swaps. Where somebody was faster it
changes nothing, and all of it begins anew. So an update whose answer is lost may be sent again.
"""

from __future__ import annotations

import functools
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from .. import errors
from .observation import Redirection
from .plan import (
    Publication,
    SetChange,
    Surroundings,
    as_diff,
    plan_absence,
    plan_presence,
)
from .rrset import Key, Mx, RecordSet, texts_of
from .spf_check import weigher
from .spf_lookups import Ask
from .update import UpdateServer

_FIRST_BACKOFF = 0.05
_LONGEST_BACKOFF = 2.0
_MOST_ATTEMPTS = 40
#: Aliases that lead to aliases.
_MOST_ALIASES = 8
#: Seconds for counting what SPF records cost, which may take dozens of questions.
_FOR_WEIGHING = 10.0


class Attempts:
    """How often something is tried again, and for how long.

    :param seconds: from now
    :param clock: tells the seconds
    :param sleep: waits for seconds
    :param rng: gives a share of one
    """

    def __init__(
        self,
        seconds: float,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], object] = time.sleep,
        rng: Callable[[], float] = random.random,
    ) -> None:
        self._clock = clock
        self._end = clock() + seconds
        self._sleep = sleep
        self._rng = rng
        self._made = 0

    @property
    def left(self) -> float:
        """The seconds that are left."""
        return max(0.0, self._end - self._clock())

    def go_on(self) -> bool:
        """Wait a while, longer each time, and tell whether there is another attempt."""
        backoff = min(_LONGEST_BACKOFF, _FIRST_BACKOFF * 2**self._made)
        # Publishers that undo each other's plans must fall out of step.
        pause = backoff * (0.5 + self._rng())
        self._made += 1
        if self._made >= _MOST_ATTEMPTS or self._clock() + pause >= self._end:
            return False
        self._sleep(pause)
        return True


class Published(NamedTuple):
    """What came of it.

    :param publication: what was changed, or would be, and warnings
    :param sets: what the name server holds at the names that were asked for, or would hold
    :param aliases: where CNAME and DNAME records have these names lead to
    :param redirections: the DNAME records and delegations above these names
    """

    publication: Publication
    sets: tuple[RecordSet, ...]
    aliases: Mapping[str, str]
    redirections: Mapping[str, Redirection]

    def raise_if_refused(self) -> None:
        """Raise TooExpensive if an SPF record was left alone; the others were written."""
        if self.publication.refused:
            others = "Publishing leaves this record alone and publishes the others."
            raise errors.TooExpensive(" ".join([*self.publication.refused.values(), others]))

    @property
    def diff(self) -> list[dict[str, Any]]:
        """Before and after, one pair a change, as Ansible shows differences."""
        return as_diff(self.publication)


def publish(
    wanted: Sequence[RecordSet],
    server: UpdateServer,
    *,
    absent: bool = False,
    dry_run: bool,
    attempts: Attempts,
    ask: Ask,
) -> Published:
    """Make a name server hold what is wanted, or nothing of it.

    :param absent: withdraw it instead
    :param dry_run: only look and plan; no update is sent
    :param ask: asks the rest of the world, where records lead elsewhere
    :raises Refused: something stands in the way; nothing was written
    :raises NameServerError: it could not be done; ``done`` tells which changes stand
    """
    planner = _Absence() if absent else _Presence(server, ask, attempts)
    run = _Run(wanted, server, planner)
    try:
        published = run.look() if dry_run else run.carry_out(attempts)
        published.raise_if_refused()
    except errors.PostroomError as error:
        run.tell(error)
        raise
    return published


class _Seen(NamedTuple):
    """What a name server holds of what is wanted."""

    wanted: Sequence[RecordSet]
    sets: dict[Key, RecordSet]
    aliases: dict[str, str]
    redirections: dict[str, Redirection]
    wildcards: dict[Key, RecordSet]


class _Planner(Protocol):
    def plan(self, seen: _Seen) -> Publication:
        """Plan from what was seen."""


class _Absence:
    """Plans that records are gone."""

    def plan(self, seen: _Seen) -> Publication:
        """Plan from what was seen."""
        return plan_absence(seen.wanted, seen.sets, seen.aliases, seen.redirections)


class _Presence:
    """Plans that records are there, for which more may have to be asked than what is there."""

    def __init__(self, server: UpdateServer, ask: Ask, attempts: Attempts) -> None:
        self._server = server
        # Every look leads to the same questions.
        self._ask = functools.cache(ask)
        self._attempts = attempts

    def plan(self, seen: _Seen) -> Publication:
        """Plan from what was seen, and from what is behind it."""
        elsewhere = {**{name: name for name in seen.redirections}, **seen.aliases}
        behind = {name: self._texts(place) for name, place in elsewhere.items()}
        covered = tuple(self._covered(seen))
        around = Surroundings(behind, covered, seen.wildcards, seen.redirections)
        # The other half of the time is for writing.
        weigh = weigher(self._ask, min(_FOR_WEIGHING, self._attempts.left / 2))
        return plan_presence(seen.wanted, seen.sets, seen.aliases, around, weigh)

    def _texts(self, name: str) -> Sequence[str]:
        """Return the texts at a name, from the server if it is in charge, or else from others."""
        for _alias in range(_MOST_ALIASES):
            try:
                current = self._server.read(name, "TXT")
            except errors.UpdateRefused:
                return self._ask(name, "TXT").values
            if current.alias is None:
                return texts_of(current.set.values) if current.set else []
            name = current.alias
        return ()

    def _covered(self, seen: _Seen) -> Iterator[str]:
        """Yield the domains that have addresses by a wildcard until something is written there."""
        there = {*seen.aliases, *(name for name, _type in seen.sets)}
        for one in seen.wanted:
            is_domain = any(isinstance(value, Mx) for value in one.values)
            if is_domain and one.name not in there and self._is_covered(one.name):
                yield one.name

    def _is_covered(self, name: str) -> bool:
        return any(self._server.is_wildcards(name, kind) for kind in ("A", "AAAA"))


class _Run:
    def __init__(
        self, wanted: Sequence[RecordSet], server: UpdateServer, planner: _Planner
    ) -> None:
        self._wanted = wanted
        self._server = server
        self._planner = planner
        #: Of every name, before anything is written: a name that is kept elsewhere ends it here.
        self._zones: dict[str, str] = {}
        #: Of names that the domain's zone delegates to other servers.
        self._delegations: dict[str, Redirection] = {}
        for name in sorted({one.name for one in wanted}, key=len):
            self._find_zone(name)
        self._done: dict[Key, SetChange] = {}
        #: What was sent, and no answer came.
        self._unsure: dict[Key, SetChange] = {}

    def _find_zone(self, name: str) -> None:
        try:
            self._zones[name] = self._server.zone_of(name)
        except errors.UpdateRefused:
            cut = self._server.delegation_of(name)
            if cut is None or not any(cut.owner.endswith(f".{known}") for known in self._zones):
                raise
            self._delegations[name] = cut

    def look(self) -> Published:
        """Look at all sets and plan. Return what would be done, and what there would be then."""
        seen = _Seen(self._wanted, {}, {}, {**self._delegations}, {})
        for one in self._wanted:
            if one.name in self._zones:
                self._read(one, seen)
        publication = self._planner.plan(seen)
        after = tuple(_after(seen.sets, publication.changes))
        return Published(publication, after, seen.aliases, seen.redirections)

    def _read(self, one: RecordSet, seen: _Seen) -> None:
        """Add what the server holds of one record set to what was seen."""
        current = self._server.read(one.name, one.type)
        if current.set is not None:
            seen.sets[one.key] = current.set
        if current.alias is not None:
            seen.aliases[one.name] = current.alias
        if current.dname is not None:
            seen.redirections[one.name] = current.dname
        if current.wildcard is not None:
            seen.wildcards[one.key] = current.wildcard

    def carry_out(self, attempts: Attempts) -> Published:
        """Look, plan and write until nothing is left to do."""
        warnings: tuple[str, ...] = ()
        while True:
            try:
                planned = self.look()
                changes, told, refused = planned.publication
                # Where an answer was lost, the next look plans nothing, and has nothing to tell.
                warnings = told if changes else warnings
                self._settle(changes)
                for zone, ones in self._by_zone(changes):
                    self._write(zone, ones)
            except errors.NameServerError as error:  # noqa: PERF203 - that is what the loop is for
                if not (self._may_pass(error) and attempts.go_on()):
                    raise
            else:
                done = tuple(self._done.values())
                told = tuple(dict.fromkeys(warnings + told))
                return planned._replace(publication=Publication(done, told, refused))

    def _may_pass(self, error: errors.NameServerError) -> bool:
        """Tell whether to look again: at what changed, or at what became of an update."""
        if isinstance(error, (errors.KeyRefused, errors.UpdateRefused)):
            return False
        return isinstance(error, errors.ZoneChanged) or bool(self._unsure)

    def _by_zone(self, changes: Sequence[SetChange]) -> Iterator[tuple[str, tuple[SetChange, ...]]]:
        grouped: dict[str, list[SetChange]] = {}
        for change in changes:
            grouped.setdefault(self._zones[change.subject.name], []).append(change)
        for zone, ones in grouped.items():
            yield zone, tuple(ones)

    def _write(self, zone: str, changes: tuple[SetChange, ...]) -> None:
        try:
            self._server.update(zone, changes)
        except errors.NoAnswer:
            self._unsure.update((change.subject.key, change) for change in changes)
            raise
        self._note(changes)

    def _settle(self, planned: Sequence[SetChange]) -> None:
        """Find out what became of updates that were not answered: what is done is not planned."""
        left = {change.subject.key for change in planned}
        self._note([change for key, change in self._unsure.items() if key not in left])

    def _note(self, changes: Sequence[SetChange]) -> None:
        for change in changes:
            self._unsure.pop(change.subject.key, None)
            self._done[change.subject.key] = change

    def tell(self, error: errors.PostroomError) -> None:
        """Have an error tell what was done before it."""
        error.done = [change.as_dict() for change in self._done.values()]
        if self._unsure:
            error.unsure = True
            names = ", ".join(str(change.subject) for change in self._unsure.values())
            error.add(f"Whether {names} was written is not known. Run again.")


def _after(found: Mapping[Key, RecordSet], changes: Sequence[SetChange]) -> Iterator[RecordSet]:
    """Yield the sets that are there when the changes are made."""
    after: dict[Key, RecordSet | None] = {**found}
    after.update((change.subject.key, change.after) for change in changes)
    yield from (one for one in after.values() if one is not None)
