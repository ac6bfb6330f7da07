# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
# ruff: noqa: E501 - each step of a plan is one line
"""Planning a tenant: the steps, their order and dependencies, and problems."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import pytest

from ansible_collections.postroom.email.plugins.module_utils._api.models import (
    Forwarder,
    Mailbox,
    Principal,
)
from ansible_collections.postroom.email.plugins.module_utils._api.tenant.plan import digest
from ansible_collections.postroom.email.tests.support.planning import (
    FAR,
    FORCED,
    LEAVING,
    PASSWORD,
    Parts,
    box,
    domain,
    foreign,
    forward,
    gone,
    mail,
    no_alias,
    plan,
    problems,
    steps,
    team,
)

ALICE, BOB, CAROL = "alice@example.com", "bob@example.com", "carol@example.com"
HOME, OLD = domain(), domain("old.example")
EXPIRED = "2026-12-31"


class Case(NamedTuple):
    """A tenant, a definition, and the expected steps."""

    tenant: list[Principal]
    parts: Parts
    steps: list[str]
    options: dict[str, Any] = {}  # noqa: RUF012 - never modified


STEPS: dict[str, Case] = {
    "a new tenant": Case(
        [],
        {
            "domains": ["example.com", "b.example"],
            "mailboxes": [mail("bob"), mail("alice", "s")],
            "forwarders": [forward("team", "alice")],
        },
        [
            "register: create domain b.example, missing",
            "register: create domain example.com, missing",
            "keep: create mailbox alice, missing (needs 1)",
            "keep: create mailbox bob, missing (needs 1)",
            "keep: create forwarder team, missing (needs 1)",
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
        ["keep: update forwarder team, add_member remove_member"],
    ),
    "a way of mail is turned round": Case(
        [HOME, team("a", FAR), team("z", "a")],
        {"forwarders": [forward("a", "z"), forward("z", FAR)]},
        [
            "keep: update forwarder z, add_member remove_member",
            "keep: update forwarder a, add_member remove_member",
        ],
    ),
    "an alias that mail went by is gone before the way is closed": Case(
        [HOME, team("a", FAR), team("b", "a", aliases=["x"]), box("m")],
        {
            "mailboxes": [mail("m", "x")],
            "forwarders": [forward("a", "x"), forward("b", "a", aliases=[no_alias("x")])],
        },
        [
            "free: update forwarder b, remove_alias",
            "keep: update forwarder a, add_member remove_member",
            "keep: update mailbox m, add_alias (needs 0)",
        ],
    ),
    "an alias that is absent, and one that has expired": Case(
        [HOME, box("alice", "s", "t", "v")],
        {
            "mailboxes": [
                mail("alice", no_alias("s"), no_alias("t", expires=EXPIRED), no_alias("never"))
            ]
        },
        ["keep: update mailbox alice, remove_alias"],
    ),
    "absent and expired objects": Case(
        [HOME, box("alice"), team("team", FAR), team("other", FAR)],
        {
            "mailboxes": [gone("alice")],
            "forwarders": [forward("team", FAR, expires=EXPIRED), gone("other")],
        },
        [
            "delete: delete mailbox alice, declared_absent",
            "delete: delete forwarder other, declared_absent",
            "delete: delete forwarder team, expired",
        ],
    ),
    "two swap their aliases": Case(
        [HOME, box("alice", "x"), box("bob", "y")],
        {"mailboxes": [mail("alice", "y"), mail("bob", "x")]},
        [
            "free: update mailbox alice, remove_alias",
            "free: update mailbox bob, remove_alias",
            "keep: update mailbox alice, add_alias (needs 1)",
            "keep: update mailbox bob, add_alias (needs 0)",
        ],
    ),
    "an alias becomes a mailbox": Case(
        [HOME, box("alice", "bob")],
        {"mailboxes": [mail("alice"), BOB]},
        [
            "free: update mailbox alice, remove_alias",
            "keep: create mailbox bob, missing (needs 0)",
        ],
        {"passwords": ["bob"]},
    ),
    "the addresses of what is absent": Case(
        [HOME, box("alice"), box("bob", "x"), box("carol")],
        {"mailboxes": [mail("alice", "x", "bob"), gone("bob"), gone("carol")]},
        [
            "free: delete mailbox bob, declared_absent",
            "keep: update mailbox alice, add_alias (needs 0)",
            "delete: delete mailbox carol, declared_absent",
        ],
    ),
    "the addresses of what is purged": Case(
        [HOME, box("alice"), box("bob", "x")],
        {"mailboxes": [mail("alice", "x")]},
        [
            "free: delete mailbox bob, undeclared",
            "keep: update mailbox alice, add_alias (needs 0)",
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
            "keep: update mailbox alice, remove_alias",
            "delete: delete mailbox x@old.example, declared_absent",
            "deregister: delete domain old.example, declared_absent (needs 0, 1)",
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
            "keep: update mailbox alice, remove_alias",
            "delete: delete forwarder team@old.example, domain_deleted",
            "delete: delete mailbox x@old.example, domain_deleted",
            "deregister: delete domain old.example, declared_absent (needs 0, 1, 2)",
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
            "free: delete mailbox x@old.example, domain_deleted",
            "keep: update mailbox alice, add_alias (needs 0)",
            "deregister: delete domain old.example, declared_absent (needs 0)",
            "deregister: delete domain older.example, declared_absent (needs 0)",
        ],
        {"max_deletions": 1},
    ),
    "passwords, in one step with the lists": Case(
        [HOME, box("alice"), box("bob"), box("carol")],
        {"mailboxes": [mail("alice", "x"), BOB, CAROL]},
        [
            "keep: update mailbox alice, add_alias replace_passwords",
            "keep: update mailbox bob, replace_passwords",
        ],
        {"passwords": ["alice", "bob"], "replace": True},
    ),
}


@pytest.mark.parametrize("case", STEPS)
def test_a_plan_changes_the_tenant_into_what_is_declared(case: str) -> None:
    """Each step has a stage, a reason and its dependencies. A second plan is empty."""
    tenant, parts, wanted, options = STEPS[case]
    planned = plan(tenant, parts, **options)
    assert problems(planned) == []
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
    assert (again.changes, again.problems) == ((), ())


def test_forwarders_change_after_those_that_they_feed() -> None:
    """Forwarders are changed in separate stages only if mail might loop otherwise."""
    turned = STEPS["a way of mail is turned round"]
    assert list(plan(turned.tenant, turned.parts).stages()) == [[0], [1]]
    apart = [forward("a", "b"), forward("b", "c"), forward("c", FAR)]
    assert list(plan([HOME], {"forwarders": apart}).stages()) == [[0, 1, 2]]


def test_what_nobody_declared_is_reported() -> None:
    """Undeclared objects are reported. Undeclared aliases are, too, if their owner declares any."""
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


#: The tenant, the definition and the problems. In check mode, problems with a star only warn.
FINDINGS: dict[str, tuple[list[Principal], Parts, list[str]]] = {
    "an alias of an undeclared mailbox": (
        [HOME, box("alice"), box("bob", "x"), foreign("staff", "z")],
        {"mailboxes": [mail("alice", "y", "x", "z")], "forwarders": [forward("team", FAR)]},
        [
            "mailboxes[0].aliases[1]: address_in_use_undeclared address=x kind=mailbox owner=bob",
            "mailboxes[0].aliases[2]: address_in_use_undeclared address=z kind=group owner=staff",
        ],
    ),
    "an alias of a mailbox declared without aliases": (
        [HOME, box("alice"), box("bob", "x")],
        {"mailboxes": [mail("alice", "y", "x"), BOB]},
        ["mailboxes[0].aliases[1]: alias_in_use_unlisted address=x kind=mailbox owner=bob"],
    ),
    "an alias of an undeclared mailbox that loses a domain": (
        [HOME, OLD, box("alice"), box("bob", "x", "y@old.example")],
        {**FORCED, "mailboxes": [mail("alice", "x")]},
        [
            "mailboxes[0].aliases[0]: address_in_use_undeclared address=x kind=mailbox owner=bob",
            "* too_many_deletions allowed=0 counts=1 alias names=alias y@old.example total=1",
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
            "domains[0]: wrong_kind found=group kind=domain loss= name=b.example",
            "mailboxes[0]: wrong_kind found=forwarder kind=mailbox loss= name=alice",
            "mailboxes[1]: wrong_kind found=mailbox kind=mailbox loss= name=bob",
            "mailboxes[2]: wrong_kind_absent found=group kind=mailbox loss= name=carol",
            "forwarders[0]: wrong_kind found=mailbox kind=forwarder loss= and its stored mail name=team",
            "forwarders[1]: wrong_kind_absent found=mailbox kind=forwarder loss= and its stored mail name=off",
        ],
    ),
    "a domain in use": (
        [HOME, OLD, box("x@old.example"), box("alice", "y@old.example", "z@old.example")],
        LEAVING,
        [
            (
                "domains[0]: domain_in_use domain=old.example holders=3 objects: alias y@old.example of the mailbox alice, "
                "alias z@old.example of the mailbox alice, mailbox x@old.example"
            )
        ],
    ),
    "a domain that a group uses": (
        [HOME, OLD, foreign("staff@old.example"), foreign("staff", "x@old.example")],
        FORCED,
        [
            "domains[0]: domain_in_use_unmanaged domain=old.example holders=2 objects: alias x@old.example of the group staff, group staff@old.example"
        ],
    ),
    "domains that are not registered, each once": (
        [HOME, box("alice")],
        {
            "mailboxes": [mail("alice", "y@c.example", "x@b.example")],
            "forwarders": [{"name": "t@b.example", "members": [FAR], "aliases": ["a@b.example"]}],
        },
        [
            "* forwarders[0].aliases[0]: domain_missing domain=b.example names=a@b.example, t@b.example, x@b.example",
            "* mailboxes[0].aliases[0]: domain_missing domain=c.example names=y@c.example",
        ],
    ),
    "a new mailbox without a password": (
        [HOME, box("alice")],
        {"mailboxes": [ALICE, BOB]},
        ["* mailboxes[1]: password_missing names=bob"],
    ),
    "new mailboxes without passwords, in one problem": (
        [HOME],
        {"mailboxes": [ALICE, BOB]},
        ["* password_missing names=alice, bob"],
    ),
    "a loop over undeclared forwarders": (
        [HOME, team("b", "c"), team("c", "d", FAR), team("d", FAR, "x@example.com")],
        {"forwarders": [forward("a", "b", aliases=["x@example.com"])]},
        ["forwarders[0]: forwarding_loop name=a way=a -> b -> c -> d -> a"],
    ),
    "a loop by a new alias": (
        [HOME, team("a", "b"), team("b", "x@example.com")],
        {"forwarders": [forward("a", "b", aliases=["x@example.com"])]},
        ["forwarders[0]: forwarding_loop name=a way=a -> b -> a"],
    ),
    "a loop beside an existing one": (
        [HOME, team("a", "b", "c"), team("b", "d"), team("d", "a"), team("c", FAR)],
        {"forwarders": [forward("c", "d")]},
        ["forwarders[0]: forwarding_loop name=c way=c -> d -> a -> c"],
    ),
    "a new loop that shares its way with an existing one": (
        [HOME, team("a", "b"), team("b", "a"), team("c", FAR)],
        {"forwarders": [forward("b", "a", "c"), forward("c", "a")]},
        ["forwarders[0]: forwarding_loop name=b way=b -> c -> a -> b"],
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
            "forwarders[0]: member_removed lost=mailbox bob member=bob name=team or_keep= why=declared absent"
        ],
    ),
    "a member that was absent before": (
        [HOME, team("team", "bob")],
        {"mailboxes": [gone("bob")], "forwarders": [forward("team", "bob")]},
        ["forwarders[0]: member_missing member=bob name=team"],
    ),
    "a member whose alias goes": (
        [HOME, box("bob", "b")],
        {"mailboxes": [mail("bob", no_alias("b"))], "forwarders": [forward("team", "b")]},
        [
            "forwarders[0]: member_removed lost=alias b of mailbox bob member=b name=team or_keep= why=declared absent"
        ],
    ),
    "a new member that does not exist": (
        [HOME],
        {"forwarders": [forward("team", "nope", FAR)]},
        ["forwarders[0]: member_missing member=nope name=team"],
    ),
}


@pytest.mark.parametrize("case", FINDINGS)
def test_findings_name_their_place_and_objects(case: str) -> None:
    """All problems that prevent a definition from being applied are found, with their locations."""
    tenant, parts, wanted = FINDINGS[case]
    assert [text.replace("@example.com", "") for text in problems(plan(tenant, parts))] == wanted


def test_what_already_bounces_is_a_warning() -> None:
    """Mail that already bounces only causes a warning, so that an exported tenant converges."""
    dangling = plan([HOME, team("team", "nope")], {"forwarders": [forward("team", "nope")]})
    undeclared = plan([HOME, box("bob"), team("team", "bob")], {"mailboxes": [gone("bob")]})
    assert (dangling.problems, undeclared.problems) == ((), ())
    assert [len(dangling.warnings), len(undeclared.warnings)] == [1, 1]
    assert undeclared.warnings[0].code == "member_removed"


@pytest.mark.parametrize("count", [1_200, pytest.param(10_000, marks=pytest.mark.full)])
def test_a_long_chain_of_forwarders(count: int) -> None:
    """Loops are found in long chains of forwarders and reported in a short form."""
    last = count - 1
    chain = [team(f"f{n}", f"f{n + 1}") for n in range(last)]
    open_end = plan([HOME, *chain], {"forwarders": [forward(f"f{last}", FAR)]})
    assert (len(open_end.changes), problems(open_end)) == (1, [])
    (closed,) = problems(plan([HOME, *chain], {"forwarders": [forward(f"f{last}", "f0")]}))
    way = "".join(f"f{n}@example.com -> " for n in range(8))
    assert f"f{last}@example.com -> {way}{count - 9} more -> f{last}@example.com" in closed


def test_each_plan_has_a_digest_of_its_own() -> None:
    """Plans that differ in any detail have different digests."""
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
    assert all(text.startswith("v2:sha256:") for text in digests)


def test_equal_plans_have_equal_digests() -> None:
    """The digest does not depend on the order, the spelling or the values of passwords."""
    tenant, parts, _steps, _options = STEPS["two swap their aliases"]
    shouted = {"mailboxes": [mail("BOB", "X"), mail("Alice", "Y")]}
    assert digest(plan(tenant[::-1], shouted).changes) == digest(plan(tenant, parts).changes)
    planned = plan(tenant, parts, passwords=["alice"], replace=True)
    other = [
        replace(change, reasons=(), secrets=("another",) * len(change.secrets))
        for change in planned.changes
    ]
    assert digest(planned.changes) == digest(other)
    assert PASSWORD not in repr(planned)
