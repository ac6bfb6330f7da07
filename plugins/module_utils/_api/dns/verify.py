# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Verifying that a domain's records are published, and waiting until they are. Nothing is written.

What name servers do, or do not do, raises nothing here: it is in the verdicts.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from ..errors import TooExpensive
from ..models import DnsRecordSet
from . import spf_merge as merging
from .advice import advise
from .compare import Wanted, in_a_row, wanted_records
from .observation import Observation, Redirection
from .observe import Asked, Observer, Sight
from .rrset import Key, RecordSet, texts_of
from .spf import is_spf
from .spf_check import weigher
from .spf_lookups import Ask, Cost, count, within
from .verdict import Stage, Verdict, is_resolved, is_wildcards, stage

_FIRST_PAUSE = 1.0
_LONGEST_PAUSE = 30.0
_MOST_DOUBLINGS = 5
#: Seconds for counting what an SPF record costs, and as many for advice, which may take hundreds
#: of questions; one that was asked in time is waited for.
_LOOKING_UP = 10.0
#: Seconds after which the same is told again.
_SILENCE = 60.0
_STATUS = {"missing": "missing", "conflict": "in conflict", "unknown": "not known"}
_NO_RESOLVER = (
    "No resolver told anything, so nothing is known of DNSSEC, of DMARC, of the mail server's PTR "
    "records, or of what the SPF record costs receivers. Give some in the option resolvers."
)


class Verification(NamedTuple):
    """What is known of a domain's records.

    :param verdicts: one for each record, in the service's order
    :param advice: what is no error of a record, a sentence or two each
    :param current: the record set of each name and type, with the values of all servers that
        told; without values where there is none but a wildcard's, and None where nobody told
    :param aliases: where a CNAME or DNAME record leads to, by name
    :param redirections: the DNAME record above a name, by name
    """

    domain: str
    verdicts: tuple[Verdict, ...]
    stage: Stage
    advice: tuple[str, ...]
    current: Mapping[Key, RecordSet | None]
    aliases: Mapping[str, str]
    redirections: Mapping[str, Redirection]

    @property
    def verified(self) -> bool:
        """Whether every record is there, at every authoritative server that told."""
        return all(verdict.status == "match" for verdict in self.verdicts)

    @property
    def lacking(self) -> tuple[Verdict, ...]:
        """The verdicts on what is not there, or not known to be."""
        return tuple(verdict for verdict in self.verdicts if verdict.status != "match")


class Waiting(NamedTuple):
    """How to wait.

    :param seconds: for all of it; a look that has begun is finished
    :param tell: gets a line of text now and then
    :param clock: tells the seconds
    :param sleep: waits for seconds
    :param rng: gives a share of one
    :param beside: it is enough that the records are there, even if others in their way are, too,
        which no waiting takes away
    """

    seconds: float
    tell: Callable[[str], object]
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], object] = time.sleep
    rng: Callable[[], float] = random.random
    beside: bool = False

    def is_over(self, verdict: Verdict) -> bool:
        """Say whether this record is what was waited for."""
        return verdict.held if self.beside else verdict.status == "match"


def verify(record_set: DnsRecordSet, asked: Asked) -> Verification:
    """Look at the records of a domain once."""
    return _Verifier(record_set, asked).whole()


def wait(record_set: DnsRecordSet, asked: Asked, waiting: Waiting) -> Verification:
    """Look until every record is there or the time is up. Return what was seen last.

    What is there is not asked for again until all of it seems to be; then everything is, once more.
    """
    return _Wait(_Verifier(record_set, asked), waiting).until_verified()


class _Verifier:
    """Looks at one domain's records, at all of them or at some."""

    def __init__(self, record_set: DnsRecordSet, asked: Asked) -> None:
        self._record_set = record_set
        self._observer = Observer(asked)
        self.wanted = wanted_records(record_set)

    @property
    def domain(self) -> str:
        """The domain's name, as A-labels."""
        return self._record_set.domain.key

    def whole(self) -> Verification:
        """Ask everybody for everything."""
        sight = self._observer.resolve(self._observer.look(self.wanted))
        ask = self._observer.lookup if sight.has_resolved else None
        verdicts = [
            _checked(sight.judged(each, _cost(each, sight, ask)), each, sight, ask)
            for each in self.wanted
        ]
        resolved = all(is_resolved(each, sight.of(each)) for each in self.wanted)
        advice = [text for verdict in verdicts for text in verdict.advice]
        advice += advise(self._record_set, within(_LOOKING_UP, ask)) if ask else [_NO_RESOLVER]
        return Verification(
            self.domain,
            tuple(verdicts),
            stage(verdicts, resolved=resolved),
            tuple(dict.fromkeys(advice)),
            {key: _current(seen) for key, seen in sight.observations.items()},
            _aliases(sight.observations.values()),
            _redirections(sight.observations.values()),
        )

    def again(self, known: Mapping[Wanted, Verdict]) -> dict[Wanted, Verdict]:
        """Ask the authoritative servers for what is lacking, and return all that is known then."""
        lacking = [each for each, verdict in known.items() if verdict.status != "match"]
        sight = self._observer.look(lacking)
        return {**known, **{each: sight.judged(each) for each in lacking}}


