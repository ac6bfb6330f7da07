# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Verify a domain's records, once or until they are published.

The behaviour of name servers raises nothing here; it is in the verdicts.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from ..errors import NameServersNotFound, TooExpensive
from ..models import DnsRecordSet
from . import messages, spf
from .answers import Observation, Redirection
from .compare import Wanted, compare, wanted_records
from .messages import join_words
from .observe import Asked, Observer
from .rrset import Key, RecordSet, Value, texts_of, txt
from .spf_check import checker
from .spf_lookups import Ask, count, within
from .spf_merge import SpfConflict
from .verdict import Stage, Verdict, is_resolved, is_wildcards, judge, stage, with_text

_FIRST_PAUSE = 1.0
_LONGEST_PAUSE = 30.0
_MOST_DOUBLINGS = 5
#: Seconds for all questions about one SPF record.
_SPF_TIMEOUT = 10.0
#: Seconds after which unchanged progress is reported again.
_REPORT_INTERVAL = 60.0
_STATUS = {"missing": "missing", "conflict": "in conflict", "unknown": "not known"}


class Verification(NamedTuple):
    """What is known of a domain's records.

    :param verdicts: one for each record, in the service's order
    :param advice: sentences on what may become wrong
    :param current: the record set of each name and type, with the values of all servers that
        answered; without values if only a wildcard answers, and None if no server answered
    :param aliases: where a CNAME or DNAME record leads to, by name
    :param redirections: the DNAME record above a name, by name
    """

    verdicts: tuple[Verdict, ...]
    stage: Stage
    advice: tuple[str, ...]
    current: Mapping[Key, RecordSet | None]
    aliases: Mapping[str, str]
    redirections: Mapping[str, Redirection]

    @property
    def verified(self) -> bool:
        """Whether every record is at every authoritative server that answered."""
        return not self.lacking

    @property
    def lacking(self) -> tuple[Verdict, ...]:
        """The verdicts on records that are not, or not known to be, as they should be."""
        return tuple(verdict for verdict in self.verdicts if verdict.status != "match")


class Waiting(NamedTuple):
    """How to wait.

    :param seconds: for all of it; a verification that has begun is finished
    :param report: called with progress as a line of text
    :param beside: stop when the records are published, even if others conflict with them, which
        no waiting changes
    """

    seconds: float
    report: Callable[[str], object]
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], object] = time.sleep
    rng: Callable[[], float] = random.random
    beside: bool = False

    def is_over(self, verdict: Verdict) -> bool:
        """Return whether this record needs no more waiting."""
        return verdict.held if self.beside else verdict.status == "match"


def verify(record_set: DnsRecordSet, asked: Asked) -> Verification:
    """Verify the records of a domain once."""
    return _Verifier(record_set, asked).verify()


def wait(record_set: DnsRecordSet, asked: Asked, waiting: Waiting) -> Verification:
    """Verify until every record is published or the time is over. Return the last verification.

    Records that are published are not asked for again until all seem to be; then everything is
    verified again.
    """
    verifier = _Verifier(record_set, asked)
    pauses = _Pauses(record_set.domain.key, waiting)
    while True:
        seen = verifier.verify()
        verdicts = seen.verdicts
        while True:
            if all(map(waiting.is_over, verdicts)):
                break
            if not pauses.pause(verdicts):
                return seen if verdicts is seen.verdicts else verifier.verify()
            verdicts = verifier.again(verdicts)
        if verdicts is seen.verdicts:
            return seen


class _Verifier:
    """Verifies one domain's records, all of them or some."""

    def __init__(self, record_set: DnsRecordSet, asked: Asked) -> None:
        self._observer = Observer(asked)
        self._domain = record_set.domain.key
        self._wanted = wanted_records(record_set)

    def verify(self) -> Verification:
        """Ask all servers for all records."""
        observations, problems = self._observer.observe(self._wanted)
        observations = self._observer.resolve(observations)
        answers = [each for seen in observations.values() for each in seen.resolved]
        has_resolved = any(each.kind in {"answered", "bogus"} for each in answers)
        ask = self._observer.lookup if has_resolved else None
        verdicts = []
        for each in self._wanted:
            seen = observations[each.key]
            verdict = _judged(each, seen, problems)
            if ask and each.noun == "SPF" and verdict.status != "unknown":
                verdict = _check_spf(verdict, seen, ask)
            verdicts.append(verdict)
        resolved = all(is_resolved(each, observations[each.key]) for each in self._wanted)
        advice = [text for verdict in verdicts for text in verdict.advice]
        advice += dmarc_advice(self._domain, ask) if ask else [messages.text("no_resolver")]
        own = [
            (seen.name, answer)
            for seen in observations.values()
            for answer in seen.answers
            # A wildcard's alias does not apply to a name with records of its own.
            if answer.alias is not None and not is_wildcards(answer, seen.wildcard)
        ]
        return Verification(
            tuple(verdicts),
            stage(verdicts, resolved=resolved),
            tuple(dict.fromkeys(advice)),
            {key: _current(seen) for key, seen in observations.items()},
            {name: answer.alias for name, answer in own if answer.alias is not None},
            {name: answer.redirection for name, answer in own if answer.redirection is not None},
        )

    def again(self, verdicts: Sequence[Verdict]) -> tuple[Verdict, ...]:
        """Ask the authoritative servers for the records that are lacking."""
        lacking = [verdict.wanted for verdict in verdicts if verdict.status != "match"]
        observations, problems = self._observer.observe(lacking)
        return tuple(
            verdict
            if verdict.status == "match"
            else _judged(verdict.wanted, observations[verdict.wanted.key], problems)
            for verdict in verdicts
        )


