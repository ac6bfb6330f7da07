# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Publish or withdraw record sets by dynamic updates, so that concurrent writers lose nothing.

An update contains what was read, and the server compares before it changes anything. If another
client was faster, it changes nothing, and reading and planning start again. So an update whose
answer is lost may be sent again.
"""

from __future__ import annotations

import functools
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from .. import errors
from . import messages
from .answers import Redirection
from .plan import Publication, SetChange, Surroundings, as_diff, plan_absence, plan_presence
from .rrset import Key, Mx, RecordSet, texts_of
from .spf_check import checker
from .spf_lookups import Ask
from .update import UpdateServer

_FIRST_BACKOFF = 0.05
_LONGEST_BACKOFF = 2.0
_MAX_ATTEMPTS = 40
#: Aliases that lead to aliases.
_MAX_ALIASES = 8
#: Seconds for all questions about SPF records.
_SPF_TIMEOUT = 10.0


class Attempts:
    """The attempts to do something, with growing pauses.

    :param seconds: for all of them, from now
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
        """The remaining seconds."""
        return max(0.0, self._end - self._clock())

    def pause(self) -> bool:
        """Wait before the next attempt. Return whether there is one."""
        backoff = min(_LONGEST_BACKOFF, _FIRST_BACKOFF * 2**self._made)
        # Publishers that invalidate each other's plans must get out of step.
        pause = backoff * (0.5 + self._rng())
        self._made += 1
        if self._made >= _MAX_ATTEMPTS or self._clock() + pause >= self._end:
            return False
        self._sleep(pause)
        return True


class Published(NamedTuple):
    """The result.

    :param publication: what was changed, or would be, and warnings
    :param sets: the record sets of the wanted names after the changes
    :param aliases: where CNAME and DNAME records make these names lead to
    :param redirections: the DNAME records and delegations above these names
    """

    publication: Publication
    sets: tuple[RecordSet, ...]
    aliases: Mapping[str, str]
    redirections: Mapping[str, Redirection]

    @property
    def diff(self) -> list[dict[str, Any]]:
        """Before and after, one pair for each change, as Ansible shows differences."""
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
    """Publish record sets at a name server.

    :param absent: withdraw them instead
    :param dry_run: only read and plan
    :param ask: looks up names outside of the server, where records lead to
    :raises Refused: only the owner of the domain can decide; nothing was written
    :raises TooExpensive: an SPF record was left alone; the others were written
    :raises NameServerError: it failed; ``done`` lists the changes before that
    """
    run = _Publisher(wanted, server, attempts, None if absent else ask)
    try:
        published = run.read_and_plan() if dry_run else run.apply()
        refused = published.publication.refused
        if refused:
            raise errors.TooExpensive(" ".join([*refused.values(), messages.text("left_alone")]))
    except errors.PostroomError as error:
        run.add_results(error)
        raise
    return published


