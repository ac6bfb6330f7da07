# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Plan, publish and withdraw the service's record sets without changing other records.

The prerequisites of each update are the records that were read, so the server rejects the update if
another client has changed them. Before each retry, the records are read again, and the changes are
planned again. It is therefore safe to repeat an update whose response was lost.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from .. import errors
from ..models import Action
from . import messages, spf
from .compare import WantedRecord, compare, without
from .messages import Params
from .notations import zone_text
from .record_types import Key, Mx, RecordSet, Redirection, Value, texts_of, txt
from .spf_lookups import SPF_TIMEOUT, Ask, check_merged, limited
from .update import UpdateServer

CurrentSets = Mapping[Key, RecordSet]
Redirections = Mapping[str, Redirection]

_FIRST_BACKOFF, _MAX_BACKOFF, _MAX_ATTEMPTS = 0.05, 2.0, 40


class SetChange(NamedTuple):
    """A change to one record set.

    :param before: the whole record set before the change, or None if it did not exist
    :param after: the whole record set after the change, or None if it is deleted
    :param code: the code of the first reason
    """

    action: Action
    before: RecordSet | None
    after: RecordSet | None
    code: str
    reason: str

    @property
    def subject(self) -> RecordSet:
        """The record set after the change, or the previous record set if it is deleted."""
        subject = self.after or self.before
        if subject is None:
            raise ValueError("a change without a record set")
        return subject

    def as_dict(self) -> dict[str, str]:
        """Return the change in the format of a module's result."""
        about = {"kind": "record set", "name": str(self.subject)}
        return {"action": self.action, **about, "reason": self.reason, "code": self.code}


class RecordPlan(NamedTuple):
    """The planned or applied changes.

    :param changes: at most one change for each record set, in the service's order
    :param refused: the reasons why record sets are left incomplete, keyed by name and type
    """

    changes: tuple[SetChange, ...] = ()
    warnings: tuple[str, ...] = ()
    refused: Mapping[Key, str] = MappingProxyType({})

    @property
    def diff(self) -> list[dict[str, str]]:
        """The diff of each change, with record sets as lines of a zone file."""
        return [
            {
                "before_header": f"record set {change.subject}",
                "after_header": f"record set {change.subject}",
                "before": zone_text([change.before] if change.before else []),
                "after": zone_text([change.after] if change.after else []),
            }
            for change in self.changes
        ]


class Published(NamedTuple):
    """The result of publishing or withdrawing record sets.

    :param sets: the record sets at the wanted names after the changes
    :param redirections: the CNAME, DNAME or NS record of each redirected name, keyed by name
    """

    plan: RecordPlan
    sets: tuple[RecordSet, ...]
    redirections: Redirections


def plan_presence(
    wanted: Sequence[RecordSet],
    current: CurrentSets,
    redirections: Redirections,
    at_target: Mapping[str, Sequence[str]] = MappingProxyType({}),
    ask: Ask | None = None,
) -> RecordPlan:
    """Plan to publish the service's records.

    :param redirections: the redirections, keyed by name; redirected names can't hold records
    :param at_target: the TXT records at the targets of redirected names, where they are known.
        If the service's key is among them, it counts as published.
    :param ask: a function that looks up the names in SPF records, or None if dnspython is missing
    :raises Refused: if the domain's owner must decide; the message lists all problems
    """
    problems: list[str] = []
    changes: list[SetChange] = []
    warnings: list[str] = []
    refused: dict[Key, str] = {}
    for one in wanted:
        redirection = redirections.get(one.name)
        if redirection is not None:
            there = [txt(text) for text in at_target.get(one.name, ())]
            found = [compare(each, there) for each in _records(one)]
            if any(each.status != "match" for each in found) or _domain_names([one]):
                params = {"set": one, "redirection": redirection, "owner": redirection.owner}
                problems.append(messages.text("elsewhere", **params))
            continue
        before = current.get(one.key, one._replace(values=()))
        try:
            changes += _present(one, before, warnings, ask)
        except errors.TooExpensive as error:
            refused[one.key] = str(error)
        except errors.PostroomError as error:
            problems.append(f"{one}: {error}")
    if problems:
        raise errors.Refused(" ".join(problems))
    return RecordPlan(tuple(changes), tuple(warnings), refused)


