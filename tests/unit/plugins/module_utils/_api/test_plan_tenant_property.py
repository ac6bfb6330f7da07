# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Any tenant, any definition: a plan can be carried out, in any order that it allows.

What a plan is held against is a model of a service, so strict that it forgives nothing, and what
the definition says, read off by other means than the planner's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from random import Random
from typing import Any

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from ansible_collections.postroom.email.plugins.module_utils._api.definition.model import (
    InvalidDefinition,
)
from ansible_collections.postroom.email.plugins.module_utils._api.models import (
    Domain,
    Foreign,
    Forwarder,
    Mailbox,
    Principal,
)
from ansible_collections.postroom.email.plugins.module_utils._api.names import Name
from ansible_collections.postroom.email.plugins.module_utils._api.planning.changes import Change
from ansible_collections.postroom.email.plugins.module_utils._api.planning.steps import (
    TenantPlan,
    digest,
)
from ansible_collections.postroom.email.plugins.module_utils._api.planning.tenant import knots
from ansible_collections.postroom.email.tests.support.planning import domain, named, plan, team

DOMAINS = ("a.example", "b.example", "c.example")
ADDRESSES = tuple(f"{local}@{zone}" for zone in DOMAINS for local in "xyz")
FAR = ("far@away.example",)
PATTERNS = ("*", "x@*", "*@A.example", "b.*", "[yz]@c.example", "?@b.example")
KINDS = ("alias", "mailbox", "forwarder", "domain")

State = dict[Name, Principal]
Parts = dict[str, list[Any]]


class Violation(Exception):
    """A step that the service would have refused."""


@dataclass
class Case:
    """A tenant, what is declared of it, and what may be purged."""

    tenant: list[Principal]
    parts: Parts
    purge: frozenset[str] = frozenset()
    rules: dict[str, Any] = field(default_factory=dict)

    def plan(self, tenant: Iterable[Principal] | None = None) -> TenantPlan:
        """Plan with passwords for all and limits that nothing passes."""
        principals = self.tenant if tenant is None else list(tenant)
        options = {"purge": self.purge, "max_deletions": 99, **self.rules}
        return plan(principals, self.parts, passwords=ADDRESSES, **options)


class Model:
    """A service that refuses whatever any service may refuse."""

    def __init__(self, principals: Iterable[Principal], *, fails: bool = False) -> None:
        self.state: State = {principal.name: principal for principal in principals}
        # Where a step is left out, another that waits for it may close a circle for a while.
        self._forbids_circles = not fails and not in_circles(self.state)

    def carry_out(self, change: Change) -> None:
        """Carry out a change, or say what is wrong with it."""
        name = change.subject.name
        now = self.state.get(name)
        if change.action == "create":
            demand(now is None and change.before is None, f"{name} is there")
            after = change.after
        elif change.action == "delete":
            demand(now is not None and change.after is None, f"{name} is not there")
            demand(not isinstance(now, Domain) or not self._on(name), f"{name} is not empty")
            after = None
        else:
            assert isinstance(now, (Mailbox, Forwarder)), f"{name} has no lists"
            after = change.edit.applied_to(now)
            demand(after != now, f"nothing of {name} changes")
        if after is not None:
            self._check(after)
            self.state[name] = after
        else:
            del self.state[name]
        demand(not (self._forbids_circles and in_circles(self.state)), f"{name} runs round")

    def _check(self, after: Principal) -> None:
        if isinstance(after, Forwarder):
            demand(bool(after.members), f"{after.name} forwards to nobody")
        for address in after.addresses:
            demand(address.domain in self.state, f"{address} has no domain")
            for other in self.state.values():
                is_free = other.name == after.name or address not in other.addresses
                demand(is_free, f"{address} is taken by {other.name}")

    def _on(self, zone: Name) -> list[Name]:
        return [a for p in self.state.values() for a in p.addresses if a.domain == zone]


def demand(condition: bool, otherwise: str) -> None:
    """Refuse what the service would refuse."""
    if not condition:
        raise Violation(otherwise)


