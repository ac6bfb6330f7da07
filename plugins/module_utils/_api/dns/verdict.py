# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Combine the answers of all name servers into one verdict for each record, and for the domain."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from . import messages
from .answers import Answer, Observation
from .compare import Comparison, Status, Wanted, compare
from .dkim import abridged
from .messages import join_words
from .rrset import as_rdata
from .spf_lookups import Cost

Stage = Literal["created", "published", "active", "unknown"]

#: If servers disagree, the first of these decides.
_WORST_FIRST: tuple[Status, ...] = ("conflict", "missing", "match", "unknown")
_DAY = 86400


class ServerVerdict(NamedTuple):
    """What one server has of a record.

    :param server: its name and address
    :param found: the values of that name and type, as in a zone file
    :param detail: a clause
    """

    server: str
    status: Status
    code: str
    found: tuple[str, ...]
    detail: str


class Verdict(NamedTuple):
    """What is known of one record.

    :param code: why, as a code of ``messages``
    :param found: the values that any server has, as in a zone file
    :param detail: what was found where
    :param remedy: what to do, in one sentence; empty for a match
    :param advice: sentences on what may become wrong
    :param held: whether every server that answered has the record, whatever else it has
    """

    wanted: Wanted
    status: Status
    code: str
    found: tuple[str, ...]
    detail: str
    remedy: str
    servers: tuple[ServerVerdict, ...]
    advice: tuple[str, ...] = ()
    held: bool = False

    @property
    def line(self) -> str:
        """The whole verdict on one line. Keys are abridged."""
        text = abridged(f"{self.detail} {self.remedy}")
        return f"{self.wanted.name} {self.wanted.type} ({self.status}): {text}"


class _Seen(NamedTuple):
    """One server's answer, and how it compares."""

    answer: Answer
    found: Comparison

    @property
    def values(self) -> tuple[str, ...]:
        return tuple(as_rdata(value) for value in self.answer.values)

    @property
    def verdict(self) -> ServerVerdict:
        status, code = self.found.status, self.found.code
        return ServerVerdict(str(self.answer.server), status, code, self.values, self.found.detail)


def judge(wanted: Wanted, observation: Observation, cost: Cost | None = None) -> Verdict:
    """Return the verdict on one record.

    :param cost: of the SPF record that was found, if it was counted
    """
    seen = [_compared(wanted, answer, observation.wildcard) for answer in observation.answers]
    known = [each for each in seen if each.found.status != "unknown"]
    result = Verdict(
        wanted,
        "unknown",
        "no_nameservers",
        tuple(dict.fromkeys(value for each in known for value in each.values)),
        "",
        "",
        tuple(each.verdict for each in seen),
        held=bool(known) and all(each.found.held for each in known),
    )
    if not seen:
        return with_text(result, "no_nameservers", wanted.params)
    if not known:
        return result._replace(
            code=seen[0].found.code,
            detail=f"{'; '.join(f'{each.answer.server} {each.found.detail}' for each in seen)}.",
            remedy=" ".join(dict.fromkeys(each.found.remedy for each in seen)),
        )
    if any(each.found.status != "match" for each in known):
        return _wrong(result, known)
    result = result._replace(status="conflict")
    doubters = [answer for answer in observation.resolved if answer.kind == "bogus"]
    if doubters:
        servers = join_words([str(answer.server) for answer in doubters])
        return with_text(result, "dnssec", {**wanted.params, "servers": servers})
    if cost and cost.rejection:
        why, reason = cost.rejection
        return with_text(result, "spf_rejected", {**wanted.params, "why": why, "reason": reason})
    return result._replace(
        status="match",
        code="present",
        detail=f"{_servers(known)} {'has' if len(known) == 1 else 'have'} it.",
        advice=_advice(wanted, seen, observation, cost),
    )


def with_text(verdict: Verdict, code: str, params: messages.Params) -> Verdict:
    """Return a verdict with another reason."""
    detail, remedy = messages.detail(code, params), messages.remedy(code, params)
    return verdict._replace(code=code, detail=detail, remedy=remedy)


def is_resolved(wanted: Wanted, observation: Observation) -> bool:
    """Return whether all resolvers that answered, and at least one, have the record."""
    seen = [_compared(wanted, answer, None) for answer in observation.resolved]
    known = [each for each in seen if each.answer.kind in {"answered", "bogus"}]
    return bool(known) and all(each.found.status == "match" for each in known)


def is_wildcards(answer: Answer, wildcard: Answer | None) -> bool:
    """Return whether an answer comes from a wildcard. Servers give values in any order."""
    if wildcard is None or wildcard.kind != "answered":
        return False
    if answer.alias is not None:
        return answer.alias == wildcard.alias
    return bool(answer.values) and set(answer.values) == set(wildcard.values)