def plan_absence(
    wanted: Sequence[RecordSet], current: CurrentSets, redirections: Redirections
) -> RecordPlan:
    """Plan to withdraw only the service's records.

    :param redirections: the redirections, keyed by name; redirected names are skipped with a
        warning
    """
    changes: list[SetChange] = []
    warnings: list[str] = []
    for one in wanted:
        redirection = redirections.get(one.name)
        if redirection is not None:
            warnings.append(messages.text("kept_elsewhere", set=one, redirection=redirection))
            continue
        before = current.get(one.key, one._replace(values=()))
        values, reasons = before.values, list[tuple[str, Params]]()
        for each in _records(one):
            removal = without(each, values)
            values = removal.values
            if removal.change:
                reasons.append((removal.change, each.params))
            if removal.warning:
                warnings.append(f"{one}: {removal.warning}")
        changes += _change(one, before, values, reasons)
    return RecordPlan(tuple(changes), tuple(warnings))


def _records(one: RecordSet) -> list[WantedRecord]:
    return [WantedRecord(one.name, value, one.values) for value in one.values]


def _domain_names(wanted: Sequence[RecordSet]) -> set[str]:
    """Return the domains, which are the names with MX or SPF records."""
    return {one.name for one in wanted for each in _records(one) if each.noun in ("MX", "SPF")}


def _present(
    one: RecordSet, before: RecordSet, warnings: list[str], ask: Ask | None
) -> Iterator[SetChange]:
    """Yield the change, if any, that publishes a record set. Append warnings to ``warnings``.

    :raises Refused: if the domain's owner must decide
    :raises TooExpensive: if receivers would reject the SPF record
    """
    values, reasons = before.values, list[tuple[str, Params]]()
    for each in _records(one):
        found = compare(each, values)
        if found.values is None:
            raise errors.Refused(messages.sentences(found.code, found.params))
        if found.change == "spf_incomplete":
            (published,) = filter(spf.is_spf, texts_of(values))
            texts = check_merged(each.name, published, found.proposal or "", ask)
            warnings += [f"{one}: {text}" for text in texts]
        if found.change:
            reasons.append((found.change, found.params))
        values = found.values
    hosts = {mx.exchange for mx in one.values if isinstance(mx, Mx)}
    first = min((mx.priority for mx in one.values if isinstance(mx, Mx)), default=0)
    for mx in sorted(value for value in before.values if isinstance(value, Mx)):
        if mx.exchange not in hosts:
            code = "mx_share" if mx.priority == first else "mx_backup"
            effect = messages.text("mx_first" if mx.priority < first else code)
            params = {"host": mx.exchange, "priority": mx.priority, "effect": effect}
            warnings.append(f"{one}: {messages.text('mx_kept', **params)}")
    yield from _change(one, before, values, reasons)


def _change(
    wanted: RecordSet,
    before: RecordSet,
    values: tuple[Value, ...],
    reasons: list[tuple[str, Params]],
) -> Iterator[SetChange]:
    # A record set that also contains other records keeps its TTL.
    is_ours = set(values) <= set(wanted.values)
    after = before._replace(values=values, ttl=wanted.ttl if is_ours else before.ttl)
    if before.values and after.values and before.ttl != after.ttl:
        reasons = [*reasons, ("ttl", {"found": before.ttl, "wanted": after.ttl})]
    if reasons:
        texts = reasons[0][0], ", ".join(messages.reason(*each) for each in reasons)
        if not before.values:
            yield SetChange("create", None, after, *texts)
        elif not after.values:
            yield SetChange("delete", before, None, *texts)
        else:
            yield SetChange("update", before, after, *texts)


def publish(
    wanted: Sequence[RecordSet],
    server: UpdateServer,
    *,
    absent: bool = False,
    dry_run: bool,
    ask: Ask,
) -> Published:
    """Publish record sets at a name server.

    :param absent: withdraw the record sets instead
    :param dry_run: only read and plan
    :param ask: a function that looks up names, which may be outside the server's zones
    :raises Refused: if the domain's owner must decide; nothing was written
    :raises TooExpensive: if an SPF record was not changed; the other records were written
    :raises NameServerError: if the server failed; ``done`` lists the changes that were applied
    """
    run = _Publisher(wanted, server, ask, absent=absent)
    try:
        published = run.read_and_plan() if dry_run else run.apply()
        refused = published.plan.refused
        if refused:
            raise errors.TooExpensive(" ".join([*refused.values(), messages.text("left_alone")]))
    except errors.PostroomError as error:
        run.add_results(error)
        raise
    return published


