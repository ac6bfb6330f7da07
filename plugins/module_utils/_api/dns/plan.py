# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Plan how to publish or withdraw record sets. Records of others stay as they are."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from ..errors import PostroomError, Refused, TooExpensive
from ..models import Action, shown
from . import dkim, messages, spf, spf_merge
from .answers import Redirection
from .compare import Wanted, compare, without
from .messages import Params
from .rrset import Key, Mx, RecordSet, Txt, Value, as_lines, as_rdata, texts_of
from .spf_check import CheckSpf

CurrentSets = Mapping[Key, RecordSet]
_NONE: Mapping[Any, Any] = MappingProxyType({})


class SetChange(NamedTuple):
    """The change of one record set.

    :param before: the whole set; None if there is none
    :param after: the whole set; None if it is deleted
    :param code: the code of the reason, of the first if there are several
    :param reason: a clause
    :param hidden: the records that a wildcard gives the name until the set exists, or None
    """

    action: Action
    before: RecordSet | None
    after: RecordSet | None
    code: str
    reason: str
    hidden: RecordSet | None = None

    @property
    def subject(self) -> RecordSet:
        """The record set after the change, or before it if it is deleted."""
        subject = self.after or self.before
        if subject is None:
            raise ValueError("a change without a record set")
        return subject

    def as_dict(self) -> dict[str, str]:
        """Return it as modules show changes."""
        return {**shown(self.action, "record set", self.subject, self.reason), "code": self.code}


class Publication(NamedTuple):
    """The plan.

    :param changes: at most one for each record set, in the service's order
    :param warnings: sentences on what is kept and may conflict
    :param refused: why record sets that lack something are left alone, by key
    """

    changes: tuple[SetChange, ...] = ()
    warnings: tuple[str, ...] = ()
    refused: Mapping[Key, str] = MappingProxyType({})


class Surroundings(NamedTuple):
    """What affects names besides the record sets at them.

    :param behind: the texts where aliases and delegations lead to, by name, as far as known; the
        service's key there counts as published
    :param covered: names that have addresses by a wildcard, and nothing of their own
    :param wildcards: the records that wildcards give names that have nothing of their own
    :param redirections: the DNAME record or the delegation above a name, by name
    """

    behind: Mapping[str, Sequence[str]] = _NONE
    covered: Collection[str] = ()
    wildcards: Mapping[Key, RecordSet] = _NONE
    redirections: Mapping[str, Redirection] = _NONE


_NO_SURROUNDINGS = Surroundings()


class _Edit(NamedTuple):
    """The new values of a set, with the code and parameters of each reason."""

    values: tuple[Value, ...]
    reasons: list[tuple[str, Params]]
    warnings: list[str]


def plan_presence(
    wanted: Sequence[RecordSet],
    current: CurrentSets,
    aliases: Mapping[str, str],
    around: Surroundings = _NO_SURROUNDINGS,
    check: CheckSpf = lambda _name, _wanted, _before, _after: (),
) -> Publication:
    """Plan to publish the service's records.

    :param current: the record sets at the names, by name and type
    :param aliases: where CNAME records at the names lead to
    :param check: checks an SPF record before it is written or suggested: see `spf_check`
    :raises Refused: only the owner of the domain can decide; all problems are reported together
    """
    elsewhere = aliases.keys() | around.redirections.keys()
    problems: list[str] = []
    changes: list[SetChange] = []
    warnings: list[str] = []
    refused: dict[Key, str] = {}
    for one in wanted:
        if one.name in elsewhere:
            if not _has_keys(one, around.behind.get(one.name, ())):
                problems.append(_barred(one, aliases, around.redirections))
            continue
        before = current.get(one.key, one._replace(values=()))
        try:
            edit = _present(one, before, check)
        except TooExpensive as error:
            refused[one.key] = str(error)
            continue
        except PostroomError as error:
            problems.append(f"{one}: {error}")
            continue
        warnings += [f"{one}: {warning}" for warning in edit.warnings]
        hidden = around.wildcards.get(one.key)
        changes += [change._replace(hidden=hidden) for change in _change(one, before, edit)]
    if problems:
        raise Refused(" ".join(dict.fromkeys(problems)))
    domains = {one.name for one in wanted if any(isinstance(value, Mx) for value in one.values)}
    for change in changes:
        if change.subject.name in domains:
            warnings += _hidden(change)
    warnings += [messages.text("wildcard_addresses", name=name) for name in around.covered]
    return Publication(tuple(changes), tuple(warnings), refused)


def plan_absence(
    wanted: Sequence[RecordSet],
    current: CurrentSets,
    aliases: Mapping[str, str],
    redirections: Mapping[str, Redirection] = _NONE,
) -> Publication:
    """Plan to withdraw the service's records, and nothing else.

    :param current: the record sets at the names, by name and type
    :param aliases: where CNAME records at the names lead to; such names are left alone
    :param redirections: by name; such names are left alone, with a warning
    """
    changes: list[SetChange] = []
    warnings: list[str] = []
    for one in wanted:
        if one.name in aliases or one.name in redirections:
            continue
        before = current.get(one.key, one._replace(values=()))
        edit = _Edit(before.values, [], [])
        for value in one.values:
            each = Wanted(one.name, value, one.values)
            removal = without(each, edit.values)
            if removal.change:
                edit.reasons.append((removal.change, each.params))
            if removal.warning:
                warnings.append(f"{one}: {removal.warning}")
            edit = edit._replace(values=removal.values)
        changes += _change(one, before, edit)
    for name, above in redirections.items():
        where = {"owner": above.owner, "type": above.type, "place": above.place}
        warnings.append(messages.text("kept_elsewhere", name=name, **where))
    return Publication(tuple(changes), tuple(warnings))


