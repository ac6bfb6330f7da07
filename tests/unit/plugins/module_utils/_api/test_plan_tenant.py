# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Planning a whole tenant: which steps, in which order, what they need, and what is refused."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from ansible_collections.postroom.email.plugins.module_utils._api.models import Principal
from ansible_collections.postroom.email.plugins.module_utils._api.planning.steps import digest
from ansible_collections.postroom.email.tests.support.planning import (
    FAR,
    FORCED,
    LEAVING,
    PASSWORD,
    Parts,
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
        {"domains": ["example.com", "b.example"], "mailboxes": [mail("bob"), mail("alice", "s")],
         "forwarders": [forward("team", "alice")]},
        ["register: create domain b.example, it is not registered",
         "register: create domain example.com, it is not registered",
         "keep: create mailbox alice@example.com, it is not there (needs 1)",
         "keep: create mailbox bob@example.com, it is not there (needs 1)",
         "keep: create forwarder team@example.com, it is not there (needs 1)"],
        {"passwords": ["alice", "bob"]},
    ),
    "an alias on a new domain": Case(
        [HOME, box("alice")],
        {"domains": ["b.example"], "mailboxes": [mail("alice", "x@b.example", "y")]},
        ["register: create domain b.example, it is not registered",
         ("keep: update mailbox alice@example.com, it lacks the aliases x@b.example, "
          "y@example.com (needs 0)")],
    ),
    "what is as declared": Case(
        [HOME, box("alice", "s", "t"), team("team", FAR)],
        {"domains": ["Example.com."], "mailboxes": [mail("ALICE", "s"), gone("nobody")],
         "forwarders": [forward("team", FAR)]},
        [],
    ),
    "members, exactly": Case(
        [HOME, team("team", "a", "b")], {"forwarders": [forward("team", "b", "c")]},
        [("keep: update forwarder team@example.com, it lacks the member c@example.com, "
          "it is not to have the member a@example.com")],
    ),
    "a way of mail is turned round": Case(
        [HOME, team("z", "a"), team("a", FAR)],
        {"forwarders": [forward("a", "z"), forward("z", FAR)]},
        [("keep: update forwarder z@example.com, it lacks the member far@away.example, it is not "
          "to have the member a@example.com"),
         ("keep: update forwarder a@example.com, it lacks the member z@example.com, it is not to "
          "have the member far@away.example")],
    ),
    "an alias that mail went by is gone before the way is closed": Case(
        [HOME, team("a", FAR), team("b", "a", aliases=["x"])],
        {"forwarders": [forward("a", "x"), forward("b", "a", aliases=[no_alias("x")])]},
        ["free: update forwarder b@example.com, its alias x@example.com is to be absent",
         ("keep: update forwarder a@example.com, it lacks the member x@example.com, it is not "
          "to have the member far@away.example")],
    ),
    "an alias that is absent, and one that has expired": Case(
        [HOME, box("alice", "s", "t", "u", "v")],
        {"mailboxes": [mail("alice", no_alias("s"), no_alias("t", expires=EXPIRED),
                            no_alias("u", expires="2027-02-01"), no_alias("never"))]},
        [("keep: update mailbox alice@example.com, its alias s@example.com is to be absent, "
          "its alias t@example.com expired on 2026-12-31")],
    ),
    "absent and expired objects": Case(
        [HOME, box("alice"), team("team", FAR), team("other", FAR)],
        {"mailboxes": [gone("alice")],
         "forwarders": [forward("team", FAR, expires=EXPIRED), gone("other")]},
        ["delete: delete mailbox alice@example.com, it is to be absent",
         "delete: delete forwarder other@example.com, it is to be absent",
         "delete: delete forwarder team@example.com, it expired on 2026-12-31"],
    ),
    "two swap their aliases": Case(
        [HOME, box("alice", "x"), box("bob", "y")],
        {"mailboxes": [mail("alice", "y"), mail("bob", "x")]},
        ["free: update mailbox alice@example.com, its alias x@example.com moves to bob@example.com",
         "free: update mailbox bob@example.com, its alias y@example.com moves to alice@example.com",
         "keep: update mailbox alice@example.com, it lacks the alias y@example.com (needs 1)",
         "keep: update mailbox bob@example.com, it lacks the alias x@example.com (needs 0)"],
    ),
    "three pass their aliases on": Case(
        [HOME, box("alice", "x"), box("bob", "y"), box("carol", "z")],
        {"mailboxes": [mail("alice", "y"), mail("bob", "z"), mail("carol", "x")]},
        [("free: update mailbox alice@example.com, its alias x@example.com moves to "
          "carol@example.com"),
         "free: update mailbox bob@example.com, its alias y@example.com moves to alice@example.com",
         "free: update mailbox carol@example.com, its alias z@example.com moves to bob@example.com",
         "keep: update mailbox alice@example.com, it lacks the alias y@example.com (needs 1)",
         "keep: update mailbox bob@example.com, it lacks the alias z@example.com (needs 2)",
         "keep: update mailbox carol@example.com, it lacks the alias x@example.com (needs 0)"],
    ),
    "only what moves is freed before": Case(
        [HOME, box("alice", "x", "y"), box("bob")],
        {"mailboxes": [mail("alice", no_alias("y")), mail("bob", "x")]},
        ["free: update mailbox alice@example.com, its alias x@example.com moves to bob@example.com",
         "keep: update mailbox alice@example.com, its alias y@example.com is to be absent",
         "keep: update mailbox bob@example.com, it lacks the alias x@example.com (needs 0)"],
    ),
    "an alias that is absent here and wanted there": Case(
        [HOME, box("alice", "x"), box("bob")],
        {"mailboxes": [mail("alice", no_alias("x")), mail("bob", "x")]},
        ["free: update mailbox alice@example.com, its alias x@example.com is to be absent",
         "keep: update mailbox bob@example.com, it lacks the alias x@example.com (needs 0)"],
    ),
    "an alias becomes a mailbox": Case(
        [HOME, box("alice", "bob")], {"mailboxes": [mail("alice"), BOB]},
        [("free: update mailbox alice@example.com, its alias bob@example.com moves to "
          "bob@example.com"),
         "keep: create mailbox bob@example.com, it is not there (needs 0)"],
        {"passwords": ["bob"]},
    ),
    "an alias moves from a forwarder to a mailbox": Case(
        [HOME, team("team", FAR, aliases=["x"]), box("alice")],
        {"mailboxes": [mail("alice", "x")],
         "forwarders": [forward("team", FAR, aliases=[])]},
        [("free: update forwarder team@example.com, its alias x@example.com moves to "
          "alice@example.com"),
         "keep: update mailbox alice@example.com, it lacks the alias x@example.com (needs 0)"],
    ),
    "the addresses of what is absent": Case(
        [HOME, box("alice"), box("bob", "x"), box("carol")],
        {"mailboxes": [mail("alice", "x", "bob"), gone("bob"), gone("carol")]},
        ["free: delete mailbox bob@example.com, it is to be absent",
         ("keep: update mailbox alice@example.com, it lacks the aliases bob@example.com, "
          "x@example.com (needs 0)"),
         "delete: delete mailbox carol@example.com, it is to be absent"],
    ),
    "the addresses of what has expired": Case(
        [HOME, box("alice"), team("team", FAR)],
        {"mailboxes": [mail("alice", "team")],
         "forwarders": [forward("team", FAR, expires=EXPIRED)]},
        ["free: delete forwarder team@example.com, it expired on 2026-12-31",
         "keep: update mailbox alice@example.com, it lacks the alias team@example.com (needs 0)"],
    ),
    "an alias that expired here is wanted there": Case(
        [HOME, box("alice", "x"), box("bob")],
        {"mailboxes": [mail("alice", no_alias("x", expires=EXPIRED)), mail("bob", "x")]},
        ["free: update mailbox alice@example.com, its alias x@example.com expired on 2026-12-31",
         "keep: update mailbox bob@example.com, it lacks the alias x@example.com (needs 0)"],
    ),
    "the addresses of what is purged": Case(
        [HOME, box("alice"), box("bob", "x")], {"mailboxes": [mail("alice", "x")]},
        ["free: delete mailbox bob@example.com, it is not declared",
         "keep: update mailbox alice@example.com, it lacks the alias x@example.com (needs 0)"],
        {"purge": ["mailbox"], "max_deletions": 1},
    ),
    "an empty domain": Case(
        [HOME, OLD], LEAVING, ["deregister: delete domain old.example, it is to be absent"],
    ),
    "a domain that is emptied by name": Case(
        [HOME, OLD, box("x@old.example"), box("alice", "y@old.example")],
        {**LEAVING, "mailboxes": [
            {"name": "x@old.example", "state": "absent"},
            mail("alice", {"address": "y@old.example", "state": "absent"})]},
        ["keep: update mailbox alice@example.com, its alias y@old.example is to be absent",
         "delete: delete mailbox x@old.example, it is to be absent",
         "deregister: delete domain old.example, it is to be absent (needs 0, 1)"],
    ),
    "a domain with all that it holds": Case(
        [HOME, OLD, box("x@old.example", "x2@old.example"), box("alice", "y@old.example", "z"),
         team("team@old.example", FAR)],
        FORCED,
        [("keep: update mailbox alice@example.com, its alias y@old.example goes with the domain "
          "old.example"),
         ("delete: delete forwarder team@old.example, its domain old.example is deleted with all "
          "that it holds"),
         ("delete: delete mailbox x@old.example, its domain old.example is deleted with all that "
          "it holds"),
         "deregister: delete domain old.example, it is to be absent (needs 0, 1, 2)"],
        {"max_deletions": 3},
    ),
    "two domains that hold one mailbox": Case(
        [HOME, OLD, domain("older.example"), box("alice"), box("x@old.example", "x@older.example",
                                                               "sales")],
        {"domains": [{"name": name, "state": "absent", "force": True}
                     for name in ("older.example", "old.example")],
         "mailboxes": [mail("alice", "sales")]},
        [("free: delete mailbox x@old.example, its domain old.example is deleted with all that it "
          "holds"),
         "keep: update mailbox alice@example.com, it lacks the alias sales@example.com (needs 0)",
         "deregister: delete domain old.example, it is to be absent (needs 0)",
         "deregister: delete domain older.example, it is to be absent (needs 0)"],
        {"max_deletions": 1},
    ),
    "passwords, in one step with the lists": Case(
        [HOME, box("alice"), box("bob"), box("carol")],
        {"mailboxes": [mail("alice", "x"), BOB, CAROL]},
        [("keep: update mailbox alice@example.com, it lacks the alias x@example.com, "
          "its passwords are to be replaced"),
         "keep: update mailbox bob@example.com, its passwords are to be replaced"],
        {"passwords": ["alice", "bob"], "replace": True},
    ),
    "passwords of those that are there are left alone": Case(
        [HOME, box("alice")], {"mailboxes": [ALICE]}, [], {"passwords": ["alice"]},
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", STEPS)
def test_what_is_done_in_which_order(case: str) -> None:
    """Each step with its stage, its reason and what it needs; and nothing stands against it."""
    tenant, parts, wanted, options = STEPS[case]
    planned = plan(tenant, parts, **options)
    assert findings(planned) == []
    assert steps(planned) == wanted


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
        f"mailbox {ALICE}", f"mailbox {CAROL}",
    ]  # fmt: skip


