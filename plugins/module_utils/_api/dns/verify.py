# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Verify a domain's records at its authoritative name servers, once or until they match.

Failures of name servers don't raise exceptions; the verdicts report them.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple

from ..errors import TooExpensive
from ..models import RequiredRecords
from . import messages, spf
from .compare import Comparison, Status, WantedRecord, compare, wanted_records
from .dkim import abridged
from .messages import Params, join_words
from .notations import as_rdata
from .observe import Observation, Observer, Servers, comes_from_wildcard
from .query import Answer
from .record_types import Key, RecordSet, Value, texts_of, txt
from .spf_lookups import Ask, check_merged, count, limited

Stage = Literal["created", "published", "active", "unknown"]

#: If the servers' statuses differ, the first of these statuses applies.
_WORST_FIRST: tuple[Status, ...] = ("conflict", "missing", "match", "unknown")
_FIRST_PAUSE, _MAX_PAUSE, _MAX_DOUBLINGS = 1.0, 30.0, 5
#: The number of seconds after which unchanged progress is reported again.
_REPORT_INTERVAL = 60.0
_STATUS = {"missing": "missing", "conflict": "in conflict", "unknown": "not known"}


class ServerVerdict(NamedTuple):
    """The verdict on a record at one server.

    :param found: the values that the server returned, as in a zone file
    :param detail: the state of the record, as a clause
    """

    server: str
    status: Status
    code: str
    found: tuple[str, ...]
    detail: str


class Verdict(NamedTuple):
    """The verdict on one record.

    :param code: the code of the reason in ``messages``
    :param found: the values that the servers returned, as in a zone file
    :param detail: what the servers returned, as a sentence
    :param is_published: whether every server that answered has the record, possibly among others
    """

    wanted: WantedRecord
    status: Status
    code: str
    found: tuple[str, ...]
    detail: str
    remedy: str
    servers: tuple[ServerVerdict, ...]
    is_published: bool = False

    @property
    def line(self) -> str:
        """The verdict as a single line, with truncated keys."""
        text = abridged(f"{self.detail} {self.remedy}")
        return f"{self.wanted.name} {self.wanted.type} ({self.status}): {text}"

    def with_code(self, status: Status, code: str, params: Params) -> Verdict:
        """Return a copy of the verdict with another status and reason."""
        clause, remedy = messages.detail(code, params), messages.remedy(code, params)
        detail = f"{clause[:1].upper()}{clause[1:].removesuffix('.')}."
        return self._replace(status=status, code=code, detail=detail, remedy=remedy)


class Verification(NamedTuple):
    """The verdicts on a domain's records.

    :param verdicts: one verdict for each record, in the service's order
    :param current: the record sets, keyed by name and type, with the values from all servers that
        answered. A record set is empty if only a wildcard matches, and None if no server answered.
    """

    verdicts: tuple[Verdict, ...]
    stage: Stage
    advice: tuple[str, ...]
    current: Mapping[Key, RecordSet | None]
    aliases: Mapping[str, str]

    @property
    def verified(self) -> bool:
        """Whether all records match."""
        return not self.lacking

    @property
    def lacking(self) -> tuple[Verdict, ...]:
        """The verdicts on records that don't match."""
        return tuple(verdict for verdict in self.verdicts if verdict.status != "match")


class Waiting(NamedTuple):
    """The settings for waiting until records are published.

    :param seconds: the timeout; a verification that is running when it expires is still completed
    :param report: a function that shows the progress
    :param sleep: a function that waits for a number of seconds
    :param accept_conflicts: stop waiting when the records are published, even if other records
        conflict with them, because waiting does not resolve such conflicts
    """

    seconds: float
    report: Callable[[str], object] = lambda _text: None
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], object] = time.sleep
    rng: Callable[[], float] = random.random
    accept_conflicts: bool = False

    def is_over(self, verdict: Verdict) -> bool:
        """Return whether to stop waiting for the verdict's record."""
        return verdict.is_published if self.accept_conflicts else verdict.status == "match"


