# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""What the name servers' answers mean for each record, and for the domain."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from ..models import DnsRecord
from .compare import Finding, Status, Wanted, compare, in_a_row
from .dkim import abridged
from .observation import Answer, Observation, Redirection
from .rrset import as_rdata
from .spf_cost import cost_advice, rejection_of
from .spf_lookups import Cost

Stage = Literal["created", "published", "active", "unknown"]

#: From what is heeded first, where servers do not agree, to what is heeded last.
_WORST_FIRST: tuple[Status, ...] = ("conflict", "missing", "match", "unknown")
_DAY = 86400
#: What is said of servers that answer, but not of the record, and what to do: by the answer's kind.
_MISPLACED = "Check the option nameservers or, where it is not set, the delegation of {domain}."
_UNTOLD = {
    "lame": ("is not in charge of {name}", _MISPLACED),
    "unfound": ("told nothing", _MISPLACED),
    "failed": ("failed", "Mend these servers, whose logs may tell why they failed, and run again."),
}
_SILENT = (
    "told nothing",
    "See that these servers answer for {name} over UDP and TCP, and run again.",
)


class ServerVerdict(NamedTuple):
    """What one server holds of a record.

    :param server: its name, and its address
    :param found: the values of that name and type, as a zone file has them
    :param detail: a clause for people
    """

    server: str
    status: Status
    found: tuple[str, ...]
    detail: str


class Verdict(NamedTuple):
    """What is known of one record.

    :param name: in full, as A-labels, without a dot at the end
    :param found: the values that any server holds, as a zone file has them
    :param detail: what was found where
    :param step: what to put or remove, in one sentence; empty for a match
    :param advice: what else there is to say, one sentence or two each
    :param held: whether every server that told has the record, whatever else there may be
    :param place: how that sentence begins for who does not see yet at which name it is
    """

    record: DnsRecord
    name: str
    status: Status
    found: tuple[str, ...]
    detail: str
    step: str
    servers: tuple[ServerVerdict, ...]
    advice: tuple[str, ...] = ()
    held: bool = False
    place: str = ""

    @property
    def remedy(self) -> str:
        """What to put or remove, and where."""
        return f"{self.place}{self.step}"

    @property
    def line(self) -> str:
        """All that there is to say of a record that is lacking. Keys are abridged."""
        told = f"{self.detail} {self.step[:1].upper()}{self.step[1:]}"
        return f"{self.name} {self.record.type} ({self.status}): {abridged(told)}"


class _Seen(NamedTuple):
    """What one server's answer comes to."""

    answer: Answer
    finding: Finding

    @property
    def server(self) -> str:
        return str(self.answer.server)

    @property
    def values(self) -> tuple[str, ...]:
        return tuple(as_rdata(value) for value in self.answer.values)

    @property
    def verdict(self) -> ServerVerdict:
        return ServerVerdict(self.server, self.finding.status, self.values, self.finding.detail)


def judge(wanted: Wanted, observation: Observation, cost: Cost | None = None) -> Verdict:
    """Say what servers' answers mean for one record. No answer raises anything.

    :param cost: of the SPF record that was found, where it was counted
    """
    seen = [_seen(wanted, answer, observation.wildcard) for answer in observation.answers]
    told = [each for each in seen if each.finding.status != "unknown"]
    if not told:
        finding = _untold(wanted, seen)
    elif any(each.finding.status != "match" for each in told):
        finding = _amiss(wanted, told)
    else:
        broken = _unsigned(wanted, observation) or _too_dear(wanted, cost)
        finding = broken or _held(wanted, seen, observation, cost)
    return Verdict(
        wanted.record,
        wanted.name,
        finding.status,
        tuple(dict.fromkeys(value for each in told for value in each.values)),
        finding.detail,
        finding.step,
        tuple(each.verdict for each in seen),
        finding.advice,
        held=bool(told) and all(each.finding.held for each in told),
        place=finding.place,
    )


def is_resolved(wanted: Wanted, observation: Observation) -> bool:
    """Say whether whoever asks through a resolver gets the record: every resolver that told."""
    seen = [_seen(wanted, answer, None) for answer in observation.resolved]
    told = [each for each in seen if each.answer.kind in {"answered", "bogus"}]
    return bool(told) and all(each.finding.status == "match" for each in told)