class _Pauses:
    """Pauses between verifications, longer each time, and reports progress."""

    def __init__(self, domain: str, waiting: Waiting) -> None:
        self._domain = domain
        self._waiting = waiting
        self._end = waiting.clock() + waiting.seconds
        self._number = 0
        self._reported = ""
        self._reported_at = float("-inf")

    def pause(self, verdicts: Sequence[Verdict]) -> bool:
        """Wait before the next verification. Return whether there is time for one."""
        now = self._waiting.clock()
        left = self._end - now
        if left <= 0:
            return False
        lacking = [each for each in verdicts if not self._waiting.is_over(each)]
        listed = join_words([_lack(each) for each in lacking])
        progress = f"{len(lacking)} {listed}"
        if progress != self._reported or now - self._reported_at >= _REPORT_INTERVAL:
            self._reported, self._reported_at = progress, now
            self._waiting.report(
                messages.text(
                    "progress",
                    domain=self._domain,
                    present=len(verdicts) - len(lacking),
                    number=len(verdicts),
                    lacking=listed,
                    left=f"{left:.0f}",
                )
            )
        longest = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2.0**self._number)
        self._number = min(self._number + 1, _MOST_DOUBLINGS)
        # Many domains are waited for at a time, and should not be asked for at the same moment.
        self._waiting.sleep(min(left, longest * (1 + self._waiting.rng()) / 2))
        return True


def _lack(verdict: Verdict) -> str:
    places = [each.server for each in verdict.servers if each.status == verdict.status]
    where = f" at {join_words(places)}" if places else ""
    return f"{verdict.wanted.type} of {verdict.wanted.name} is {_STATUS[verdict.status]}{where}"


def _judged(
    wanted: Wanted, seen: Observation, problems: Mapping[str, NameServersNotFound]
) -> Verdict:
    verdict = judge(wanted, seen)
    problem = problems.get(wanted.name)
    if problem is None:
        return verdict
    params = {"detail": problem.cause, "reason": problem.remedy}
    return with_text(verdict, "nameservers_not_found", params)


def _check_spf(verdict: Verdict, seen: Observation, ask: Ask) -> Verdict:
    """Count the look-ups of an SPF record, and don't suggest one that refuses valid mail."""
    wanted = verdict.wanted
    texts = [text for text in dict.fromkeys(texts_of(_own_values(seen))) if spf.is_spf(text)]
    if verdict.status == "match":
        cost = count(texts[0], wanted.name, within(_SPF_TIMEOUT, ask))
        verdict = judge(wanted, seen, cost)
    proposal = compare(wanted, list(map(txt, texts))).proposal if texts else None
    if proposal is None:
        return verdict
    before = texts[0] if len(texts) == 1 else None
    try:
        checker(ask, _SPF_TIMEOUT)(wanted.name, wanted.text, before, proposal)
    except TooExpensive as error:
        params = {"detail": verdict.detail, "reason": str(error)}
        return with_text(verdict, "spf_too_expensive", params)
    except SpfConflict as error:
        problem = error.problem if len(texts) == 1 else f"{verdict.detail} {error.problem}"
        params = {"problem": problem, "reason": error.remedy}
        verdict = verdict._replace(status="conflict")
        return with_text(verdict, "spf_refuses_service", params)
    return verdict


def dmarc_advice(domain: str, ask: Ask) -> list[str]:
    """Return advice if neither a domain nor one above it has a DMARC record (RFC 7489, 6.6.3)."""
    labels = domain.split(".")
    for place in range(max(len(labels) - 1, 1)):
        found = ask(f"_dmarc.{'.'.join(labels[place:])}", "TXT")
        has_policy = any(text.lower().startswith("v=dmarc1") for text in found.values)
        if found.kind == "failed" or has_policy:
            return []
    return [messages.text("no_dmarc", name=domain)]


def _own_values(seen: Observation) -> Iterator[Value]:
    """Yield the values of a name at all servers, without those from a wildcard."""
    for answer in seen.answers:
        if answer.kind == "answered" and not is_wildcards(answer, seen.wildcard):
            yield from answer.values


def _current(seen: Observation) -> RecordSet | None:
    """Return the record set with all values of all servers, so that none is lost."""
    if all(answer.kind != "answered" for answer in seen.answers):
        return None
    own = [each for each in seen.answers if each.kind == "answered" and each.alias is None]
    own = [each for each in own if not is_wildcards(each, seen.wildcard)]
    values = dict.fromkeys(value for answer in own for value in answer.values)
    ttl = min((answer.ttl for answer in own if answer.ttl is not None), default=0)
    return RecordSet(seen.name, seen.type, ttl, tuple(values))
