# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The planner: what is changed, what is refused, and what has to be known for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ansible_collections.postroom.email.plugins.module_utils._api.models import (
    Domain,
    Edit,
    Foreign,
    Forwarder,
    Mailbox,
    Principal,
)
from ansible_collections.postroom.email.plugins.module_utils._api.names import (
    Name,
    parse_address,
    parse_domain,
)
from ansible_collections.postroom.email.plugins.module_utils._api.planning.alias import (
    plan_alias,
    plan_alias_removal,
)
from ansible_collections.postroom.email.plugins.module_utils._api.planning.changes import Plan
from ansible_collections.postroom.email.plugins.module_utils._api.planning.common import (
    plan_removal,
)
from ansible_collections.postroom.email.plugins.module_utils._api.planning.domain import (
    plan_domain,
    plan_domain_removal,
)
from ansible_collections.postroom.email.plugins.module_utils._api.planning.forwarder import (
    WantedForwarder,
    plan_forwarder,
)
from ansible_collections.postroom.email.plugins.module_utils._api.planning.mailbox import (
    WantedMailbox,
    plan_mailbox,
)
from ansible_collections.postroom.email.plugins.module_utils._api.planning.tenant import (
    Glimpse,
    NeedsWhole,
    Tenant,
)

HOME, OTHER = parse_domain("example.com"), parse_domain("other.example")
ALICE, BOB = parse_address("alice@example.com"), parse_address("bob@example.com")
SALES, OLD = parse_address("sales@example.com"), parse_address("old@example.com")
TEAM, FAR = parse_address("team@example.com"), parse_address("someone@far.example")
STRAY = parse_address("alice@unknown.example")
PASSWORDS = ("pw-8Kd!q0-Zebra",)

Planner = Callable[[Tenant], Plan]


def names(*members: Name) -> frozenset[Name]:
    """Return a set of names."""
    return frozenset(members)


def tenant(*principals: Principal) -> Tenant:
    """Return a tenant with two domains and these."""
    return Tenant([Domain(HOME), Domain(OTHER), *principals])


def box(name: Name = ALICE, **options: Any) -> Planner:
    """Plan a mailbox."""
    return lambda t: plan_mailbox(t, WantedMailbox(name, **options))


def team(name: Name = TEAM, **options: Any) -> Planner:
    """Plan a forwarder."""
    return lambda t: plan_forwarder(t, WantedForwarder(name, **options))


def alias(address: Name = SALES, mailbox: Name = ALICE, *, move: bool = False) -> Planner:
    """Plan an alias."""
    return lambda t: plan_alias(t, address, mailbox, move=move)


def no_domain(name: Name = HOME, *, force: bool = False) -> Planner:
    """Plan a domain away."""
    return lambda t: plan_domain_removal(t, name, force=force)


def gone(name: Name, kind: type[Mailbox | Forwarder]) -> Planner:
    """Plan a mailbox or a forwarder away."""
    return lambda t: plan_removal(t, name, kind)


ALICES = Mailbox(ALICE, names(SALES, OLD))
TEAMS = Forwarder(TEAM, names(), names(ALICE, FAR))

#: The tenant, the plan, and the actions with their subjects.
CHANGES: dict[str, tuple[list[Principal], Planner, list[str]]] = {
    "domain": ([], lambda t: plan_domain(t, STRAY.domain), ["create unknown.example"]),
    "mailbox": ([], box(passwords=PASSWORDS), ["create alice@example.com"]),
    "mailbox, alias": ([Mailbox(ALICE)], box(aliases=names(SALES)), ["update alice@example.com"]),
    "mailbox, purge": ([ALICES], box(aliases=names(), purge_aliases=True),
                       ["update alice@example.com"]),
    "mailbox, password": ([ALICES], box(passwords=PASSWORDS, replace_passwords=True),
                          ["update alice@example.com"]),
    "forwarder": ([], team(members=names(FAR)), ["create team@example.com"]),
    "forwarder, members": ([TEAMS], team(members=names(FAR)), ["update team@example.com"]),
    "alias": ([Mailbox(ALICE)], alias(), ["update alice@example.com"]),
    "alias, moved": ([Mailbox(ALICE), Mailbox(BOB, names(SALES))], alias(move=True),
                     ["update bob@example.com", "update alice@example.com"]),
    "alias, moved from a forwarder": (
        [Mailbox(ALICE), Forwarder(TEAM, names(SALES), names(FAR))], alias(move=True),
        ["update team@example.com", "update alice@example.com"]),
    "no alias": ([ALICES], lambda t: plan_alias_removal(t, OLD, ALICE),
                 ["update alice@example.com"]),
    "no mailbox": ([ALICES], gone(ALICE, Mailbox), ["delete alice@example.com"]),
    "no forwarder": ([TEAMS], gone(TEAM, Forwarder), ["delete team@example.com"]),
    "no domain": ([], no_domain(), ["delete example.com"]),
    "no domain and nothing in it": (
        [ALICES, TEAMS, Mailbox(parse_address("z@other.example"), names(BOB))],
        no_domain(force=True),
        ["update z@other.example", "delete alice@example.com", "delete team@example.com",
         "delete example.com"]),
}  # fmt: skip