def stage(verdicts: Sequence[Verdict], *, resolved: bool) -> Stage:
    """Return the stage of a domain.

    :param resolved: whether resolvers have every record
    :returns: ``created`` while a record is known to be missing or in conflict; ``published`` when
        all are at the authoritative servers, ``active`` when resolvers have them, too
    """
    statuses = {verdict.status for verdict in verdicts}
    if statuses & {"missing", "conflict"}:
        return "created"
    if statuses != {"match"}:
        return "unknown"
    return "active" if resolved else "published"


def _compared(wanted: Wanted, answer: Answer, wildcard: Answer | None) -> _Seen:
    if answer.kind != "answered":
        return _Seen(answer, _unanswered(wanted, answer))
    # Texts name the target of an alias, where the values are.
    found = compare(wanted._replace(name=answer.alias or wanted.name), answer.values)
    if answer.redirection or answer.alias:
        found = _elsewhere(wanted, answer, found)
    if found.status != "match" and is_wildcards(answer, wildcard):
        found = Comparison("missing", "wildcard", wanted.params)
    return _Seen(answer, found)


def _unanswered(wanted: Wanted, answer: Answer) -> Comparison:
    """Return the result for an answer that proves nothing about the record."""
    params = wanted.params
    above = answer.redirection
    if above is not None and above.is_below(wanted.domain):
        params |= {"problem": above.problem(wanted.name), "detail": messages.text("not_resolved")}
        return Comparison("unknown", "unresolved", params)
    params["detail"] = f" ({answer.detail})" if answer.detail else ""
    code = answer.kind if answer.kind in ("lame", "unfound", "failed") else "silent"
    return Comparison("unknown", code, params)


def _elsewhere(wanted: Wanted, answer: Answer, found: Comparison) -> Comparison:
    """Return the result for a name that is an alias, or below a DNAME record or a delegation.

    A domain can't be an alias; a key may be published elsewhere.
    """
    above, params = answer.redirection, {**wanted.params, "alias": answer.alias}
    is_domain = wanted.name == wanted.domain
    if is_domain and above is None:
        return Comparison("conflict", "cname_domain", params)
    if found.status == "match" and not is_domain and not answer.detail:
        return found
    if above is not None:
        params["problem"] = above.problem(wanted.name)
    else:
        params["problem"] = f"{wanted.name} is an alias (CNAME) of {answer.alias}"
    if answer.detail and not is_domain:
        return Comparison("unknown", "unresolved", {**params, "detail": answer.detail})
    params["detail"] = found.detail
    if above is None:
        return Comparison("conflict", "cname", params)
    params["reason"] = above.remedy(is_key=wanted.noun == "DKIM")
    if above.type == "NS" and found.status == "conflict":
        params["reason"] = found.remedy
    # At other name servers, a missing record can be published without a conflict.
    status = found.status if above.type == "NS" else "conflict"
    return Comparison(status, "elsewhere", params)


def _wrong(result: Verdict, known: Sequence[_Seen]) -> Verdict:
    """Return the verdict of the worst server, with what each server has."""
    worst = min(known, key=lambda each: _WORST_FIRST.index(each.found.status)).found
    by_detail: dict[str, list[_Seen]] = {}
    for each in known:
        by_detail.setdefault(each.found.detail, []).append(each)
    details = "; ".join(f"{_servers(group)}: {detail}" for detail, group in by_detail.items())
    ttl = max(each.answer.ttl or 0 for each in known)
    slow = messages.text("slow_change", name=result.wanted.name, hours=ttl // 3600, ttl=ttl)
    good = [each for each in known if each.found.status == "match"]
    code, remedy = worst.code, worst.remedy
    if good:
        bad = [each for each in known if each not in good]
        code, params = "servers_disagree", {"behind": _servers(bad), "current": _servers(good)}
        remedy = messages.remedy(code, params)
    return result._replace(
        status=worst.status,
        code=code,
        detail=f"{details}.",
        remedy=remedy,
        advice=(*worst.advice, *([slow] if ttl > _DAY else [])),
    )


def _advice(
    wanted: Wanted, seen: Sequence[_Seen], observation: Observation, cost: Cost | None
) -> tuple[str, ...]:
    """Return advice on a record that every server that answered has."""
    known = [each for each in seen if each.found.status == "match"]
    advice = list(dict.fromkeys(text for each in known for text in each.found.advice))
    record = f"the {wanted.noun} record at {wanted.name}"
    others = [f"{each.answer.server} {each.found.detail}" for each in seen if each not in known]
    if others:
        servers = join_words(others)
        advice.append(messages.text("partly_unknown", servers=servers, record=record))
    advice += cost.advice(record) if cost else []
    for answer in observation.resolved:
        if _compared(wanted, answer, None).found.status in {"missing", "conflict"}:
            stale = {"server": answer.server, "noun": wanted.noun, "name": wanted.name}
            advice.append(messages.text("stale_resolver", **stale))
    return tuple(advice)


def _servers(seen: Sequence[_Seen]) -> str:
    return join_words([str(each.answer.server) for each in seen])