class _Publisher:
    """Publishes, or withdraws if there is no function to ask with."""

    def __init__(
        self,
        wanted: Sequence[RecordSet],
        server: UpdateServer,
        attempts: Attempts,
        ask: Ask | None,
    ) -> None:
        self._wanted = wanted
        self._server = server
        self._attempts = attempts
        # Each attempt leads to the same questions.
        self._ask = functools.cache(ask) if ask else None
        self._done: dict[Key, SetChange] = {}
        #: Changes in updates without an answer.
        self._unsure: dict[Key, SetChange] = {}
        self._zones: dict[str, str] = {}
        #: Delegations of names to other servers, by name.
        self._delegations: dict[str, Redirection] = {}
        # All zones are found before anything is written.
        for name in sorted({one.name for one in wanted}, key=len):
            try:
                self._zones[name] = server.zone_of(name)
            except errors.UpdateRefused:  # noqa: PERF203 - each name may fail
                cut = server.delegation_of(name)
                if cut is None or not any(cut.is_below(known) for known in self._zones):
                    raise
                self._delegations[name] = cut

    def read_and_plan(self) -> Published:
        """Read all record sets and plan."""
        sets: dict[Key, RecordSet] = {}
        aliases: dict[str, str] = {}
        wildcards: dict[Key, RecordSet] = {}
        redirections = {**self._delegations}
        for one in self._wanted:
            if one.name not in self._zones:
                continue
            current = self._server.read(one.name, one.type)
            if current.set is not None:
                sets[one.key] = current.set
            if current.alias is not None:
                aliases[one.name] = current.alias
            if current.dname is not None:
                redirections[one.name] = current.dname
            if current.wildcard is not None:
                wildcards[one.key] = current.wildcard
        if self._ask is None:
            publication = plan_absence(self._wanted, sets, aliases, redirections)
        else:
            elsewhere = {**{name: name for name in redirections}, **aliases}
            behind = {name: self._texts(place, self._ask) for name, place in elsewhere.items()}
            covered = list(self._covered({*aliases, *(name for name, _type in sets)}))
            around = Surroundings(behind, covered, wildcards, redirections)
            # Half of the time is for writing.
            check = checker(self._ask, min(_SPF_TIMEOUT, self._attempts.left / 2))
            publication = plan_presence(self._wanted, sets, aliases, around, check)
        after: dict[Key, RecordSet | None] = {**sets}
        after.update((change.subject.key, change.after) for change in publication.changes)
        kept = tuple(one for one in after.values() if one is not None)
        return Published(publication, kept, aliases, redirections)

    def _texts(self, name: str, ask: Ask) -> Sequence[str]:
        """Return the texts at a name, from the server if it is authoritative, else from others."""
        for _alias in range(_MAX_ALIASES):
            try:
                current = self._server.read(name, "TXT")
            except errors.UpdateRefused:
                return ask(name, "TXT").values
            if current.alias is None:
                return texts_of(current.set.values) if current.set else []
            name = current.alias
        return ()

    def _covered(self, known: set[str]) -> Iterator[str]:
        """Yield the domains that have addresses by a wildcard until something is written there."""
        for one in self._wanted:
            is_domain = any(isinstance(value, Mx) for value in one.values)
            if not is_domain or one.name in known:
                continue
            if any(self._server.is_wildcards(one.name, kind) for kind in ("A", "AAAA")):
                yield one.name

    def apply(self) -> Published:
        """Read, plan and write until nothing is left to do."""
        warnings: tuple[str, ...] = ()
        while True:
            try:
                planned = self.read_and_plan()
                changes, new, refused = planned.publication
                # After a lost answer, the next plan is empty and has no warnings.
                warnings = new if changes else warnings
                self._write(changes)
            except errors.NameServerError as error:  # noqa: PERF203 - that is what the loop is for
                final = isinstance(error, (errors.KeyRefused, errors.UpdateRefused))
                retry = isinstance(error, errors.ZoneChanged) or self._unsure
                if final or not retry or not self._attempts.pause():
                    raise
            else:
                done = tuple(self._done.values())
                all_warnings = tuple(dict.fromkeys(warnings + new))
                return planned._replace(publication=Publication(done, all_warnings, refused))

    def _write(self, changes: Sequence[SetChange]) -> None:
        """Send one update for each zone."""
        planned = {change.subject.key for change in changes}
        # An update without an answer was applied if its changes are not planned again.
        self._note([change for key, change in self._unsure.items() if key not in planned])
        by_zone: dict[str, list[SetChange]] = {}
        for change in changes:
            by_zone.setdefault(self._zones[change.subject.name], []).append(change)
        for zone, ones in by_zone.items():
            try:
                self._server.update(zone, ones)
            except errors.NoAnswer:
                self._unsure.update((change.subject.key, change) for change in ones)
                raise
            self._note(ones)

    def _note(self, changes: Sequence[SetChange]) -> None:
        for change in changes:
            self._unsure.pop(change.subject.key, None)
            self._done[change.subject.key] = change

    def add_results(self, error: errors.PostroomError) -> None:
        """Add what was done, and what may have been done, to an error."""
        error.done = [change.as_dict() for change in self._done.values()]
        if self._unsure:
            error.unsure = True
            names = ", ".join(str(change.subject) for change in self._unsure.values())
            error.add(messages.text("unsure", names=names))