UNCHANGED: dict[str, tuple[list[Principal], Planner]] = {
    "domain": ([], lambda t: plan_domain(t, HOME)),
    "mailbox": ([ALICES], box(passwords=PASSWORDS)),
    "mailbox, aliases untouched": ([ALICES], box(purge_aliases=True)),
    "mailbox, aliases there": ([ALICES], box(aliases=names(SALES))),
    "mailbox, primary among aliases": ([Mailbox(ALICE)], box(aliases=names(ALICE))),
    "forwarder": ([TEAMS], team(members=names(ALICE, FAR))),
    "forwarder, members untouched": ([TEAMS], team()),
    "forwarder, members kept": ([TEAMS], team(members=names(FAR), purge_members=False)),
    "alias": ([ALICES], alias()),
    "alias that is the primary address": ([ALICES], alias(ALICE)),
    "no alias": ([Mailbox(ALICE)], lambda t: plan_alias_removal(t, SALES, ALICE)),
    "no alias, no mailbox": ([], lambda t: plan_alias_removal(t, SALES, ALICE)),
    "no mailbox": ([], gone(ALICE, Mailbox)),
    "no domain": ([], no_domain(STRAY.domain)),
}

#: The tenant, the plan, and what the sentence names: the object and the remedy.
PROBLEMS: dict[str, tuple[list[Principal], Planner, list[str]]] = {
    "unregistered domain": ([], box(STRAY, passwords=PASSWORDS),
                            ["alice@unknown.example", "unknown.example", "Register it first"]),
    "no password": ([], box(), ["alice@example.com", "Set passwords"]),
    "taken by an alias": ([Mailbox(BOB, names(ALICE))], box(passwords=PASSWORDS),
                          ["mailbox bob@example.com", "free it there first"]),
    "alias taken": ([Mailbox(ALICE), Mailbox(BOB, names(SALES))], box(aliases=names(SALES)),
                    ["sales@example.com is taken", "bob@example.com"]),
    "alias elsewhere": ([Mailbox(ALICE)], box(aliases=names(STRAY)), ["unknown.example"]),
    "forwarder as mailbox": ([TEAMS], box(TEAM), ["team@example.com is a forwarder"]),
    "mailbox as forwarder": ([ALICES], team(ALICE, members=names(FAR)), ["mail stored in it"]),
    "foreign": ([Foreign(ALICE, "group")], box(), ["is a group", "never converted"]),
    "no members": ([], team(members=names()), ["team@example.com", "members"]),
    "members not given": ([], team(), ["has no members"]),
    "members purged": ([TEAMS], team(members=names()), ["left without members", "absent"]),
    "itself": ([], team(members=names(TEAM)), ["circle", "team@example.com -> team@example.com"]),
    "circle": ([Forwarder(SALES, names(), names(TEAM))], team(members=names(SALES)),
               ["team@example.com -> sales@example.com -> team@example.com"]),
    "circle by alias": ([Forwarder(SALES, names(), names(OLD))],
                        team(members=names(SALES), aliases=names(OLD)), ["circle"]),
    "alias of nobody": ([], alias(), ["mailbox alice@example.com does not exist", "Create it"]),
    "alias of a forwarder": ([TEAMS], alias(SALES, TEAM), ["is a forwarder, not a mailbox"]),
    "alias taken elsewhere": ([Mailbox(ALICE), Mailbox(BOB, names(SALES))], alias(),
                              ["sales@example.com is taken", "bob@example.com"]),
    "primary address moved": ([Mailbox(ALICE), Mailbox(BOB)], alias(BOB, move=True),
                              ["bob@example.com is taken"]),
    "primary address removed": ([ALICES], lambda t: plan_alias_removal(t, ALICE, ALICE),
                                ["primary address", "Delete the mailbox"]),
    "removal of another kind": ([TEAMS], gone(TEAM, Mailbox), ["is a forwarder, not a mailbox"]),
    "domain in use": ([ALICES], no_domain(), ["mailbox alice@example.com", "force"]),
    "domain lent": ([Mailbox(parse_address("z@other.example"), names(BOB))], no_domain(),
                    ["alias bob@example.com of the mailbox z@other.example", "force"]),
    "domain with strange things": ([Foreign(ALICE, "group")], no_domain(force=True),
                                   ["group alice@example.com", "by hand"]),
}  # fmt: skip


def actions(planned: Plan) -> list[str]:
    """Return what a plan does to whom."""
    return [f"{change.action} {change.subject.name}" for change in planned.changes]


@pytest.mark.parametrize("case", CHANGES)
def test_what_differs_is_changed_in_order(case: str) -> None:
    """With a reason each, and without problems."""
    principals, make_plan, wanted = CHANGES[case]
    planned = make_plan(tenant(*principals))
    assert actions(planned) == wanted
    assert planned.problems == ()
    assert all(change.reason for change in planned.changes)


