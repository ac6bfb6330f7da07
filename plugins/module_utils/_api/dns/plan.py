# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Planning that a domain's DNS records are published, or withdrawn. Pure: nothing is asked.

Other people's records at the same names stay as they are, byte for byte.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

from ..errors import InvalidInput, Refused, TooExpensive
from ..models import Action, shown
from . import dkim, spf
from .edit import Draft, Weigh, with_service, without_service
from .observation import Redirection
from .rrset import (
    Key,
    Mx,
    RecordSet,
    Txt,
    as_lines,
    as_rdata,
    texts_of,
)

CurrentSets = Mapping[Key, RecordSet]
_NONE: Mapping[Any, Any] = MappingProxyType({})


class SetChange(NamedTuple):
    """One record set's way from what it is to what it is to be.

    :param before: the whole set; None where there is none
    :param after: the whole set; None where it is to go
    :param reason: a clause
    :param hidden: the records that a wildcard gives the name until the set exists, or None
    """

    action: Action
    before: RecordSet | None
    after: RecordSet | None
    reason: str
    hidden: RecordSet | None = None

    @property
    def subject(self) -> RecordSet:
        """The record set, as it is to be or as it was."""
        subject = self.after or self.before
        if subject is None:
            raise ValueError("a change is about something")
        return subject

    def as_dict(self) -> dict[str, str]:
        """Return it as a module shows it."""
        return shown(self.action, "record set", self.subject, self.reason)


class Publication(NamedTuple):
    """What is to be written.

    :param changes: at most one a record set, in the service's order
    :param warnings: sentences on what is kept and may be in the way
    :param refused: sentences on record sets that are left alone though they lack something, by key
    """

    changes: tuple[SetChange, ...] = ()
    warnings: tuple[str, ...] = ()
    refused: Mapping[Key, str] = MappingProxyType({})


class Surroundings(NamedTuple):
    """What is known of names beside the record sets at them.

    :param behind: the texts where aliases and delegations lead to, by name, as far as known. The
        service's key there is as good as at the name itself
    :param covered: names that have addresses by a wildcard, and nothing of their own
    :param wildcards: the records that wildcards give names that have nothing of their own
    :param redirections: the DNAME record or the delegation above a name, by name
    """

    behind: Mapping[str, Sequence[str]] = _NONE
    covered: Collection[str] = ()
    wildcards: Mapping[Key, RecordSet] = _NONE
    redirections: Mapping[str, Redirection] = _NONE


_NOTHING = Surroundings()


def plan_presence(
    wanted: Sequence[RecordSet],
    current: CurrentSets,
    aliases: Mapping[str, str],
    around: Surroundings = _NOTHING,
    weigh: Weigh = lambda _name, _wanted, _before, _after: (),
) -> Publication:
    """Plan that the service's records are there.

    :param current: what is at the names now, by name and type
    :param aliases: where the CNAME records at the names lead to
    :param weigh: checks an SPF record before it is written or suggested
    :raises Refused: something is there that only its owner can decide on
    """
    elsewhere = aliases.keys() | around.redirections.keys()
    free = [record_set for record_set in wanted if record_set.name not in elsewhere]
    problems = [
        _barred(record_set, aliases, around.redirections)
        for record_set in wanted
        if record_set.name in elsewhere
        and not _leads(around.behind.get(record_set.name, ()), record_set)
    ]
    problems = list(dict.fromkeys(problems))
    publication = _plan(free, current, partial(with_service, weigh=weigh), problems)
    changes = tuple(
        change._replace(hidden=around.wildcards.get(change.subject.key))
        for change in publication.changes
    )
    domains = {one.name for one in wanted if any(isinstance(value, Mx) for value in one.values)}
    hidden = [_hidden(change) for change in changes if change.subject.name in domains]
    warnings = (*publication.warnings, *filter(None, hidden), *map(_uncovered, around.covered))
    return publication._replace(changes=changes, warnings=warnings)


def _barred(
    wanted: RecordSet, aliases: Mapping[str, str], redirections: Mapping[str, Redirection]
) -> str:
    """Return why a record set can't be published at its name, and what to do."""
    name = wanted.name
    redirection = redirections.get(name)
    if redirection is None:
        return (
            f"{name}: the name is an alias (CNAME) of {aliases[name]}, and nothing else can be at "
            "it. Delete the CNAME record first."
        )
    is_key = all(isinstance(value, Txt) and dkim.is_key(value.text) for value in wanted.values)
    problem, remedy = redirection.problem(name), redirection.remedy(is_key=is_key)
    return f"{wanted} can't be published: {problem}. {remedy}"


