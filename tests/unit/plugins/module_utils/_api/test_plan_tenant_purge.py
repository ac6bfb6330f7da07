# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Purging: what goes that nobody declared, what is left alone, and where the limits are."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.postroom.email.plugins.module_utils._api.errors import InvalidInput
from ansible_collections.postroom.email.plugins.module_utils._api.models import Principal
from ansible_collections.postroom.email.plugins.module_utils._api.planning.purging import (
    KINDS,
    PurgeRules,
)
from ansible_collections.postroom.email.plugins.module_utils._api.planning.steps import TenantPlan
from ansible_collections.postroom.email.tests.support.planning import (
    FAR,
    FORCED,
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
    team,
)

HOME, OLD, EMPTY = domain(), domain("old.example"), domain("empty.example")
IDN = domain("b\u00fccher.example")
TENANT: list[Principal] = [
    HOME, OLD, EMPTY, IDN,
    box("alice", "sales", "x@old.example", "Mix@Old.Example"), box("bob", "info"),
    box("carol@old.example"), box("dora@b\u00fccher.example"), team("team", FAR),
    foreign("staff", "all"),
]  # fmt: skip
DECLARED: Parts = {"domains": ["example.com", "old.example", "b\u00fccher.example"],
                   "mailboxes": [mail("alice")]}  # fmt: skip
ALIASES = {"sales@example.com", "x@old.example", "Mix@Old.Example"}
BOXES = {"bob@example.com", "carol@old.example", "dora@b\u00fccher.example"}


def lost(planned: TenantPlan) -> set[str]:
    """Return what goes: objects, and aliases of those that stay."""
    changes = planned.changes
    deleted = {str(change.subject.name) for change in changes if change.action == "delete"}
    return deleted | {str(a) for change in changes for a in change.edit.remove_aliases}


#: What is purged, the patterns, and what goes.
PURGED: dict[str, tuple[list[str], dict[str, Any], set[str]]] = {
    "nothing": ([], {}, set()),
    "aliases": (["alias"], {}, ALIASES),
    "mailboxes": (["mailbox"], {}, BOXES),
    "forwarders": (["forwarder"], {}, {"team@example.com"}),
    "domains": (["domain"], {}, {"empty.example"}),
    "all": ([*KINDS], {}, {*ALIASES, *BOXES, "team@example.com", "empty.example"}),
    "in scope, an address": (["mailbox"], {"scope": ("*@example.com",)}, {"bob@example.com"}),
    "in scope, its case": (["mailbox"], {"scope": ("B*@EXAMPLE.com",)}, {"bob@example.com"}),
    "in scope, two patterns": (["mailbox"], {"scope": ("bob@*", "c?rol@*")},
                               {"bob@example.com", "carol@old.example"}),
    "in scope, U-labels": (["mailbox"], {"scope": ("*@B\u00dcCHER.example",)},
                           {"dora@b\u00fccher.example"}),
    "in scope, A-labels": (["mailbox"], {"scope": ("*@xn--bcher-kva.*",)},
                           {"dora@b\u00fccher.example"}),
    "in scope, an alias by its own address": (["alias"], {"scope": ("*@old.example",)},
                                              {"x@old.example", "Mix@Old.Example"}),
    "in scope, a domain": (["domain"], {"scope": ("*.example",)}, {"empty.example"}),
    "in no scope": ([*KINDS], {"scope": ()}, set()),
    "in scope, a whole name only": ([*KINDS], {"scope": ("example.com", "bob")}, set()),
    "ignored, an address": (["mailbox"], {"ignore": ("bob@*", "*@old.example")},
                            {"dora@b\u00fccher.example"}),
    "ignored, by an alias": (["mailbox"], {"ignore": ("INFO@*",)}, BOXES - {"bob@example.com"}),
    "ignored, an alias": (["alias"], {"ignore": ("mix@*",)}, ALIASES - {"Mix@Old.Example"}),
    "ignored, U-labels": (["mailbox"], {"ignore": ("*@b\u00fccher.example",)},
                          BOXES - {"dora@b\u00fccher.example"}),
    "ignored, a set of letters": (["mailbox"], {"ignore": ("[bc]*",)},
                                  {"dora@b\u00fccher.example"}),
    "ignored, a domain": (["domain"], {"ignore": ("empty.*",)}, set()),
    "ignored wins": (["mailbox"], {"scope": ("bob@*",), "ignore": ("*",)}, set()),
}  # fmt: skip