def is_wildcards(answer: Answer, wildcard: Answer | None) -> bool:
    """Say whether a wildcard gives what is found. Servers give values in any order."""
    if wildcard is None or wildcard.kind != "answered":
        return False
    if answer.alias is not None:
        return answer.alias == wildcard.alias
    return bool(answer.values) and set(answer.values) == set(wildcard.values)


def stage(verdicts: Sequence[Verdict], *, resolved: bool) -> Stage:
    """Say how far a domain has come.

    :param resolved: whether resolvers give every record
    :returns: ``created`` while a record is known to be missing or in conflict; ``published`` when
        all are at the authoritative servers, ``active`` when resolvers give them, too
    """
    statuses = {verdict.status for verdict in verdicts}
    if statuses & {"missing", "conflict"}:
        return "created"
    if statuses != {"match"}:
        return "unknown"
    return "active" if resolved else "published"


def _seen(wanted: Wanted, answer: Answer, wildcard: Answer | None) -> _Seen:
    if answer.kind != "answered":
        return _Seen(answer, _unanswered(wanted, answer))
    # What an alias leads to is told of the name that it is at.
    finding = compare(wanted._replace(name=answer.alias or wanted.name), answer.values)
    if answer.redirection is not None:
        finding = _redirected(wanted, answer.redirection, finding, answer.detail)
    elif answer.alias is not None:
        finding = _aliased(wanted, answer.alias, finding, answer.detail)
    if finding.status != "match" and is_wildcards(answer, wildcard):
        finding = wanted.finding(
            "missing",
            f"nothing is published at {wanted.name} itself: a wildcard record answers",
            wanted.adding,
        )
    return _Seen(answer, finding)


def _unanswered(wanted: Wanted, answer: Answer) -> Finding:
    """Return what is to be said of a server whose answer says nothing of the record."""
    redirection = answer.redirection
    if redirection is not None and redirection.is_below(wanted.domain):
        problem = redirection.problem(wanted.name)
        return _unfollowed(wanted, problem, "no resolver tells what is there")
    clause, remedy = (
        text.format(name=wanted.name, domain=wanted.domain)
        for text in _UNTOLD.get(answer.kind, _SILENT)
    )
    reason = f" ({answer.detail})" if answer.detail else ""
    return Finding("unknown", f"{clause}{reason}", remedy)


def _aliased(wanted: Wanted, alias: str, finding: Finding, unfollowed: str) -> Finding:
    """Return what an alias means. A domain can't be one; a key may be published elsewhere.

    :param unfollowed: why it is not known what is there; empty where it is known
    """
    found_as = f"{wanted.name} is an alias (CNAME) of {alias}"
    if wanted.record.host == "@":
        return wanted.finding(
            "conflict",
            f"{found_as}, so it can hold no other record",
            f"replace the CNAME record by A and AAAA records, and add {wanted.shown}",
        )
    if unfollowed:
        return _unfollowed(wanted, found_as, unfollowed)
    if finding.status == "match":
        return finding
    return wanted.finding(
        "conflict",
        f"{found_as}, and {finding.detail}",
        f"replace the CNAME record by {wanted.shown}",
    )


def _redirected(
    wanted: Wanted, redirection: Redirection, finding: Finding, unfollowed: str
) -> Finding:
    """Return what a DNAME record or a delegation above a name means.

    :param unfollowed: why it is not known what is there; empty where it is known
    """
    problem = redirection.problem(wanted.name)
    is_domain = wanted.record.host == "@"
    if unfollowed and not is_domain:
        return _unfollowed(wanted, problem, unfollowed)
    if finding.status == "match" and not is_domain:
        return finding
    detail = f"{problem}, and {finding.detail}"
    if redirection.type == "NS" and finding.status == "conflict":
        return finding._replace(detail=detail)
    # At other name servers, the record can be published without a conflict.
    status = finding.status if redirection.type == "NS" else "conflict"
    remedy = redirection.remedy(is_key=wanted.is_key)
    step = f"{remedy} The wanted record is {wanted.shown}"
    return Finding(status, detail, step, place=f"At {wanted.name}: ")


def _unfollowed(wanted: Wanted, problem: str, reason: str) -> Finding:
    return Finding(
        "unknown",
        f"says that {problem}, and {reason}",
        f"Set the option resolvers to some that can look up {wanted.name}, and run again.",
    )