@pytest.mark.parametrize("case", CHANGES)
def test_a_plan_carried_out_leaves_nothing_to_plan(case: str) -> None:
    """The changes' own after-images, put in place, are what was wanted."""
    principals, make_plan, _wanted = CHANGES[case]
    state: dict[Name, Principal] = {p.name: p for p in [Domain(HOME), Domain(OTHER), *principals]}
    for change in make_plan(Tenant(state.values())).changes:
        assert state.pop(change.subject.name, None) == change.before
        if change.after is not None:
            state[change.after.name] = change.after
    again = make_plan(Tenant(state.values()))
    assert actions(again) == [] or again.changes[0].secrets == PASSWORDS
    assert again.problems == ()


@pytest.mark.parametrize("case", UNCHANGED)
def test_what_is_there_is_left_alone(case: str) -> None:
    """No change and no problem."""
    principals, make_plan = UNCHANGED[case]
    assert make_plan(tenant(*principals)) == Plan()


@pytest.mark.parametrize("case", PROBLEMS)
def test_a_problem_names_the_object_and_the_remedy(case: str) -> None:
    """In whole sentences."""
    principals, make_plan, words = PROBLEMS[case]
    text = " ".join(problem.text for problem in make_plan(tenant(*principals)).problems)
    for word in words:
        assert word in text
    assert text.endswith(".")


GLIMPSED: dict[str, tuple[Name, Planner, Any]] = {
    "domain": (HOME, lambda t: plan_domain(t, HOME), Domain(HOME)),
    "new domain": (HOME, lambda t: plan_domain(t, HOME), None),
    "mailbox": (ALICE, box(aliases=names(SALES)), ALICES),
    "mailbox, purge": (ALICE, box(aliases=names(SALES), purge_aliases=True), ALICES),
    "mailbox, passwords": (ALICE, box(passwords=PASSWORDS, replace_passwords=True), ALICES),
    "forwarder": (TEAM, team(members=names(ALICE, FAR)), TEAMS),
    "forwarder, fewer": (TEAM, team(members=names(FAR)), TEAMS),
    "alias": (ALICE, alias(), ALICES),
    "no alias": (ALICE, lambda t: plan_alias_removal(t, OLD, ALICE), ALICES),
    "no mailbox": (ALICE, gone(ALICE, Mailbox), ALICES),
    "wrong kind": (ALICE, box(), TEAMS),
}


@pytest.mark.parametrize("case", GLIMPSED)
def test_one_read_is_enough_where_nothing_is_claimed(case: str) -> None:
    """A plan that claims no new address needs no list, and is the same plan with it."""
    name, make_plan, found = GLIMPSED[case]
    whole = Tenant([] if found is None else [at(found, name)])
    assert make_plan(Glimpse(name, at(found, name))) == make_plan(whole)


def at(found: Any, name: Name) -> Any:
    """Return the principal under the name that was asked for."""
    return None if found is None else type(found)(name, *_rest(found))


def _rest(found: Any) -> list[Any]:
    if isinstance(found, Domain):
        return []
    return [found.aliases, *([found.members] if isinstance(found, Forwarder) else [])]


WHOLE: dict[str, tuple[Name, Planner, Any]] = {
    "new mailbox": (ALICE, box(passwords=PASSWORDS), None),
    "new alias": (ALICE, box(aliases=names(SALES)), Mailbox(ALICE)),
    "new forwarder": (TEAM, team(members=names(FAR)), None),
    "new member": (TEAM, team(members=names(ALICE, FAR, BOB)), TEAMS),
    "alias": (ALICE, alias(), Mailbox(ALICE)),
    "no domain": (HOME, no_domain(), Domain(HOME)),
}


@pytest.mark.parametrize("case", WHOLE)
def test_a_claim_needs_the_whole(case: str) -> None:
    """Whether an address is free or mail runs in a circle is not to be seen from one name."""
    name, make_plan, found = WHOLE[case]
    with pytest.raises(NeedsWhole):
        make_plan(Glimpse(name, found))


def test_a_moved_alias_is_all_or_nothing() -> None:
    """The first change can be taken back."""
    moved = alias(move=True)(tenant(Mailbox(ALICE), Mailbox(BOB, names(SALES))))
    assert moved.all_or_nothing
    assert moved.changes[0].edit == Edit(remove_aliases=names(SALES))


def test_only_missing_things_are_prerequisites() -> None:
    """An earlier task may register a domain; it will not free a taken address."""
    missing = box(STRAY, passwords=PASSWORDS)(tenant())
    taken = box(aliases=names(SALES))(tenant(Mailbox(ALICE), Mailbox(BOB, names(SALES))))
    assert [problem.prerequisite for problem in missing.problems] == [True]
    assert [problem.prerequisite for problem in taken.problems] == [False]


def test_a_long_list_is_cut_with_its_count() -> None:
    """Ten are named, the rest is counted."""
    boxes = [Mailbox(parse_address(f"b{number}@example.com")) for number in range(14)]
    (problem,) = no_domain()(tenant(*boxes)).problems
    assert "still holds 14" in problem.text
    assert "and 4 more" in problem.text
