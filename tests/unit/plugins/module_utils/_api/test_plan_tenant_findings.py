# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Planning a whole tenant: what stands against a plan, in which words, and where."""

from __future__ import annotations

import pytest

from ansible_collections.postroom.email.plugins.module_utils._api.models import Principal
from ansible_collections.postroom.email.tests.support.planning import (
    FAR,
    FORCED,
    LEAVING,
    Parts,
    box,
    domain,
    findings,
    foreign,
    forward,
    gone,
    mail,
    plan,
    team,
)

ALICE, BOB = "alice@example.com", "bob@example.com"
HOME, OLD = domain(), domain("old.example")
TAKEN = "Declare that too, so that the address can move, or free it there first."
CONVERT = "It is never converted: choose another name, or delete the"
DELETE_THEM = (
    "Declare these absent too, or set force to true on the domain to delete all of them with it, "
    "stored mail included."
)

#: The tenant, what is declared, what stands against it; a star is for what check mode lets pass.
FINDINGS: dict[str, tuple[list[Principal], Parts, list[str]]] = {
    "an alias of someone undeclared": (
        [HOME, box("alice"), box("bob", "x")], {"mailboxes": [mail("alice", "y", "x")]},
        [("mailboxes[0].aliases[1]: x@example.com is taken: it delivers to the mailbox "
          f"bob@example.com, which is not declared. {TAKEN}")]),
    "an alias of someone declared without aliases": (
        [HOME, box("alice"), box("bob", "x", "y")], {"mailboxes": [mail("alice", "y", "x"), BOB]},
        [(f"mailboxes[0].aliases[{at}]: {name}@example.com is taken: it is an alias of the mailbox "
          "bob@example.com, which is declared without aliases. Add a list of aliases there, so "
          "that the address can move, or free it there first.") for at, name in ((1, "x"), (0, "y"))
         ]),
    "the name of someone undeclared": (
        [HOME, box("alice"), team("team", FAR)], {"mailboxes": [mail("alice", "team")]},
        [("mailboxes[0].aliases[0]: team@example.com is taken: it delivers to the forwarder "
          f"team@example.com, which is not declared. {TAKEN}")]),
    "a new mailbox on someone's alias": (
        [HOME, box("bob", "alice")], {"forwarders": [forward("alice", FAR)]},
        [("forwarders[0]: alice@example.com is taken: it delivers to the mailbox bob@example.com, "
          f"which is not declared. {TAKEN}")]),
    "an alias of someone undeclared, who only loses a domain": (
        [HOME, OLD, box("alice"), box("bob", "x", "y@old.example")],
        {**FORCED, "mailboxes": [mail("alice", "x")]},
        [("mailboxes[0].aliases[0]: x@example.com is taken: it delivers to the mailbox "
          f"bob@example.com, which is not declared. {TAKEN}"),
         ("* 1 alias would be deleted without being named: alias y@old.example. max_deletions "
          "allows 0. Look at the plan in check mode; if it is right, set max_deletions to 1, else "
          "narrow scope or declare them.")]),
    "an address of a group": (
        [HOME, box("alice"), foreign("staff", "x")], {"mailboxes": [mail("alice", "x")]},
        [("mailboxes[0].aliases[0]: x@example.com is taken: it delivers to the group "
          f"staff@example.com, which is not declared. {TAKEN}")]),
    "a forwarder under a mailbox's name": (
        [HOME, team("alice", FAR)], {"mailboxes": [ALICE]},
        [("mailboxes[0]: alice@example.com is a forwarder, not a mailbox. "
          f"{CONVERT} forwarder first.")]),
    "a mailbox under a forwarder's name": (
        [HOME, box("team")], {"forwarders": [forward("team", FAR)]},
        [("forwarders[0]: team@example.com is a mailbox, not a forwarder. "
          f"{CONVERT} mailbox and the mail stored in it first.")]),
    "another kind than what is to be absent": (
        [HOME, box("team"), team("alice", FAR)],
        {"mailboxes": [gone("alice")], "forwarders": [gone("team")]},
        [("mailboxes[0]: alice@example.com is a forwarder, not a mailbox. "
          f"{CONVERT} forwarder first."),
         ("forwarders[0]: team@example.com is a mailbox, not a forwarder. "
          f"{CONVERT} mailbox and the mail stored in it first.")]),
    "a group under a mailbox's name": (
        [HOME, foreign("alice")], {"mailboxes": [ALICE]},
        [f"mailboxes[0]: alice@example.com is a group, not a mailbox. {CONVERT} group first."]),
    "what a server calls a mailbox and is none": (
        [HOME, foreign("alice", "alice", kind="mailbox"), foreign("bob", "bob", kind="mailbox")],
        {"mailboxes": [ALICE, gone("bob")]},
        [f"mailboxes[1]: bob@example.com is a mailbox, not a mailbox. {CONVERT} mailbox first.",
         f"mailboxes[0]: alice@example.com is a mailbox, not a mailbox. {CONVERT} mailbox first."]),
    "a group under a domain's name": (
        [foreign("example.com")], {"domains": ["example.com"]},
        [f"domains[0]: example.com is a group, not a domain. {CONVERT} group first."]),
    "a domain that still holds things": (
        [HOME, OLD, box("x@old.example"), box("alice", "y@old.example", "z@old.example")], LEAVING,
        [("domains[0]: The domain old.example is to be absent but holds 3 objects: alias "
          "y@old.example of the mailbox alice@example.com, alias z@old.example of the mailbox "
          f"alice@example.com, mailbox x@old.example. {DELETE_THEM}")]),
    "a domain that holds a group": (
        [HOME, OLD, foreign("staff@old.example")], FORCED,
        [("domains[0]: The domain old.example is to be absent but holds 1 object: group "
          "staff@old.example. Delete them first by hand.")]),
    "a domain that a group borrows": (
        [HOME, OLD, foreign("staff", "x@old.example")], FORCED,
        [("domains[0]: The domain old.example is to be absent but holds 1 object: alias "
          "x@old.example of the group staff@example.com. Delete them first by hand.")]),
    "domains that are not registered, each once": (
        [HOME, box("alice")],
        {"mailboxes": [mail("alice", "y@c.example", "x@b.example")],
         "forwarders": [{"name": "t@b.example", "members": [FAR], "aliases": ["a@b.example"]}]},
        [("* forwarders[0].aliases[0]: a@b.example and 2 more: the domain b.example is not "
          "registered in this tenant. Add it to domains, or check its spelling."),
         ("* mailboxes[0].aliases[0]: y@c.example: the domain c.example is not registered in this "
          "tenant. Add it to domains, or check its spelling.")]),
    "a new mailbox without a password": (
        [HOME, box("alice")], {"mailboxes": [ALICE, BOB]},
        [("* mailboxes[1]: The mailbox bob@example.com does not exist yet and can't be created "
          "without a password. Give it one in passwords.")]),
    "a circle over forwarders that nobody declared": (
        [HOME, team("b", "c"), team("c", "d", FAR), team("d", FAR, "x@example.com")],
        {"forwarders": [forward("a", "b", aliases=["x@example.com"])]},
        [("forwarders[0]: Mail to a@example.com would run in a circle: a@example.com -> "
          "b@example.com -> c@example.com -> d@example.com -> x@example.com. Take one of these out "
          "of members.")]),
    "a circle by a member only": (
        [HOME, team("a", FAR), team("b", "a")], {"forwarders": [forward("a", "b")]},
        [("forwarders[0]: Mail to a@example.com would run in a circle: a@example.com -> "
          "b@example.com -> a@example.com. Take one of these out of members.")]),
    "a circle by an alias only": (
        [HOME, team("a", "b"), team("b", "x@example.com")],
        {"forwarders": [forward("a", "b", aliases=["x@example.com"])]},
        [("forwarders[0]: Mail to a@example.com would run in a circle: a@example.com -> "
          "b@example.com -> x@example.com. Take one of these out of members.")]),
    "a circle beside one that was there before": (
        [HOME, team("a", "b", "c"), team("b", "d"), team("d", "a"), team("c", FAR)],
        {"forwarders": [forward("c", "d")]},
        [("forwarders[0]: Mail to c@example.com would run in a circle: c@example.com -> "
          "d@example.com -> a@example.com -> c@example.com. Take one of these out of members.")]),
    "no circle, for it was there before": (
        [HOME, team("a", "b"), team("b", "a"), box("alice")],
        {"mailboxes": [mail("alice")], "forwarders": [forward("team", "a")]}, []),
    "no circle, for the one between is purged by name": (
        [HOME, team("b", "a")], {"forwarders": [forward("a", "b"), gone("b")]}, []),
}  # fmt: skip


@pytest.mark.parametrize("case", FINDINGS)
def test_what_stands_against_a_plan(case: str) -> None:
    """Each finding in full, with its place; and nothing else."""
    tenant, parts, wanted = FINDINGS[case]
    assert findings(plan(tenant, parts)) == wanted


def test_a_chain_of_ten_thousand_forwarders() -> None:
    """It takes no recursion to see that it is none, nor, with one member more, that it closes."""
    last = 9_999
    chain = [team(f"f{n}", f"f{n + 1}") for n in range(last)]
    open_end = plan([HOME, *chain], {"forwarders": [forward(f"f{last}", FAR)]})
    assert (len(open_end.steps), findings(open_end)) == (1, [])
    closed = plan([HOME, *chain], {"forwarders": [forward(f"f{last}", "f0")]})
    assert findings(closed) == [
        "forwarders[0]: Mail to f9999@example.com would run in a circle: f9999@example.com -> "
        + "".join(f"f{n}@example.com -> " for n in range(8))
        + "9991 more -> f9999@example.com. Take one of these out of members."
    ]