def verify(
    required: RequiredRecords, servers: Servers, waiting: Waiting | None = None
) -> Verification:
    """Verify the records of a domain until all are published or the timeout expires.

    :param waiting: the settings for waiting; None to verify the records once
    :return: the last result
    """
    observer, wanted = Observer(servers), wanted_records(required)
    waiting = waiting or Waiting(0)
    end = waiting.clock() + waiting.seconds
    pauses = 0
    reported, reported_at = "", float("-inf")
    while True:
        seen = _verify(observer, wanted)
        lacking = [each for each in seen.verdicts if not waiting.is_over(each)]
        now = waiting.clock()
        if not lacking or now >= end:
            return seen
        listed = join_words([_progress(each) for each in lacking])
        if listed != reported or now - reported_at >= _REPORT_INTERVAL:
            reported, reported_at = listed, now
            params: dict[str, object] = {"domain": required.domain.key, "lacking": listed}
            number = len(seen.verdicts)
            params |= {"present": number - len(lacking), "number": number}
            waiting.report(messages.text("progress", left=f"{end - now:.0f}", **params))
        pause = min(_MAX_PAUSE, _FIRST_PAUSE * 2.0 ** min(pauses, _MAX_DOUBLINGS))
        pauses += 1
        # The random part keeps tasks that wait for many domains from querying at the same time.
        waiting.sleep(min(end - now, pause * (1 + waiting.rng()) / 2))


def _progress(verdict: Verdict) -> str:
    places = [each.server for each in verdict.servers if each.status == verdict.status]
    where = f" at {join_words(places)}" if places else ""
    return f"{verdict.wanted.type} of {verdict.wanted.name} is {_STATUS[verdict.status]}{where}"


def _verify(observer: Observer, wanted: Sequence[WantedRecord]) -> Verification:
    seen = observer.observe(wanted)
    answers = [answer for each in seen.values() for answer in each.resolved]
    has_resolved = any(answer.kind in ("answered", "bogus") for answer in answers)
    verdicts: list[Verdict] = []
    advice: list[str] = []
    for each in wanted:
        verdict = judge(each, seen[each.key])
        if has_resolved and each.noun == "SPF" and verdict.status != "unknown":
            ask = limited(observer.resolvers.confirmed_texts)
            verdict, advice = _judge_lookups(verdict, seen[each.key], ask)
        verdicts.append(verdict)
    is_active = all(is_resolved(each, seen[each.key]) for each in wanted)
    aliases = {key[0]: a.alias for key, each in seen.items() for a in each.own if a.alias}
    current = {key: _current(key, each) for key, each in seen.items()}
    stage = stage_of(verdicts, resolved=is_active)
    return Verification(tuple(verdicts), stage, tuple(advice), current, aliases)


def judge(wanted: WantedRecord, seen: Observation) -> Verdict:
    """Return the verdict on one record."""
    compared = [(answer, _compare(wanted, answer, seen.wildcard)) for answer in seen.answers]
    known = [(answer, found) for answer, found in compared if found.status != "unknown"]
    servers = tuple(
        ServerVerdict(str(answer.server), found.status, found.code, _rdata(answer), found.detail)
        for answer, found in compared
    )
    values = tuple(dict.fromkeys(value for answer, _found in known for value in _rdata(answer)))
    is_published = bool(known) and all(found.is_published for _answer, found in known)
    verdict = Verdict(wanted, "unknown", "no_nameservers", values, "", "", servers, is_published)
    if seen.problem is not None:
        texts = {"problem": seen.problem.cause, "how": seen.problem.remedy}
        return verdict.with_code("unknown", "no_nameservers", texts)
    if not known:
        return verdict._replace(
            code=servers[0].code,
            detail=f"{'; '.join(f'{each.server} {each.detail}' for each in servers)}.",
            remedy=" ".join(dict.fromkeys(found.remedy for _answer, found in compared)),
        )
    good = [str(answer.server) for answer, found in known if found.status == "match"]
    if len(good) < len(known):
        return _wrong(verdict, known, good)
    doubters = [str(answer.server) for answer in seen.resolved if answer.kind == "bogus"]
    if doubters:
        params = {**wanted.params, "servers": join_words(doubters)}
        return verdict.with_code("conflict", "dnssec", params)
    detail = f"{join_words(good)} {'has' if len(good) == 1 else 'have'} it."
    return verdict._replace(status="match", code="present", detail=detail)