@pytest.mark.parametrize("case", PURGED)
def test_what_goes_and_what_is_left_alone(case: str) -> None:
    """By kind, scope and ignore; of groups, and of what is declared, nothing ever."""
    purge, rules, wanted = PURGED[case]
    planned = plan(TENANT, DECLARED, purge=purge, max_deletions=99, **rules)
    assert findings(planned) == []
    assert lost(planned) == wanted


def test_aliases_are_left_alone_where_none_are_declared() -> None:
    """No list given is another thing than an empty list; and what is undeclared goes whole."""
    planned = plan(TENANT, {"mailboxes": ["alice@example.com"]}, purge=["alias"], max_deletions=99)
    assert planned.steps == ()


@pytest.mark.parametrize("holder", [box("x@old.example"), box("alice", "x@old.example"),
                                    foreign("g", "x@old.example")])  # fmt: skip
def test_a_domain_that_holds_anything_is_never_purged(holder: Principal) -> None:
    """Not even where all that it holds is purged as well."""
    planned = plan([OLD, holder], {"mailboxes": []}, purge=[*KINDS], max_deletions=99)
    assert "old.example" not in lost(planned)
    (text,) = findings(planned)
    assert text.startswith("The domain old.example is not declared and would be purged, but it")
    assert text.endswith("declare it with state absent, or add it to ignore.")


def test_a_declared_domain_may_lie_on_what_purging_empties() -> None:
    """Where it is named, force is not needed for what purge takes."""
    parts: Parts = {"domains": [{"name": "old.example", "state": "absent"}]}
    tenant: list[Principal] = [OLD, box("x@old.example")]
    assert lost(plan(tenant, parts, purge=["mailbox"], max_deletions=1)) == {
        "x@old.example", "old.example",
    }  # fmt: skip


#: What is purged, and how it is named as something that the declared forwarder needs.
FED: dict[str, tuple[str, Principal, str]] = {
    "a mailbox": ("mailbox", box("bob"), "mailbox bob@example.com {}, but it"),
    "a mailbox by its alias": ("mailbox", box("x", "bob"),
                               "mailbox x@example.com {}, but its alias bob@example.com"),
    "a forwarder": ("forwarder", team("Bob", FAR), "forwarder Bob@example.com {}, but it"),
    "an alias": ("alias", box("alice", "bob"), "alias bob@example.com {}, but it"),
}  # fmt: skip


@pytest.mark.parametrize("case", FED)
def test_members_of_what_is_declared_are_not_purged(case: str) -> None:
    """Mail to the forwarder would get lost from then on."""
    kind, held, words = FED[case]
    parts: Parts = {"mailboxes": [mail("alice")], "forwarders": [forward("team", "bob", FAR)]}
    tenant: list[Principal] = [HOME, box("alice"), team("team", FAR), held]
    said = words.format("is not declared and would be purged")
    assert findings(plan(tenant, parts, purge=[kind], max_deletions=9)) == [
        (
            f"forwarders[0]: The {said} is a member of the forwarder team@example.com. Declare it, "
            "drop it from the members, or add it to ignore."
        )
    ]
    assert findings(plan(tenant, parts, purge=[kind], ignore=("bob@*",))) == []


def test_a_member_that_someone_else_gets_may_be_purged() -> None:
    """Its mail goes to whom the address is declared to belong to."""
    parts: Parts = {"mailboxes": [mail("alice", "bob")], "forwarders": [forward("team", "bob")]}
    tenant: list[Principal] = [HOME, box("alice"), team("team", "bob"), box("bob")]
    planned = plan(tenant, parts, purge=["mailbox"], max_deletions=1)
    assert findings(planned) == []
    assert lost(planned) == {"bob@example.com"}


#: What a forced domain holds, what is ignored, and what of it is told to be kept.
KEPT: dict[str, tuple[list[Principal], str, str]] = {
    "a mailbox": ([box("legal@old.example"), box("x@old.example")], "legal@*",
                  "1 object: mailbox legal@old.example"),
    "by an alias": ([team("x@old.example", FAR, aliases=["legal"])], "LEGAL@*",
                    "1 object: forwarder x@old.example"),
    "an alias": ([box("alice", "legal@old.example", "x@old.example")], "*@OLD.example",
                 ("2 objects: alias legal@old.example of the mailbox alice@example.com, alias "
                  "x@old.example of the mailbox alice@example.com")),
}  # fmt: skip