class _Wait:
    """Looks again and again, less and less often."""

    def __init__(self, verifier: _Verifier, waiting: Waiting) -> None:
        self._verifier = verifier
        self._waiting = waiting
        self._end = waiting.clock() + waiting.seconds
        self._pauses = 0
        self._told = ""
        self._told_at = float("-inf")

    def until_verified(self) -> Verification:
        """Return the first verification without anything lacking, or the last in time."""
        seen = self._verifier.whole()
        while not all(map(self._waiting.is_over, seen.verdicts)) and self._pause(seen.verdicts):
            self._until_there(seen.verdicts)
            seen = self._verifier.whole()
        return seen

    def _until_there(self, verdicts: Sequence[Verdict]) -> None:
        """Ask for what is lacking until nothing seems to be, or the time is up."""
        known = dict(zip(self._verifier.wanted, verdicts, strict=True))
        while True:
            known = self._verifier.again(known)
            is_over = all(map(self._waiting.is_over, known.values()))
            if is_over or not self._pause(tuple(known.values())):
                return

    def _pause(self, verdicts: Sequence[Verdict]) -> bool:
        """Wait before the next look, longer each time. Tell whether there is time for one."""
        left = self._end - self._waiting.clock()
        if left <= 0:
            return False
        self._tell(self._progress(verdicts), left)
        longest = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2.0**self._pauses)
        self._pauses = min(self._pauses + 1, _MOST_DOUBLINGS)
        # Many domains are waited for at a time, and should not be asked for at the same moment.
        self._waiting.sleep(min(left, longest * (1 + self._waiting.rng()) / 2))
        return True

    def _progress(self, verdicts: Sequence[Verdict]) -> str:
        """Return how much is there and what is waited for, in a clause."""
        lacking = [_lack(each) for each in verdicts if not self._waiting.is_over(each)]
        there = len(verdicts) - len(lacking)
        return f"{there} of {len(verdicts)} records are there, {in_a_row(lacking)}"

    def _tell(self, progress: str, left: float) -> None:
        now = self._waiting.clock()
        if progress == self._told and now - self._told_at < _SILENCE:
            return
        self._told, self._told_at = progress, now
        self._waiting.tell(f"{self._verifier.domain}: {progress}; asking again for {left:.0f} s.")


def _lack(verdict: Verdict) -> str:
    places = [each.server for each in verdict.servers if each.status == verdict.status]
    where = f" at {in_a_row(places)}" if places else ""
    return f"{verdict.record.type} of {verdict.name} is {_STATUS[verdict.status]}{where}"


def _cost(wanted: Wanted, sight: Sight, ask: Ask | None) -> Cost | None:
    """Count what an SPF record costs that is as it should be."""
    if ask is None or not wanted.is_spf or sight.judged(wanted).status != "match":
        return None
    text = next(filter(is_spf, _texts(sight.of(wanted))))
    return count(text, wanted.name, within(_LOOKING_UP, ask))


def _checked(verdict: Verdict, wanted: Wanted, sight: Sight, ask: Ask | None) -> Verdict:
    """Return a verdict that suggests no SPF record that rejects all mail, or the service's."""
    if ask is None or not wanted.is_spf or verdict.status == "unknown":
        return verdict
    texts = list(dict.fromkeys(filter(is_spf, _texts(sight.of(wanted)))))
    proposal = merging.proposal(texts, wanted.record.value) if texts else None
    if proposal is None:
        return verdict
    before = texts[0] if len(texts) == 1 else None
    try:
        weigher(ask, _LOOKING_UP)(wanted.name, wanted.record.value, before, proposal)
    except TooExpensive as error:
        return verdict._replace(step=str(error), place="")
    except merging.SpfConflict as error:
        detail = error.problem if len(texts) == 1 else f"{verdict.detail} {error.problem}"
        return verdict._replace(status="conflict", detail=detail, step=error.remedy, place="")
    return verdict


def _texts(seen: Observation) -> Iterator[str]:
    for answer in seen.answers:
        if answer.kind == "answered" and not is_wildcards(answer, seen.wildcard):
            yield from texts_of(answer.values)


def _current(seen: Observation) -> RecordSet | None:
    """Return the set that the servers hold, with all values of all of them: none must be lost.

    What a wildcard gives is not the name's own.
    """
    told = [answer for answer in seen.answers if answer.kind == "answered"]
    own = [each for each in told if each.alias is None and not is_wildcards(each, seen.wildcard)]
    values = dict.fromkeys(value for answer in own for value in answer.values)
    ttl = min((answer.ttl for answer in own if answer.ttl is not None), default=0)
    return RecordSet(seen.name, seen.type, ttl, tuple(values)) if told else None


def _aliases(observations: Iterable[Observation]) -> dict[str, str]:
    return {
        seen.name: answer.alias
        for seen in observations
        for answer in seen.answers
        # A wildcard's alias gives way to whatever is published at the name.
        if answer.alias is not None and not is_wildcards(answer, seen.wildcard)
    }


def _redirections(observations: Iterable[Observation]) -> dict[str, Redirection]:
    return {
        seen.name: answer.redirection
        for seen in observations
        for answer in seen.answers
        if answer.alias is not None and answer.redirection is not None
    }