def plan_absence(
    wanted: Sequence[RecordSet],
    current: CurrentSets,
    aliases: Mapping[str, str],
    redirections: Mapping[str, Redirection] = _NONE,
) -> Publication:
    """Plan that the service's records are gone, and nothing else.

    :param current: what is at the names now, by name and type
    :param aliases: where the CNAME records at the names lead to; such names are left alone
    :param redirections: by name; such names are left alone, with a warning
    :raises Refused: something is there that only its owner can decide on
    """
    elsewhere = aliases.keys() | redirections.keys()
    free = [record_set for record_set in wanted if record_set.name not in elsewhere]
    publication = _plan(free, current, without_service, [])
    kept = tuple(
        f"{name} is left alone, because {above.owner} has {above.type} records. Delete the "
        f"service's records at {above.place}."
        for name, above in redirections.items()
    )
    return publication._replace(warnings=publication.warnings + kept)


def as_diff(publication: Publication) -> list[dict[str, str]]:
    """Return before and after as lines of a zone file, one pair a change."""
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


def _leads(texts: Sequence[str], wanted: RecordSet) -> bool:
    """Tell whether these texts are those of a key that is wanted."""
    return all(
        isinstance(value, Txt)
        and dkim.is_key(value.text)
        and dkim.compare(value.text, texts).status == "match"
        for value in wanted.values
    )


def _uncovered(name: str) -> str:
    return (
        f"{name} has addresses by a wildcard only, which ends where a name has records of its "
        f"own. Add A or AAAA records at {name} if it is used for more than mail."
    )


def _hidden(change: SetChange) -> str:
    """Return what a wildcard's records at a name mean that gets records of its own."""
    kept = change.after.values if change.after else ()
    lost = [value for value in (change.hidden.values if change.hidden else ()) if value not in kept]
    if not lost:
        return ""
    name, kind = change.subject.key
    records = ", ".join(f"{kind} {as_rdata(value)}" for value in lost)
    advice = f"Add them at {name} if you need them."
    if any(spf.is_spf(text) for text in texts_of(lost)):
        advice += " If it has an SPF record by then, add the terms to that: only one may exist."
    return (
        f"{name} gets {records} from a wildcard, which no longer applies once the name has records "
        f"of its own. {advice}"
    )


def _plan(
    wanted: Sequence[RecordSet],
    current: CurrentSets,
    rule: Callable[[RecordSet, RecordSet], Draft],
    problems: list[str],
) -> Publication:
    """Return what a rule makes of each set; all that stands against it is told at once."""
    changes: list[SetChange] = []
    warnings: list[str] = []
    refused: dict[Key, str] = {}
    for record_set in wanted:
        empty = record_set._replace(values=())
        before = current.get(record_set.key, empty)
        try:
            draft = rule(record_set, before)
        except TooExpensive as error:
            refused[record_set.key] = str(error)
            continue
        except (InvalidInput, Refused) as error:
            problems.append(f"{record_set}: {error}")
            continue
        warnings += [f"{record_set}: {warning}" for warning in draft.warnings]
        changes += _change(record_set, before, draft)
    if problems:
        raise Refused(" ".join(problems))
    return Publication(tuple(changes), tuple(warnings), refused)


def _change(wanted: RecordSet, before: RecordSet, draft: Draft) -> Iterator[SetChange]:
    ours = set(draft.values) <= set(wanted.values)
    # What holds other people's records as well keeps their time to live.
    after = before._replace(values=draft.values, ttl=wanted.ttl if ours else before.ttl)
    reasons = list(draft.reasons)
    if before.values and after.values and before.ttl != after.ttl:
        reasons.append(f"its TTL is {before.ttl} in place of {after.ttl} seconds")
    if not reasons:
        return
    reason = ", ".join(reasons)
    if not before.values:
        yield SetChange("create", None, after, reason)
    elif not after.values:
        yield SetChange("delete", before, None, reason)
    else:
        yield SetChange("update", before, after, reason)