@pytest.mark.parametrize("case", KEPT)
def test_force_takes_nothing_that_is_ignored(case: str) -> None:
    """Neither does the rest of the domain go then."""
    held, ignored, words = KEPT[case]
    planned = plan([HOME, OLD, *held], FORCED, ignore=(ignored,), max_deletions=9)
    assert findings(planned) == [
        (
            "domains[0]: The domain old.example is to be absent with all that it holds, but ignore "
            f"keeps {words}. Declare these absent, or take them out of ignore."
        )
    ]
    assert lost(planned) == {"old.example"}


def test_force_takes_what_is_named_or_lies_elsewhere_whatever_is_ignored() -> None:
    """Whoever is declared absent is named; an alias that matches stays where its owner does."""
    parts: Parts = {**FORCED, "mailboxes": [{"name": "legal@old.example", "state": "absent"}]}
    tenant: list[Principal] = [HOME, OLD, box("legal@old.example"),
                               box("alice", "legal", "x@old.example")]  # fmt: skip
    planned = plan(tenant, parts, ignore=("legal@*", "old.example"), max_deletions=1)
    assert findings(planned) == []
    assert lost(planned) == {"legal@old.example", "x@old.example", "old.example"}


def test_what_is_used_by_the_definition_can_t_be_purged() -> None:
    """A domain that a new mailbox needs has to be declared."""
    parts: Parts = {"mailboxes": [{"name": "x@empty.example"}]}
    options: dict[str, Any] = {"purge": ["domain"], "max_deletions": 9}
    planned = plan([EMPTY], parts, passwords=["x@empty.example"], **options)
    assert findings(planned) == [
        (
            "* mailboxes[0]: x@empty.example: the domain empty.example is not declared and would "
            "be purged. Add it to domains, or to ignore."
        )
    ]


#: The tenant, the parts, the options; how many go that are not named.
COUNTED: dict[str, tuple[list[Principal], Parts, dict[str, Any], int]] = {
    "mailboxes": ([HOME, box("a", "b", "c"), box("d")], {"domains": ["example.com"]},
                  {"purge": ["mailbox"]}, 2),
    "forwarders": ([HOME, team("a", FAR)], {"domains": ["example.com"]},
                   {"purge": ["forwarder"]}, 1),
    "domains": ([HOME, OLD, EMPTY], {"domains": ["example.com"]}, {"purge": ["domain"]}, 2),
    "aliases": ([HOME, box("a", "b", "c")], {"mailboxes": [mail("a", "b")]},
                {"purge": ["alias"]}, 1),
    "of all kinds": ([HOME, EMPTY, box("a", "b", "c"), box("d", "e"), team("f", FAR)],
                     {"domains": ["example.com"], "mailboxes": [mail("a")]},
                     {"purge": [*KINDS]}, 5),
    "with force": ([HOME, OLD, box("a@old.example", "b@old.example", "c"),
                    box("d", "e@old.example"), team("f@old.example", FAR)], FORCED, {}, 3),
    "with force, of two domains": (
        [HOME, OLD, EMPTY, box("a@old.example", "b@empty.example"),
         box("c", "d@old.example", "e@empty.example")],
        {"domains": [{"name": name, "state": "absent", "force": True}
                     for name in ("empty.example", "old.example")]}, {}, 3),
    "with purge and force": ([HOME, OLD, box("a@old.example"), box("b", "c")],
                             {"domains": ["example.com", *FORCED["domains"]],
                              "mailboxes": [mail("b")]}, {"purge": [*KINDS]}, 2),
}  # fmt: skip


@pytest.mark.parametrize("case", COUNTED)
def test_max_deletions_counts_what_is_not_named(case: str) -> None:
    """As many as it allows pass; one less is refused, in check mode with a warning."""
    tenant, parts, options, count = COUNTED[case]
    assert findings(plan(tenant, parts, max_deletions=count, **options)) == []
    (text,) = findings(plan(tenant, parts, max_deletions=count - 1, **options))
    assert text.startswith("* ")
    assert f"max_deletions allows {count - 1}. " in text
    assert f"set max_deletions to {count}, " in text


NAMED: Parts = {
    "domains": ["example.com", {"name": "old.example", "state": "absent"}],
    "mailboxes": [mail("a", no_alias("x"), no_alias("y", expires="2026-12-31")), gone("b"),
                  mail("m", "z")],
    "forwarders": [gone("c"), forward("d", FAR, expires="2026-12-31")],
}  # fmt: skip


