# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Policies whose keys are right and whose meaning is not."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from ansible_collections.postroom.email.tests.bot.policy.policies import (
    BASE,
    allowing_rules,
    facts,
    people,
    policy_of,
    wishes,
)
from postroom_bot.model import Person, Wish
from postroom_bot.policy.checks import mistakes
from postroom_bot.policy.decide import Facts, decide

PASSWORD = {"actions": ["password"], "own": True, "automatic": True}
ALIAS = {"actions": ["alias.add"], "automatic": True}
FORWARD = {"actions": ["forward.add"]}
BY_ADMINS = {"approvals": {"admins": 1}}
GROUPS = BASE["groups"]
ONE_ADMIN = {**GROUPS, "admins": {"users": ["U00000001"]}}


def wrong(*rules: dict[str, Any], **more: Any) -> list[tuple[str, str]]:
    """Return the mistakes in a policy: the dotted way and the sentence of each."""
    found = mistakes(policy_of(*(rules or [PASSWORD]), **more))
    return [(".".join(map(str, way)), text) for way, text in found]


@pytest.mark.parametrize(
    ("more", "way", "text"),
    [
        (
            {"identity": {"pinned": {"U111": "a@b.example", "U222": "A@b.example"}}},
            "identity.pinned.U222",
            "a@b.example is pinned to U111 already.",
        ),
        ({"groups": {**GROUPS, "everyone": {"users": ["U111"]}}}, "groups.everyone", "built in"),
        ({"groups": {**GROUPS, "empty": {}}}, "groups.empty", "The group has no members."),
        ({"approvers": "nobody"}, "approvers", "no group nobody. Known are everyone, admins"),
        ({"groups": ONE_ADMIN}, "approvers", "2 approvals of admins can be needed here"),
        (
            {"requests": {"remind_after": "1d", "expire_after": "24h"}},
            "requests.remind_after",
            "Nobody would be reminded",
        ),
    ],
)
def test_sections_fit_each_other(more: dict[str, Any], way: str, text: str) -> None:
    """A mistake is told where it can be mended."""
    [(found, said)] = wrong(**more)
    assert found == way
    assert text in said


@pytest.mark.parametrize(
    ("rule", "way", "text"),
    [
        ({**ALIAS, "groups": ["everyone", "staff"]}, "groups.1", "There is no group staff."),
        ({**PASSWORD, "name": "x", "own": None}, "automatic", "password of another mailbox."),
        ({**FORWARD, "approvals": {"staff": 1}}, "approvals.staff", "There is no group staff."),
        ({**FORWARD, "approvals": {"admins": 4}}, "approvals.admins", "the group has 3 members"),
        ({**FORWARD, "automatic": True}, "automatic", "Add destinations: internal, or write"),
        ({"automatic": True, "reserved": True}, "automatic", "Two people always have to approve"),
        ({"own": True, **BY_ADMINS}, "own", "A forwarder is nobody's own."),
        ({"destinations": "internal", **BY_ADMINS}, "destinations", "Only a new forwarder has"),
    ],
)
def test_a_rule_can_be_followed(rule: dict[str, Any], way: str, text: str) -> None:
    """Its groups exist and are large enough, its conditions mean something, its effect is true."""
    [(found, said)] = wrong(rule)
    assert found == f"rules.0.{way}"
    assert text in said


def test_a_known_group_is_named_once() -> None:
    """Also where the file has one with the name of the one that is built in."""
    groups = {**GROUPS, "everyone": {"users": ["U111"]}}
    found = dict(wrong({**PASSWORD, "groups": ["staff"]}, groups=groups))
    known = "There is no group staff. Known are everyone, admins, security."
    assert found["rules.0.groups.0"] == known


def test_a_group_is_large_enough_for_what_is_always_asked() -> None:
    """A rule that asks for one approval may be raised to two; a user group may have any number."""
    groups = {**GROUPS, "boss": {"users": ["U00000009", "U00000009"]}}
    [(found, said)] = wrong({**ALIAS, "automatic": None, "approvals": {"boss": 1}}, groups=groups)
    assert found == "rules.0.approvals.boss"
    assert said.startswith("2 approvals of boss can be needed here, and the group has 1 member.")
    own_password = {**PASSWORD, "automatic": None, "approvals": {"boss": 1}}
    assert not wrong(own_password, groups=groups)
    assert not wrong({"approvals": {"security": 10}})
    assert not wrong({"approvals": {"everyone": 10}})