def as_diff(publication: Publication) -> list[dict[str, str]]:
    """Return before and after as lines of a zone file, one pair for each change."""
    return [
        {
            "before_header": f"record set {change.subject}",
            "after_header": f"record set {change.subject}",
            "before": "".join(_lines_before(change)),
            "after": as_lines([change.after] if change.after else []),
        }
        for change in publication.changes
    ]


def _lines_before(change: SetChange) -> Iterator[str]:
    """Yield the lines of a set before a change, those from a wildcard as comments."""
    if change.hidden:
        for line in as_lines([change.hidden]).splitlines():
            yield f"; from a wildcard: {line}\n"
    yield as_lines([change.before] if change.before else [])


def _has_keys(wanted: RecordSet, texts: Sequence[str]) -> bool:
    """Return whether a record set is DKIM keys only, and all of them are among some texts."""
    values = tuple(Txt((text.encode("utf-8", "surrogateescape"),)) for text in texts)
    each = [Wanted(wanted.name, value, wanted.values) for value in wanted.values]
    return all(one.noun == "DKIM" and compare(one, values).status == "match" for one in each)


def _barred(
    wanted: RecordSet, aliases: Mapping[str, str], redirections: Mapping[str, Redirection]
) -> str:
    """Return why a record set can't be published at its name, and what to do."""
    name = wanted.name
    above = redirections.get(name)
    if above is None:
        return messages.text("barred_cname", name=name, alias=aliases[name])
    is_key = all(isinstance(value, Txt) and dkim.is_key(value.text) for value in wanted.values)
    problem, remedy = above.problem(name), above.remedy(is_key=is_key)
    return messages.text("barred", set=wanted, problem=problem, remedy=remedy)


def _present(wanted: RecordSet, before: RecordSet, check: CheckSpf) -> _Edit:
    """Return the edit that publishes one record set.

    :raises Refused: only the owner of the domain can decide
    :raises TooExpensive: receivers would reject the SPF record
    """
    edit = _Edit(before.values, [], [])
    for value in wanted.values:
        each = Wanted(wanted.name, value, wanted.values)
        compared = compare(each, edit.values)
        if each.noun == "SPF" and compared.proposal:
            edit.warnings.extend(spf_merge.size_advice(compared.proposal))
            there = [text for text in texts_of(edit.values) if spf.is_spf(text)]
            try:
                if there:
                    earlier = there[0] if compared.values else None
                    edit.warnings.extend(check(each.name, each.text, earlier, compared.proposal))
            except PostroomError as error:
                if compared.values:
                    raise
                raise Refused(f"{compared.detail}. {error}") from None
        if compared.values is None:
            raise Refused(f"{compared.detail}. {compared.remedy}")
        if compared.change:
            edit.reasons.append((compared.change, compared.params))
        edit = edit._replace(values=compared.values)
    edit.warnings.extend(_rivals(wanted, before))
    return edit


def _rivals(wanted: RecordSet, before: RecordSet) -> Iterator[str]:
    """Yield a warning about each mail server of others, which is kept."""
    ours = [value for value in wanted.values if isinstance(value, Mx)]
    first = min((mx.priority for mx in ours), default=0)
    hosts = {mx.exchange for mx in ours}
    for value in sorted(mx for mx in before.values if isinstance(mx, Mx)):
        if value.exchange not in hosts:
            code = "mx_share" if value.priority == first else "mx_backup"
            effect = messages.text("mx_first" if value.priority < first else code)
            named = {"host": value.exchange, "priority": value.priority}
            yield messages.text("mx_kept", effect=effect, **named)


def _hidden(change: SetChange) -> Iterator[str]:
    """Yield a warning about the records of a wildcard that no longer apply after a change."""
    kept = change.after.values if change.after else ()
    lost = [value for value in (change.hidden.values if change.hidden else ()) if value not in kept]
    if lost:
        name, kind = change.subject.key
        records = ", ".join(f"{kind} {as_rdata(value)}" for value in lost)
        more = messages.text("wildcard_spf") if any(map(spf.is_spf, texts_of(lost))) else ""
        yield messages.text("wildcard_records", name=name, records=records) + more


def _change(wanted: RecordSet, before: RecordSet, edit: _Edit) -> Iterator[SetChange]:
    ours = set(edit.values) <= set(wanted.values)
    # A set with records of others keeps its TTL.
    after = before._replace(values=edit.values, ttl=wanted.ttl if ours else before.ttl)
    reasons = list(edit.reasons)
    if before.values and after.values and before.ttl != after.ttl:
        reasons.append(("ttl", {"found": before.ttl, "wanted": after.ttl}))
    if reasons:
        code = reasons[0][0]
        reason = ", ".join(messages.reason(*one) for one in reasons)
        if not before.values:
            yield SetChange("create", None, after, code, reason)
        elif not after.values:
            yield SetChange("delete", before, None, code, reason)
        else:
            yield SetChange("update", before, after, code, reason)
