# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
# ruff: noqa: E501 - each step of a plan is one line
"""Planning a whole tenant: the steps, their order, what each needs, and the findings."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from ansible_collections.postroom.email.plugins.module_utils._api.models import (
    Forwarder,
    Mailbox,
    Principal,
)
from ansible_collections.postroom.email.plugins.module_utils._api.tenant.steps import digest
from ansible_collections.postroom.email.tests.support.planning import (
    FAR,
    FORCED,
    LEAVING,
    PASSWORD,
    Parts,
    assert_like,
    box,
    domain,
    findings,
    foreign,
    forward,
    gone,
    mail,
    no_alias,
    plan,
    steps,
    team,
)

ALICE, BOB, CAROL = "alice@example.com", "bob@example.com", "carol@example.com"
HOME, OLD = domain(), domain("old.example")
EXPIRED = "2026-12-31"


class Case(NamedTuple):
    """A tenant, what is declared of it, and the steps that must come of it."""

    tenant: list[Principal]
    parts: Parts
    steps: list[str]
    options: dict[str, Any] = {}  # noqa: RUF012 - none is ever written to


STEPS: dict[str, Case] = {
    "a new tenant": Case(
        [],
        {
            "domains": ["example.com", "b.example"],
            "mailboxes": [mail("bob"), mail("alice", "s")],
            "forwarders": [forward("team", "alice")],
        },
        [
            "register: create domain b.example, it is not registered",
            "register: create domain example.com, it is not registered",
            "keep: create mailbox alice, it is not there (needs 1)",
            "keep: create mailbox bob, it is not there (needs 1)",
            "keep: create forwarder team, it is not there (needs 1)",
        ],
        {"passwords": ["alice", "bob"]},
    ),
    "what is as declared": Case(
        [HOME, box("alice", "s", "t"), team("team", FAR)],
        {
            "domains": ["Example.com."],
            "mailboxes": [mail("ALICE", "s"), gone("nobody")],
            "forwarders": [forward("team", FAR)],
        },
        [],
    ),
    "members, exactly": Case(
        [HOME, box("a"), box("b"), box("c"), team("team", "a", "b")],
        {"forwarders": [forward("team", "b", "c")]},
        ["keep: update forwarder team, it lacks the member c, it is not to have the member a"],
    ),
    "a way of mail is turned round": Case(
        [HOME, team("a", FAR), team("z", "a")],
        {"forwarders": [forward("a", "z"), forward("z", FAR)]},
        [
            "keep: update forwarder z, it lacks the member far@away.example, it is not to have the member a",
            "keep: update forwarder a, it lacks the member z, it is not to have the member far@away.example",
        ],
    ),
    "an alias that mail went by is gone before the way is closed": Case(
        [HOME, team("a", FAR), team("b", "a", aliases=["x"]), box("m")],
        {
            "mailboxes": [mail("m", "x")],
            "forwarders": [forward("a", "x"), forward("b", "a", aliases=[no_alias("x")])],
        },
        [
            "free: update forwarder b, its alias x is to be absent",
            "keep: update forwarder a, it lacks the member x, it is not to have the member far@away.example",
            "keep: update mailbox m, it lacks the alias x (needs 0)",
        ],
    ),
    "an alias that is absent, and one that has expired": Case(
        [HOME, box("alice", "s", "t", "v")],
        {
            "mailboxes": [
                mail("alice", no_alias("s"), no_alias("t", expires=EXPIRED), no_alias("never"))
            ]
        },
        [
            "keep: update mailbox alice, its alias s is to be absent, its alias t expired on 2026-12-31"
        ],
    ),
    "absent and expired objects": Case(
        [HOME, box("alice"), team("team", FAR), team("other", FAR)],
        {
            "mailboxes": [gone("alice")],
            "forwarders": [forward("team", FAR, expires=EXPIRED), gone("other")],
        },
        [
            "delete: delete mailbox alice, it is to be absent",
            "delete: delete forwarder other, it is to be absent",
            "delete: delete forwarder team, it expired on 2026-12-31",
        ],
    ),
    "two swap their aliases": Case(
        [HOME, box("alice", "x"), box("bob", "y")],
        {"mailboxes": [mail("alice", "y"), mail("bob", "x")]},
        [
            "free: update mailbox alice, its alias x moves to bob",
            "free: update mailbox bob, its alias y moves to alice",
            "keep: update mailbox alice, it lacks the alias y (needs 1)",
            "keep: update mailbox bob, it lacks the alias x (needs 0)",
        ],
    ),
    "an alias becomes a mailbox": Case(
        [HOME, box("alice", "bob")],
        {"mailboxes": [mail("alice"), BOB]},
        [
            "free: update mailbox alice, its alias bob moves to bob",
            "keep: create mailbox bob, it is not there (needs 0)",
        ],
        {"passwords": ["bob"]},
    ),
    "the addresses of what is absent": Case(
        [HOME, box("alice"), box("bob", "x"), box("carol")],
        {"mailboxes": [mail("alice", "x", "bob"), gone("bob"), gone("carol")]},
        [
            "free: delete mailbox bob, it is to be absent",
            "keep: update mailbox alice, it lacks the aliases bob, x (needs 0)",
            "delete: delete mailbox carol, it is to be absent",
        ],
    ),
    "the addresses of what is purged": Case(
        [HOME, box("alice"), box("bob", "x")],
        {"mailboxes": [mail("alice", "x")]},
        [
            "free: delete mailbox bob, it is not declared",
            "keep: update mailbox alice, it lacks the alias x (needs 0)",
        ],
        {"purge": ["mailbox"], "max_deletions": 1},
    ),
    "a domain that is emptied by name": Case(
        [HOME, OLD, box("x@old.example"), box("alice", "y@old.example")],
        {
            **LEAVING,
            "mailboxes": [
                {"name": "x@old.example", "state": "absent"},
                mail("alice", {"address": "y@old.example", "state": "absent"}),
            ],
        },
        [
            "keep: update mailbox alice, its alias y@old.example is to be absent",
            "delete: delete mailbox x@old.example, it is to be absent",
            "deregister: delete domain old.example, it is to be absent (needs 0, 1)",
        ],
    ),
    "a domain with all that it holds": Case(
        [
            HOME,
            OLD,
            box("x@old.example", "x2@old.example"),
            box("alice", "y@old.example", "z"),
            team("team@old.example", FAR),
        ],
        FORCED,
        [
            "keep: update mailbox alice, its alias y@old.example goes with the domain old.example",
            "delete: delete forwarder team@old.example, its domain old.example is deleted with all that it holds",
            "delete: delete mailbox x@old.example, its domain old.example is deleted with all that it holds",
            "deregister: delete domain old.example, it is to be absent (needs 0, 1, 2)",
        ],
        {"max_deletions": 3},
    ),
    "two domains that hold one mailbox": Case(
        [
            HOME,
            OLD,
            domain("older.example"),
            box("alice"),
            box("x@old.example", "x@older.example", "sales"),
        ],
        {
            "domains": [
                {"name": name, "state": "absent", "force": True}
                for name in ("older.example", "old.example")
            ],
            "mailboxes": [mail("alice", "sales")],
        },
        [
            "free: delete mailbox x@old.example, its domain old.example is deleted with all that it holds",
            "keep: update mailbox alice, it lacks the alias sales (needs 0)",
            "deregister: delete domain old.example, it is to be absent (needs 0)",
            "deregister: delete domain older.example, it is to be absent (needs 0)",
        ],
        {"max_deletions": 1},
    ),
    "passwords, in one step with the lists": Case(
        [HOME, box("alice"), box("bob"), box("carol")],
        {"mailboxes": [mail("alice", "x"), BOB, CAROL]},
        [
            "keep: update mailbox alice, it lacks the alias x, its passwords are to be replaced",
            "keep: update mailbox bob, its passwords are to be replaced",
        ],
        {"passwords": ["alice", "bob"], "replace": True},
    ),
}


@pytest.mark.parametrize("case", STEPS)
def test_a_plan_changes_the_tenant_into_what_is_declared(case: str) -> None:
    """Each step has its stage, reason and needs, and a second plan is empty."""
    tenant, parts, wanted, options = STEPS[case]
    planned = plan(tenant, parts, **options)
    assert findings(planned) == []
    assert [step.replace("@example.com", "") for step in steps(planned)] == wanted
    state = {principal.name: principal for principal in tenant}
    for positions in planned.stages():
        for position in reversed(positions):
            change = planned.changes[position]
            before = state.pop(change.subject.name, None)
            assert before == change.before
            if isinstance(before, (Mailbox, Forwarder)) and change.after:
                assert change.edit.applied_to(before) == change.after
            if change.after:
                state[change.subject.name] = change.after
    again = plan(list(state.values()), parts, **{**options, "replace": False})
    assert (again.steps, again.findings) == ((), ())


def test_forwarders_change_after_those_that_they_feed() -> None:
    """One wave after the other, and only where mail might run in a circle otherwise."""
    turned = STEPS["a way of mail is turned round"]
    assert list(plan(turned.tenant, turned.parts).stages()) == [[0], [1]]
    apart = [forward("a", "b"), forward("b", "c"), forward("c", FAR)]
    assert list(plan([HOME], {"forwarders": apart}).stages()) == [[0, 1, 2]]


def test_what_nobody_declared_is_reported() -> None:
    """Objects, and aliases of those whose aliases are declared; groups are not ours to report."""
    tenant: list[Principal] = [
        HOME,
        OLD,
        box("alice", "s", "t"),
        box("bob", "b"),
        box("carol", "c"),
        foreign("g"),
    ]
    planned = plan(tenant, {"mailboxes": [mail("alice", "s"), CAROL]})
    assert [str(p.name) for p in planned.undeclared] == ["example.com", "old.example", BOB]
    aliases = [(str(alias), str(owner.name)) for alias, owner in planned.undeclared_aliases]
    assert aliases == [("t@example.com", ALICE)]
    assert [f"{one.kind} {one.name}" for one in planned.unchanged] == [
        f"mailbox {ALICE}",
        f"mailbox {CAROL}",
    ]


#: The tenant, the definition, and the findings; check mode only warns of one with a star.
FINDINGS: dict[str, tuple[list[Principal], Parts, list[str]]] = {
    "an alias of an undeclared mailbox": (
        [HOME, box("alice"), box("bob", "x"), foreign("staff", "z")],
        {"mailboxes": [mail("alice", "y", "x", "z")], "forwarders": [forward("team", FAR)]},
        [
            "mailboxes[0].aliases[1]: x is taken: ... bob, ... not declared",
            "mailboxes[0].aliases[2]: z is taken: ... group staff",
        ],
    ),
    "an alias of a mailbox declared without aliases": (
        [HOME, box("alice"), box("bob", "x")],
        {"mailboxes": [mail("alice", "y", "x"), BOB]},
        ["mailboxes[0].aliases[1]: x is taken: ... bob, which is declared without aliases"],
    ),
    "an alias of an undeclared mailbox that loses a domain": (
        [HOME, OLD, box("alice"), box("bob", "x", "y@old.example")],
        {**FORCED, "mailboxes": [mail("alice", "x")]},
        [
            "mailboxes[0].aliases[0]: x is taken: ... bob, ... not declared",
            "* 1 alias would be deleted without being named: alias y@old.example",
        ],
    ),
    "another kind under a declared name": (
        [
            HOME,
            team("alice", FAR),
            box("team", "s"),
            foreign("bob", "bob", kind="mailbox"),
            foreign("b.example"),
            box("off"),
            foreign("carol"),
            box("dan"),
        ],
        {
            "domains": ["b.example"],
            "mailboxes": [ALICE, BOB, gone("carol"), mail("dan", "s")],
            "forwarders": [forward("team", FAR), gone("off")],
        },
        [
            "domains[0]: b.example is a group, not a domain",
            "mailboxes[2]: carol is a group, not a mailbox",
            "forwarders[1]: off is a mailbox, not a forwarder",
            "mailboxes[0]: alice is a forwarder, not a mailbox",
            "mailboxes[1]: bob is a mailbox, not a mailbox",
            "forwarders[0]: team is a mailbox, not a forwarder ... mail stored in it",
        ],
    ),
    "a domain in use": (
        [HOME, OLD, box("x@old.example"), box("alice", "y@old.example", "z@old.example")],
        LEAVING,
        [
            "domains[0]: ... old.example ... 3 objects: alias y@old.example of the mailbox alice..., alias z@old.example ..., mailbox x@old.example. ... force"
        ],
    ),
    "a domain that a group uses": (
        [HOME, OLD, foreign("staff@old.example"), foreign("staff", "x@old.example")],
        FORCED,
        [
            "domains[0]: ... old.example ... 2 objects: alias x@old.example of the group staff, group staff@old.example. ... by hand"
        ],
    ),
    "domains that are not registered, each once": (
        [HOME, box("alice")],
        {
            "mailboxes": [mail("alice", "y@c.example", "x@b.example")],
            "forwarders": [{"name": "t@b.example", "members": [FAR], "aliases": ["a@b.example"]}],
        },
        [
            "* forwarders[0].aliases[0]: a@b.example and 2 more: the domain b.example is not registered",
            "* mailboxes[0].aliases[0]: y@c.example: the domain c.example is not registered",
        ],
    ),
    "a new mailbox without a password": (
        [HOME, box("alice")],
        {"mailboxes": [ALICE, BOB]},
        ["* mailboxes[1]: The mailbox bob does not exist ... passwords"],
    ),
    "a loop over undeclared forwarders": (
        [HOME, team("b", "c"), team("c", "d", FAR), team("d", FAR, "x@example.com")],
        {"forwarders": [forward("a", "b", aliases=["x@example.com"])]},
        ["forwarders[0]: ... a -> b -> c -> d -> x. "],
    ),
    "a loop by a new alias": (
        [HOME, team("a", "b"), team("b", "x@example.com")],
        {"forwarders": [forward("a", "b", aliases=["x@example.com"])]},
        ["forwarders[0]: ... a -> b -> x. "],
    ),
    "a loop beside an existing one": (
        [HOME, team("a", "b", "c"), team("b", "d"), team("d", "a"), team("c", FAR)],
        {"forwarders": [forward("c", "d")]},
        ["forwarders[0]: ... c -> d -> a -> c. "],
    ),
    "an existing loop is no finding": (
        [HOME, team("a", "b"), team("b", "a"), box("alice")],
        {"mailboxes": [mail("alice")], "forwarders": [forward("team", "a")]},
        [],
    ),
    "a deleted forwarder closes no loop": (
        [HOME, team("b", "a")],
        {"forwarders": [forward("a", FAR), gone("b")]},
        [],
    ),
    "a member that is to be absent": (
        [HOME, box("bob"), team("team", "bob")],
        {"mailboxes": [gone("bob")], "forwarders": [forward("team", "bob")]},
        [
            "forwarders[0]: bob is a member of the forwarder team, but the mailbox bob is to be absent"
        ],
    ),
    "a member that was absent before": (
        [HOME, team("team", "bob")],
        {"mailboxes": [gone("bob")], "forwarders": [forward("team", "bob")]},
        ["forwarders[0]: bob is a member ... but no mailbox or forwarder has this address"],
    ),
    "a member whose alias goes": (
        [HOME, box("bob", "b")],
        {"mailboxes": [mail("bob", no_alias("b"))], "forwarders": [forward("team", "b")]},
        ["forwarders[0]: b is a member ... but the alias b of mailbox bob is to be absent"],
    ),
    "a new member that does not exist": (
        [HOME],
        {"forwarders": [forward("team", "nope", FAR)]},
        ["forwarders[0]: nope is a member ... but no mailbox or forwarder has this address"],
    ),
}


@pytest.mark.parametrize("case", FINDINGS)
def test_findings_name_their_place_and_objects(case: str) -> None:
    """Everything that makes a definition impossible to apply is found, and nothing else."""
    tenant, parts, wanted = FINDINGS[case]
    found = [text.replace("@example.com", "") for text in findings(plan(tenant, parts))]
    assert_like(found, wanted)


def test_what_already_bounces_is_a_warning() -> None:
    """A plan doesn't refuse what it didn't cause, so an exported tenant converges."""
    dangling = plan([HOME, team("team", "nope")], {"forwarders": [forward("team", "nope")]})
    undeclared = plan([HOME, box("bob"), team("team", "bob")], {"mailboxes": [gone("bob")]})
    assert (dangling.findings, undeclared.findings) == ((), ())
    assert [len(dangling.warnings), len(undeclared.warnings)] == [1, 1]
    assert "mail to team@example.com would bounce" in undeclared.warnings[0]


@pytest.mark.parametrize("count", [1_200, pytest.param(10_000, marks=pytest.mark.full)])
def test_a_long_chain_of_forwarders(count: int) -> None:
    """The search for loops does not recurse, and shortens the loop that it reports."""
    last = count - 1
    chain = [team(f"f{n}", f"f{n + 1}") for n in range(last)]
    open_end = plan([HOME, *chain], {"forwarders": [forward(f"f{last}", FAR)]})
    assert (len(open_end.steps), findings(open_end)) == (1, [])
    (closed,) = findings(plan([HOME, *chain], {"forwarders": [forward(f"f{last}", "f0")]}))
    way = "".join(f"f{n}@example.com -> " for n in range(8))
    assert f"f{last}@example.com -> {way}{count - 9} more -> f{last}@example.com. " in closed


def test_each_plan_has_a_digest_of_its_own() -> None:
    """Whatever is different, before or after."""
    swap = STEPS["two swap their aliases"]
    plans = [
        plan(swap.tenant, swap.parts),
        plan(swap.tenant, {"mailboxes": [mail("alice", "y", "z"), mail("bob", "x")]}),
        plan(swap.tenant, swap.parts, passwords=["alice"], replace=True),
        plan([HOME], {"forwarders": [forward("team", FAR)]}),
        plan([HOME], {"forwarders": [forward("team", ALICE)]}),
        plan([HOME], {"domains": [{"name": "example.com", "state": "absent"}]}),
    ]
    digests = {digest(planned.changes) for planned in plans}
    assert len(digests) == len(plans)
    assert all(len(text) == len("sha256:") + 64 for text in digests)


def test_equal_plans_have_equal_digests() -> None:
    """Whatever the order and the spelling; passwords count only as being replaced."""
    tenant, parts, _steps, _options = STEPS["two swap their aliases"]
    shouted = {"mailboxes": [mail("BOB", "X"), mail("Alice", "Y")]}
    assert digest(plan(tenant[::-1], shouted).changes) == digest(plan(tenant, parts).changes)
    planned = plan(tenant, parts, passwords=["alice"], replace=True)
    other = [
        type(change)(
            change.action,
            change.before,
            change.after,
            "",
            change.edit,
            tuple("another" for _secret in change.secrets),
        )
        for change in planned.changes
    ]
    assert digest(planned.changes) == digest(other)
    assert PASSWORD not in repr(planned)