def _untold(wanted: Wanted, seen: Sequence[_Seen]) -> Finding:
    """Return that nobody told, which says nothing of the record."""
    if not seen:
        return Finding(
            "unknown",
            f"No authoritative name server of {wanted.name} could be found.",
            f"See that {wanted.domain} is delegated, or give its name servers in the option "
            "nameservers.",
        )
    return Finding(
        "unknown",
        f"{'; '.join(f'{each.server} {each.finding.detail}' for each in seen)}.",
        " ".join(dict.fromkeys(each.finding.remedy for each in seen)),
    )


def _amiss(wanted: Wanted, told: Sequence[_Seen]) -> Finding:
    """Return what is wrong at the worst of servers, and who holds what."""
    worst = min(told, key=lambda each: _WORST_FIRST.index(each.finding.status)).finding
    by_finding: dict[str, list[_Seen]] = {}
    for each in told:
        by_finding.setdefault(each.finding.detail, []).append(each)
    clauses = [f"{_servers(group)}: {detail}" for detail, group in by_finding.items()]
    ttl = max(each.answer.ttl or 0 for each in told)
    slow = (
        f"Resolvers may keep what is at {wanted.name} now for {ttl // 3600} hours after a change: "
        f"its TTL is {ttl} s. Lower it before you change it."
    )
    if transfer := _transfer(told):
        worst = worst._replace(step=transfer, place="")
    return worst._replace(
        detail=f"{'; '.join(clauses)}.",
        advice=(*worst.advice, *([slow] if ttl > _DAY else [])),
    )


def _transfer(told: Sequence[_Seen]) -> str:
    """Return the remedy where some servers have the record and others do not, else nothing."""
    good = [each for each in told if each.finding.status == "match"]
    bad = [each for each in told if each not in good]
    if not good:
        return ""
    return (
        f"Wait until the zone at {_servers(bad)} is the one at {_servers(good)}, or mend the "
        "transfer between them."
    )


def _held(
    wanted: Wanted, seen: Sequence[_Seen], observation: Observation, cost: Cost | None
) -> Finding:
    """Return what is to be said of a record that every server has that told."""
    told = [each for each in seen if each.finding.status == "match"]
    advice = list(dict.fromkeys(text for each in told for text in each.finding.advice))
    record = f"the {wanted.noun} record at {wanted.name}"
    others = [f"{each.server} {each.finding.detail}" for each in seen if each not in told]
    if others:
        advice.append(f"{in_a_row(others)}, so whether {record} is there, too, is not known.")
    advice += cost_advice(record, cost) if cost else []
    advice += _stale(wanted, observation)
    detail = f"{_servers(told)} {'has' if len(told) == 1 else 'have'} it."
    return Finding("match", detail, "", tuple(advice))


def _stale(wanted: Wanted, observation: Observation) -> list[str]:
    """Return which resolvers do not give yet what is published."""
    seen = [_seen(wanted, answer, None) for answer in observation.resolved]
    behind = [each for each in seen if each.finding.status in {"missing", "conflict"}]
    return [
        f"{each.server}, a resolver, does not give the {wanted.noun} record at {wanted.name} yet. "
        "It may keep what it knew until that is too old."
        for each in behind
    ]


def _unsigned(wanted: Wanted, observation: Observation) -> Finding | None:
    """Return that validating resolvers refuse a record that is there, if any of them does."""
    doubters = [answer for answer in observation.resolved if answer.kind == "bogus"]
    if not doubters:
        return None
    names = in_a_row([str(answer.server) for answer in doubters])
    return Finding(
        "conflict",
        f"The authoritative name servers have it, but its DNSSEC signatures do not hold at "
        f"{names}, so mail servers that validate do without it.",
        f"Have the zone of {wanted.name} signed anew, or have the DS record at its registrar "
        "replaced by one for the zone's key, or removed.",
    )


def _too_dear(wanted: Wanted, cost: Cost | None) -> Finding | None:
    """Return that receivers give an SPF record up before its end, if they do."""
    rejection = rejection_of(cost) if cost else None
    if rejection is None:
        return None
    return wanted.finding(
        "conflict",
        f"The SPF record at {wanted.name} is there, but receivers reject it: {rejection.why}.",
        f"mend the SPF record: {rejection.remedy}.",
    )


def _servers(seen: Sequence[_Seen]) -> str:
    return in_a_row([str(each.answer.server) for each in seen])