def test_what_is_named_or_moves_does_not_count() -> None:
    """Nor what has expired: it was named when it was given an end."""
    tenant: list[Principal] = [
        HOME, OLD, box("a", "x", "y", "z"), box("b"), box("m"), team("c", FAR), team("d", FAR),
    ]  # fmt: skip
    planned = plan(tenant, NAMED, purge=[*KINDS])
    assert findings(planned) == []
    assert len(lost(planned)) == 7


def test_the_message_counts_by_kind_and_names_ten() -> None:
    """With what to do: look, then allow it or narrow it."""
    tenant: list[Principal] = [
        HOME,
        EMPTY,
        *(box(f"b{n:02}") for n in range(9)),
        team("f", FAR),
        team("g", FAR),
    ]
    assert findings(plan(tenant, {"domains": ["example.com"]}, purge=[*KINDS])) == [
        "* 9 mailboxes, 2 forwarders and 1 domain would be deleted without being named: "
        + "".join(f"mailbox b{n:02}@example.com, " for n in range(9))
        + "forwarder f@example.com and 2 more. max_deletions allows 0. Look at the plan in check "
        "mode; if it is right, set max_deletions to 12, else narrow scope or declare them."
    ]


#: What is purged, the percentage that is allowed at least, and what is said below it.
SHARES: dict[str, tuple[list[str], float, str]] = {
    "alias": (["alias"], 40, "40 % of all aliases (2 of 5)"),
    "mailbox": (["mailbox"], 75, "75 % of all mailboxes (3 of 4)"),
    "forwarder": (["forwarder"], 50, "50 % of all forwarders (1 of 2)"),
    "domain": (["domain"], 33.4, "33.3 % of all domains (1 of 3)"),
}


@pytest.mark.parametrize("kind", SHARES)
def test_max_delete_percent_is_of_each_kind(kind: str) -> None:
    """What the share is of is what the tenant holds; other kinds don't count."""
    purge, most, words = SHARES[kind]
    tenant: list[Principal] = [
        HOME, OLD, EMPTY, box("alice", "a", "b", "c"), box("bob", "d", "e"), box("carl"),
        box("dora"), team("team", FAR), team("other@old.example", FAR),
    ]  # fmt: skip
    parts: Parts = {
        "domains": ["example.com", "old.example"], "mailboxes": [mail("alice", "a")],
        "forwarders": [forward("team", FAR)],
    }  # fmt: skip
    options: dict[str, Any] = {"purge": purge, "max_deletions": 9}
    assert findings(plan(tenant, parts, max_percent=most, **options)) == []
    (text,) = findings(plan(tenant, parts, max_percent=most - 0.5, **options))
    assert text.startswith(f"* {words} would be deleted without being named. ")
    assert f"max_delete_percent allows {most - 0.5:g}. " in text
    nothing_allowed = findings(plan(tenant, parts, max_percent=0, **options))
    assert len(nothing_allowed) == 1


def test_no_share_is_passed_where_nothing_goes() -> None:
    """Nothing of nothing is not too much."""
    assert findings(plan([], {"domains": []}, purge=[*KINDS], max_percent=0)) == []


BAD_RULES: dict[str, tuple[dict[str, Any], str]] = {
    "max_deletions": ({"max_deletions": -1},
                      "max_deletions: -1 can't be used. Give 0 or more."),
    "below": ({"max_percent": -0.1}, "max_delete_percent: -0.1 can't be used. Give 0 to 100."),
    "above": ({"max_percent": 100.1}, "max_delete_percent: 100.1 can't be used. Give 0 to 100."),
    "no number": ({"max_percent": float("nan")},
                  "max_delete_percent: nan can't be used. Give 0 to 100."),
    "scope": ({"scope": ("*", "")},
              "scope: there is an empty pattern. Write one such as *@example.com."),
    "ignore": ({"ignore": (" ",)},
               "ignore: there is an empty pattern. Write one such as *@example.com."),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD_RULES)
def test_rules_that_make_no_sense_are_refused(case: str) -> None:
    """A sentence that names the option."""
    options, text = BAD_RULES[case]
    with pytest.raises(InvalidInput) as caught:
        PurgeRules(**options)
    assert str(caught.value) == text