SWAP: tuple[list[Principal], Parts] = (
    [HOME, box("alice", "x"), box("bob", "y")],
    {"mailboxes": [mail("alice", "y"), mail("bob", "x")]},
)

#: Each of them is another plan than the swap's and than each other.
OTHER_PLANS: dict[str, tuple[list[Principal], Parts, dict[str, Any]]] = {
    "nothing": ([HOME], {"mailboxes": []}, {}),
    "another alias before": ([HOME, box("alice", "x", "z"), box("bob", "y")], SWAP[1], {}),
    "another alias after": (SWAP[0], {"mailboxes": [mail("alice", "y", "z"), mail("bob", "x")]},
                            {}),
    "one of them": (SWAP[0], {"mailboxes": [mail("alice", "y", no_alias("x")), gone("bob")]}, {}),
    "with passwords": (*SWAP, {"passwords": ["alice"], "replace": True}),
    "more": ([*SWAP[0], box("carol")], {"mailboxes": [*SWAP[1]["mailboxes"], gone("carol")]}, {}),
    "a forwarder": ([HOME], {"forwarders": [forward("team", FAR)]}, {}),
    "another member": ([HOME], {"forwarders": [forward("team", ALICE)]}, {}),
    "a member more": ([HOME, team("team", ALICE)], {"forwarders": [forward("team", ALICE, FAR)]},
                      {}),
    "a member other": ([HOME, team("team", BOB)], {"forwarders": [forward("team", ALICE, FAR)]},
                       {}),
    "a domain": ([], {"domains": ["example.com"]}, {}),
    "another domain": ([], {"domains": ["b.example"]}, {}),
    "no domain": ([HOME], {"domains": [{"name": "example.com", "state": "absent"}]}, {}),
}  # fmt: skip


def test_each_plan_has_a_digest_of_its_own() -> None:
    """Whatever is different, before or after."""
    plans = [plan(*SWAP), *(plan(t, p, **options) for t, p, options in OTHER_PLANS.values())]
    digests = {digest(planned.changes) for planned in plans}
    assert len(digests) == len(plans)
    assert all(len(text) == len("sha256:") + 64 for text in digests)


def test_equal_plans_have_equal_digests() -> None:
    """Whatever the order and the spelling; passwords count only as being replaced."""
    tenant, parts = SWAP
    shouted = {"mailboxes": [mail("BOB", "X"), mail("Alice", "Y")]}
    assert digest(plan(tenant[::-1], shouted).changes) == digest(plan(tenant, parts).changes)
    planned = plan(tenant, parts, passwords=["alice"], replace=True)
    other = [
        type(change)(
            change.action, change.before, change.after, "", change.edit,
            tuple("another" for _secret in change.secrets),
        )
        for change in planned.changes
    ]  # fmt: skip
    assert digest(planned.changes) == digest(other)
    assert PASSWORD not in repr(planned)