class _Publisher:
    def __init__(
        self, wanted: Sequence[RecordSet], server: UpdateServer, ask: Ask, *, absent: bool
    ) -> None:
        self._wanted = wanted
        self._server = server
        # limited() caches results, because retries repeat queries. Half of the time is reserved
        # for writing.
        self._ask = limited(ask, min(SPF_TIMEOUT, server.time_left() / 2))
        self._absent = absent
        self._done: dict[Key, SetChange] = {}
        #: The changes whose updates received no response.
        self._unsure: dict[Key, SetChange] = {}
        self._zones: dict[str, str] = {}
        self._delegations: dict[str, Redirection] = {}
        # Find all zones before writing anything.
        for name in sorted({one.name for one in wanted}, key=len):
            try:
                self._zones[name] = server.zone_of(name)
            except errors.UpdateRefused:  # noqa: PERF203 - each name may fail
                cut = server.delegation_of(name)
                if cut is None or not any(cut.owner.endswith(f".{one}") for one in self._zones):
                    raise
                self._delegations[name] = cut

    def read_and_plan(self) -> Published:
        sets: dict[Key, RecordSet] = {}
        redirections = {**self._delegations}
        at_target: dict[str, Sequence[str]] = {}
        for one in self._wanted:
            if one.name not in self._zones:
                continue
            found = self._server.read(one.name, one.type)
            if found.redirection is not None:
                redirections[one.name] = found.redirection
                at_target[one.name] = found.texts
            elif found.values:
                sets[one.key] = one._replace(ttl=found.ttl or 0, values=found.values)
        if self._absent:
            plan = plan_absence(self._wanted, sets, redirections)
        else:
            for name, redirection in redirections.items():
                place = name if redirection.type == "NS" else redirection.target
                at_target[name] = at_target.get(name) or self._ask(place, "TXT") or ()
            plan = plan_presence(self._wanted, sets, redirections, at_target, self._ask)
            hidden = self._hidden_records({name for name, _type in sets} | {*redirections})
            plan = plan._replace(warnings=(*plan.warnings, *hidden))
        after: dict[Key, RecordSet | None] = {**sets}
        after.update((change.subject.key, change.after) for change in plan.changes)
        kept = tuple(one for one in after.values() if one is not None)
        return Published(plan, kept, redirections)

    def _hidden_records(self, known: set[str]) -> Iterator[str]:
        """Yield a warning for each domain that would lose the records of a wildcard."""
        for name in sorted(_domain_names(self._wanted) - known):
            kinds = ("MX", "TXT", "A", "AAAA")
            types = [kind for kind in kinds if self._server.read(name, kind).only_wildcard]
            if types:
                yield messages.text("wildcard", name=name, types=messages.join_words(types))

    def apply(self) -> Published:
        warnings: tuple[str, ...] = ()
        lost_races: list[errors.ZoneChanged] = []
        attempt = 0
        while True:
            try:
                planned = self.read_and_plan()
                changes, new, refused = planned.plan
                # If only the response was lost, the next plan is empty and has no warnings.
                warnings = new if changes else warnings
                self._write(changes)
            except errors.NameServerError as error:  # noqa: PERF203 - the loop retries
                if isinstance(error, errors.ZoneChanged):
                    lost_races.append(error)
                elif lost_races and not self._unsure and time.monotonic() >= self._server.until:
                    # Report the other clients' changes as the cause, not the query that timed out
                    # last.
                    raise lost_races[-1] from None
                final = isinstance(error, (errors.KeyRefused, errors.UpdateRefused))
                retry = isinstance(error, errors.ZoneChanged) or self._unsure
                # The random pause prevents publishers from invalidating each other's plans
                # repeatedly.
                backoff = min(_MAX_BACKOFF, _FIRST_BACKOFF * 2**attempt)
                pause = backoff * (0.5 + random.random())  # noqa: S311 - no secret
                attempt += 1
                left = self._server.until - time.monotonic()
                if final or not retry or attempt >= _MAX_ATTEMPTS or left <= pause:
                    raise
                time.sleep(pause)
            else:
                done = tuple(self._done.values())
                plan = RecordPlan(done, tuple(dict.fromkeys(warnings + new)), refused)
                return planned._replace(plan=plan)

    def _write(self, changes: Sequence[SetChange]) -> None:
        planned = {change.subject.key for change in changes}
        # If an update got no response and its changes are no longer planned, it was applied.
        self._note([change for key, change in self._unsure.items() if key not in planned])
        by_zone: dict[str, list[SetChange]] = {}
        for change in changes:
            by_zone.setdefault(self._zones[change.subject.name], []).append(change)
        for zone, ones in by_zone.items():
            try:
                self._server.update(zone, [(one.before, one.after) for one in ones])
            except errors.NoAnswer:
                self._unsure.update((change.subject.key, change) for change in ones)
                raise
            self._note(ones)

    def _note(self, changes: Sequence[SetChange]) -> None:
        for change in changes:
            self._unsure.pop(change.subject.key, None)
            self._done[change.subject.key] = change

    def add_results(self, error: errors.PostroomError) -> None:
        """Add to an error the changes that were applied, and those that may have been applied."""
        error.done = [change.as_dict() for change in self._done.values()]
        if self._unsure:
            error.unsure = True
            names = ", ".join(str(change.subject) for change in self._unsure.values())
            error.add(messages.text("unsure", names=names))