class Dice:
    """Draws cases evenly; Hypothesis, drawing each part, would seldom draw one that goes through.

    :param seed: what Hypothesis chooses
    """

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)  # noqa: S311 - nobody is to be kept from guessing it

    def case(self) -> Case:
        """Draw a tenant, a definition for it, and what may be purged."""
        tenant = self.tenant()
        parts = self.parts({p.name.key: p for p in tenant})
        purge = frozenset(kind for kind in KINDS if self.one_in(2))
        scope = (self.random.choice(PATTERNS),) if self.one_in(2) else ("*",)
        ignore = (self.random.choice(PATTERNS[1:]),) if self.one_in(2) else ()
        return Case(tenant, parts, purge, {"scope": scope, "ignore": ignore})

    def one_in(self, number: int) -> bool:
        """Tell whether luck has it."""
        return self.random.randrange(number) == 0

    def members(self, but: str) -> list[str]:
        """Draw members."""
        some = self.random.sample(sorted({*ADDRESSES, *FAR} - {but}), self.random.randint(1, 2))
        return some if self.one_in(2) else [*FAR]

    def tenant(self) -> list[Principal]:
        """Draw a tenant in which each address has one owner and a domain."""
        zones = [zone for zone in DOMAINS if not self.one_in(5)]
        there = [a for a in ADDRESSES if a.partition("@")[2] in zones and not self.one_in(4)]
        owners = [address for address in there if self.one_in(2)]
        own: dict[str, set[Name]] = {owner: set() for owner in owners}
        for address in there:
            if address not in own and owners:
                own[self.random.choice(owners)].add(named(address))
        made = (self.individual(owner, frozenset(aliases)) for owner, aliases in own.items())
        return [*map(domain, zones), *made]

    def individual(self, owner: str, aliases: frozenset[Name]) -> Principal:
        """Draw what holds some addresses."""
        name = named(owner)
        if self.one_in(12):
            return Foreign(name, "group", aliases | {name})
        if self.one_in(2):
            return Forwarder(name, aliases, frozenset(map(named, self.members(owner))))
        return Mailbox(name, aliases)

    def parts(self, there: Mapping[str, Principal]) -> Parts:
        """Draw a definition; few contradict themselves or the tenant's kinds."""
        parts: Parts = {"domains": [], "mailboxes": [], "forwarders": []}
        for zone in DOMAINS:
            states = [None, {}, {}, {}, {"state": "absent"}, {"state": "absent", "force": True}]
            more = self.random.choice(states)
            if more is not None:
                parts["domains"].append({"name": zone, **more})
        gone = {entry["name"] for entry in parts["domains"] if "state" in entry}
        free = []
        for address in ADDRESSES:
            if self.one_in(2):
                part = self.part_of(there.get(address))
                is_gone = address.partition("@")[2] in gone
                parts[part].append(self.entry(part, address, is_gone=is_gone))
            elif address.partition("@")[2] not in gone:
                free.append(address)
        present = [e for part in list(parts)[1:] for e in parts[part] if "state" not in e]
        for address in free:
            if present and self.one_in(2):
                self.random.choice(present).setdefault("aliases", []).append(address)
        return parts

    def part_of(self, found: Principal | None) -> str:
        """Return the part where something is declared, seldom the wrong one."""
        parts = ["mailboxes", "forwarders"]
        if found is None or self.one_in(20):
            return self.random.choice(parts)
        return parts[isinstance(found, Forwarder)]

    def entry(self, part: str, address: str, *, is_gone: bool) -> dict[str, Any]:
        """Draw an entry without aliases to be there."""
        if is_gone or self.one_in(5):
            return {"name": address, "state": "absent"}
        declared: dict[str, Any] = {"name": address}
        if part == "forwarders":
            declared["members"] = self.members(address)
        if self.one_in(2):
            absent = self.random.sample(ADDRESSES, self.random.randrange(3))
            declared["aliases"] = [
                {"address": other, "state": "absent"} for other in absent if other != address
            ]
        return declared


def planned(case: Case) -> TenantPlan:
    """Return a plan that nothing stands against."""
    try:
        found = case.plan()
    except InvalidDefinition:
        found = None
    assume(found is not None and found.findings == ())
    assert found is not None
    return found


CASES = st.integers(0, 2**40).map(lambda seed: Dice(seed).case())
_SETTINGS = settings(
    max_examples=400,
    deadline=None,
    suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow],
)


@_SETTINGS
@given(CASES)
def test_a_plan_is_carried_out_and_ends_in_what_is_declared(case: Case) -> None:
    """In its order each change starts from what it says, and then nothing is left to plan."""
    found = planned(case)
    model = Model(case.tenant)
    for step in found.steps:
        assert model.state.get(step.change.subject.name) == step.change.before
        model.carry_out(step.change)
        assert model.state.get(step.change.subject.name) == step.change.after
    again = case.plan(model.state.values())
    assert (again.steps, again.findings) == ((), ())
    assert_declared(case.parts, model.state)
    assert_kept(case, found, model.state)
    assert_no_new_circle(found, model.state)


@_SETTINGS
@given(CASES, st.data())
def test_steps_may_come_in_any_order_within_their_stages(case: Case, data: st.DataObject) -> None:
    """Threads share a stage, so its steps can't depend on each other."""
    found = planned(case)
    model = Model(case.tenant)
    for positions in found.stages():
        for position in data.draw(st.permutations(positions)):
            model.carry_out(found.steps[position].change)
    assert case.plan(model.state.values()).steps == ()