def _wrong(
    verdict: Verdict, known: Sequence[tuple[Answer, Comparison]], good: Sequence[str]
) -> Verdict:
    """Return the worst of the servers' verdicts, with the details of all servers."""
    worst = min((found for _a, found in known), key=lambda one: _WORST_FIRST.index(one.status))
    by_detail: dict[str, list[str]] = {}
    for answer, found in known:
        by_detail.setdefault(found.detail, []).append(str(answer.server))
    detail = "; ".join(f"{join_words(group)}: {clause}" for clause, group in by_detail.items())
    code, remedy = worst.code, worst.remedy
    if good:
        bad = [str(answer.server) for answer, found in known if found.status != "match"]
        code = "servers_disagree"
        params = {"outdated": join_words(bad), "current": join_words(good)}
        remedy = messages.remedy(code, params)
    return verdict._replace(status=worst.status, code=code, detail=f"{detail}.", remedy=remedy)


def _compare(wanted: WantedRecord, answer: Answer, wildcard: Answer | None) -> Comparison:
    params = wanted.params
    redirection = answer.redirection
    if redirection is not None:
        params |= {"redirection": redirection, "owner": redirection.owner}
    found = compare(wanted, answer.values)
    is_answer = answer.kind == "answered"
    is_alias_of_domain = redirection is not None and wanted.name == wanted.domain
    if is_answer and found.status == "match" and not is_alias_of_domain:
        return found
    if is_answer and comes_from_wildcard(answer, wildcard):
        return Comparison("missing", "wildcard", params)
    if not is_answer or answer.detail:
        detail = f" ({answer.detail})" if answer.detail else ""
        code: str = answer.kind if answer.kind in ("lame", "unfound", "failed") else "silent"
        code = "unresolved" if redirection is not None else code
        return Comparison("unknown", code, {**params, "detail": detail})
    return found if redirection is None else Comparison("conflict", "elsewhere", params)


def is_resolved(wanted: WantedRecord, seen: Observation) -> bool:
    """Return whether at least one resolver answered and all that answered have the record."""
    known = [answer for answer in seen.resolved if answer.kind in ("answered", "bogus")]
    return bool(known) and all(
        answer.kind == "answered" and _compare(wanted, answer, None).status == "match"
        for answer in known
    )


def stage_of(verdicts: Sequence[Verdict], *, resolved: bool) -> Stage:
    """Return the stage of a domain.

    :param resolved: whether resolvers return every record
    :returns: ``created`` if a record is missing or in conflict, ``published`` if the authoritative
        servers have all records, ``active`` if resolvers also return them, else ``unknown``
    """
    statuses = {verdict.status for verdict in verdicts}
    if statuses & {"missing", "conflict"}:
        return "created"
    if statuses != {"match"}:
        return "unknown"
    return "active" if resolved else "published"


def _judge_lookups(verdict: Verdict, seen: Observation, ask: Ask) -> tuple[Verdict, list[str]]:
    """Count the lookups of the SPF record that is published or would be suggested.

    :returns: the verdict, changed if receivers reject the record, and warnings
    """
    wanted = verdict.wanted
    values: list[Value] = [value for answer in seen.own for value in answer.values]
    texts = [text for text in dict.fromkeys(texts_of(values)) if spf.is_spf(text)]
    if verdict.status == "match":
        cost = count(texts[0], wanted.name, ask)
        if cost.rejection:
            params = {**wanted.params, **cost.rejection}
            return verdict.with_code("conflict", "spf_rejected", params), []
        return verdict, cost.advice(wanted.name)
    proposal = compare(wanted, list(map(txt, texts))).proposal if texts else None
    if proposal is not None:
        try:
            check_merged(wanted.name, texts[0], proposal, ask)
        except TooExpensive as error:
            params = {"detail": verdict.detail, "problem": error}
            return verdict.with_code(verdict.status, "spf_too_expensive", params), []
    return verdict, []


def _current(key: Key, seen: Observation) -> RecordSet | None:
    """Return the record set with the values from all servers, so that no value is lost."""
    if all(answer.kind != "answered" for answer in seen.answers):
        return None
    own = [answer for answer in seen.own if answer.redirection is None]
    values = dict.fromkeys(value for answer in own for value in answer.values)
    ttl = min((answer.ttl for answer in own if answer.ttl is not None), default=0)
    return RecordSet(*key, ttl, tuple(values))


def _rdata(answer: Answer) -> tuple[str, ...]:
    return tuple(map(as_rdata, answer.values))