TWO = {"users": ["U00000001", "U00000002"]}


@pytest.mark.parametrize(
    ("rule", "needed"),
    [
        ({"actions": ["password"], "own": True, "approvals": {"two": 2}}, "2 approvals"),
        ({"actions": ["password"], "own": False, "approvals": {"two": 1}}, "2 approvals"),
        ({"reserved": True, "approvals": {"two": 1}}, "2 approvals"),
    ],
)
def test_nobody_approves_their_own_request(rule: dict[str, Any], needed: str) -> None:
    """A group needs one more where all who may ask are in it, and only there."""
    groups = {**GROUPS, "two": TWO}
    [(found, said)] = wrong({**rule, "groups": ["two"]}, groups=groups)
    assert found == "rules.0.approvals.two"
    assert said.startswith(f"{needed} of two can be needed here, and the group has 2 members. Ev")
    for askers in (["everyone"], ["admins"], ["two", "security"]):
        assert not wrong({**rule, "groups": askers}, groups=groups)
    three = {**GROUPS, "two": {"users": ["U00000001", "U00000002", "U00000003"]}}
    assert not wrong({**rule, "groups": ["two"]}, groups=three)


def test_one_who_asks_alone_is_approved_by_nobody() -> None:
    """A single approval is one too many for a group of one that asks itself."""
    groups = {**GROUPS, "boss": {"users": ["U00000009"]}}
    own = {**PASSWORD, "automatic": None, "groups": ["boss"], "approvals": {"boss": 1}}
    [(_, said)] = wrong(own, groups=groups)
    assert said.startswith("1 approval of boss can be needed here, and the group has 1 member.")


def test_those_who_approve_what_is_automatic_are_enough() -> None:
    """The group of approvers needs three where nobody else may ask."""
    groups = {**GROUPS, "admins": TWO}
    [(found, said)] = wrong({**ALIAS, "groups": ["admins"]}, groups=groups)
    assert found == "approvers"
    assert "the group has 2 members. Everybody who may ask is in it" in said
    assert not wrong(ALIAS, groups=groups)


def test_names_of_rules_are_their_own() -> None:
    """A name in the audit means one rule."""
    rules = [{**ALIAS, "name": "x", "addresses": [f"{n}@*"]} for n in "ab"]
    assert wrong(*rules) == [("rules.1.name", "Another rule has this name. Give each its own.")]


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        (ALIAS, {**ALIAS, "own": True}),
        ({**ALIAS, "domains": ["*"]}, {**ALIAS, "domains": ["example.com"]}),
        ({**ALIAS, "addresses": ["a@*", "b@*"]}, {**ALIAS, "addresses": ["b@*"]}),
        ({**FORWARD, **BY_ADMINS}, {**FORWARD, "destinations": "internal", **BY_ADMINS}),
        ({**ALIAS, "groups": ["security", "admins"]}, {**ALIAS, "groups": ["admins"]}),
        ({"deny": "No."}, {"deny": "No, no.", "groups": ["admins"]}),
        ({"reserved": True, **BY_ADMINS}, {**ALIAS, "reserved": True, **BY_ADMINS}),
    ],
)
def test_a_rule_that_never_decides_is_told(earlier: dict[str, Any], later: dict[str, Any]) -> None:
    """An earlier one that fits wherever it fits leaves it nothing; the other way round is fine."""
    later = {**later, **({"automatic": None} if "approvals" in later else {})}
    [(found, said)] = wrong(earlier, later)
    assert found == "rules.1"
    assert said.startswith("It never decides: rule-1, asked before it, fits all that it fits.")
    assert not wrong(later, earlier)


def test_a_denial_of_everything_leaves_nothing() -> None:
    """It is asked first although it stands last."""
    assert [way for way, _ in wrong(PASSWORD, {"deny": "Closed."})] == ["rules.0"]


@settings(max_examples=500, deadline=None)
@given(st.lists(allowing_rules, min_size=2, max_size=4), people, wishes, facts)
def test_what_is_told_to_never_decide_never_does(
    rules: list[dict[str, Any]], person: Person, wish: Wish, known: Facts
) -> None:
    """No wish finds such a rule."""
    policy = policy_of(*rules)
    idle = {
        policy.rules[int(way[1])].name for way, said in mistakes(policy) if "never decides" in said
    }
    event("some idle" if idle else "none idle")
    assert decide(policy, person, wish, known).rule not in idle