@_SETTINGS
@given(CASES, st.data())
def test_what_does_not_need_a_step_that_failed_can_be_done(case: Case, data: st.DataObject) -> None:
    """``needs`` is all that a step stands on: with other steps left out it is not refused."""
    found = planned(case)
    positions = range(len(found.steps))
    fails = data.draw(st.frozensets(st.sampled_from(positions)) if positions else st.just(set()))
    undone: set[int] = set()
    model = Model(case.tenant, fails=True)
    for position, step in enumerate(found.steps):
        assert all(need < position for need in step.needs)
        if position in fails or undone.intersection(step.needs):
            undone.add(position)
        else:
            model.carry_out(step.change)


@_SETTINGS
@given(CASES, st.data())
def test_a_digest_does_not_depend_on_the_order(case: Case, data: st.DataObject) -> None:
    """Neither of the tenant's list nor of the definition's."""
    found = planned(case)
    parts = {key: data.draw(st.permutations(entries)) for key, entries in case.parts.items()}
    tenant = data.draw(st.permutations(case.tenant))
    other = Case(tenant, parts, case.purge, case.rules).plan()
    assert other.steps == found.steps
    assert digest(other.changes) == digest(found.changes)


@_SETTINGS
@given(st.lists(st.sets(st.integers(0, 7), max_size=3), min_size=8, max_size=8))
def test_knots_are_where_mail_runs_round(fed: list[set[int]]) -> None:
    """Each forwarder of a circle is in one group, and in one only; each group feeds itself."""
    forwarders = [team(f"f{n}", *(f"f{m}" for m in members)) for n, members in enumerate(fed)]
    groups = [{forwarder.name for forwarder in group} for group in knots(forwarders)]
    state: State = {forwarder.name: forwarder for forwarder in forwarders}
    assert sorted(name for group in groups for name in group) == sorted(in_circles(state))
    for group in groups:
        assert in_circles({name: state[name] for name in group}) == group


def assert_declared(parts: Parts, state: State) -> None:
    """See that a state is what the parts declare."""
    for entry in (*parts["domains"], *parts["mailboxes"], *parts["forwarders"]):
        now = state.get(named(entry["name"]))
        assert (now is None) == ("state" in entry), entry
        for alias in entry.get("aliases", ()):
            assert now is not None
            is_absent = isinstance(alias, Mapping)
            address = named(alias["address"] if isinstance(alias, Mapping) else alias)
            assert (address not in now.addresses) == is_absent, entry
        if "members" in entry:
            assert isinstance(now, Forwarder)
            assert now.members == frozenset(map(named, entry["members"])), entry


def assert_kept(case: Case, found: TenantPlan, state: State) -> None:
    """See that nothing is gone which nobody named and which may not be purged."""
    parts = case.parts
    forced = {named(e["name"]) for e in parts["domains"] if e.get("force")}
    declared = {named(e["name"]): e for part in parts.values() for e in part}
    claimed = {
        named(alias) for e in declared.values() for alias in e.get("aliases", ())
        if isinstance(alias, str)
    } | {name for name, e in declared.items() if "state" not in e}  # fmt: skip

    def ignored(*addresses: Name) -> bool:
        return any(fnmatchcase(a.key, p.lower()) for a in addresses for p in case.rules["ignore"])

    def spared(kind: str, *addresses: Name) -> bool:
        in_scope = any(fnmatchcase(addresses[0].key, p.lower()) for p in case.rules["scope"])
        return kind not in case.purge or not in_scope or ignored(*addresses)

    for before in case.tenant:
        now = state.get(before.name)
        entry = declared.get(before.name)
        if entry is None and ignored(before.name, *before.addresses):
            assert now is not None, before
            assert all(a in now.addresses for a in before.addresses if ignored(a))
        if entry is None and before.name.domain not in forced:
            if isinstance(before, Foreign) or spared(before.kind, before.name, *before.addresses):
                assert now is not None, before
                assert {a for a in before.addresses if a.domain not in forced} <= now.addresses
        elif entry is not None and now is not None:
            absent = {named(a["address"]) for a in entry.get("aliases", ()) if a not in ADDRESSES}
            for alias in before.addresses - absent - claimed:
                if alias.domain not in forced and (
                    "aliases" not in entry or spared("alias", alias)
                ):
                    assert alias in now.addresses, (before, alias)


def assert_no_new_circle(found: TenantPlan, state: State) -> None:
    """See that no forwarder which got members or addresses gets its own mail back."""
    for step in found.steps:
        edit = step.change.edit
        if step.change.action == "create" or edit.add_members or edit.add_aliases:
            assert step.change.subject.name not in in_circles(state)


def in_circles(state: State) -> set[Name]:
    """Return the forwarders that get their own mail back, found by following every copy."""
    owners = {a: p for p in state.values() for a in p.addresses}
    feeds = {
        p.name: {owners[member].name for member in p.members if member in owners}
        for p in state.values()
        if isinstance(p, Forwarder)
    }
    reached = {name: set(fed) for name, fed in feeds.items()}
    for _hop in feeds:
        for name in feeds:
            reached[name] |= {n for fed in reached[name] for n in feeds.get(fed, ())}
    return {name for name, far in reached.items() if name in far}
