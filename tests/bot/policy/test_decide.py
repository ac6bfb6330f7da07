# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What a policy says of a wish, case by case."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ansible_collections.postroom.email.tests.bot.policy.policies import (
    ADMIN,
    ALICE,
    ALL_AUTOMATIC,
    FACTS,
    adding,
    forwarding,
    policy_of,
)
from postroom_bot.model import Action, Person, Quorum, Verdict, Wish
from postroom_bot.policy.decide import Facts, decide

AUTOMATIC = {"automatic": True}
OPEN = policy_of(*ALL_AUTOMATIC)
PASSWORD_OF_BOB = Wish(Action.PASSWORD, "bob@example.com")
BY_BOTH = (Quorum("security", 1), Quorum("admins", 1))


def rule_of(person: Person, wish: Wish, *rules: dict[str, Any], facts: Facts = FACTS) -> str:
    """Return which rule decides."""
    return decide(policy_of(*rules), person, wish, facts).rule


@pytest.mark.parametrize(
    ("wish", "person", "facts", "rule"),
    [
        (adding("sales@example.com"), replace(ALICE, obstacle="No guests."), FACTS, "<person>"),
        (adding("sales@example.com"), replace(ALICE, mailbox=None), FACTS, "<identity>"),
        (Wish(Action.PASSWORD, ""), replace(ALICE, mailbox=None), FACTS, "<identity>"),
        (adding("säles@example.com"), ALICE, FACTS, "<invalid>"),
        (adding("Sales@example.com"), ALICE, FACTS, "<invalid>"),
        (adding("sales@example.com", "<bob@example.com>"), ALICE, FACTS, "<invalid>"),
        (forwarding("team@example.com"), ALICE, FACTS, "<invalid>"),
        (forwarding("team@example.com", "a@b@example.net"), ALICE, FACTS, "<invalid>"),
        (adding("sales@example.net"), ALICE, FACTS, "<domain>"),
        (adding("sales@example.com", "bob@example.net"), ALICE, FACTS, "<domain>"),
        (adding("x@example.com"), ALICE, replace(FACTS, tombstone_owner="b@b.b"), "<tombstone>"),
        (adding("x@example.com"), ALICE, replace(FACTS, open_requests=5), "<limits>"),
        (adding("x@example.com"), ALICE, replace(FACTS, requests_today=20), "<limits>"),
        (adding("x@example.com"), ALICE, replace(FACTS, aliases=20), "<limits>"),
    ],
)
def test_built_in_controls_come_before_all_rules(
    wish: Wish, person: Person, facts: Facts, rule: str
) -> None:
    """Each refuses with a sentence, though the policy allows everything at once."""
    decision = decide(OPEN, person, wish, facts)
    assert (decision.verdict, decision.rule) == (Verdict.DENY, rule)
    assert decision.reason.endswith(".")


def test_a_given_up_address_may_come_back_to_its_last_owner() -> None:
    """A tombstone keeps it from others only, and from nobody who gives one up."""
    facts = replace(FACTS, tombstone_owner="alice@example.com")
    assert decide(OPEN, ALICE, adding("x@example.com"), facts).verdict is Verdict.ALLOW
    others = adding("x@example.com", "bob@example.com")
    assert decide(OPEN, ALICE, others, facts).rule == "<tombstone>"
    removal = Wish(Action.ALIAS_REMOVE, "x@example.com", "bob@example.com")
    assert decide(OPEN, ALICE, removal, facts).verdict is Verdict.ALLOW


def test_what_was_a_forwarder_becomes_nobodys_alias() -> None:
    """Not even of whoever had it removed; another forwarder may take its place."""
    facts = replace(FACTS, tombstone_owner="x@example.com")
    assert decide(OPEN, ALICE, adding("x@example.com"), facts).rule == "<tombstone>"
    forward = Wish(Action.FORWARD_ADD, "x@example.com", destinations=("bob@example.com",))
    assert decide(OPEN, ALICE, forward, facts).verdict is Verdict.ALLOW


def test_the_aliases_of_a_mailbox_limit_additions_only() -> None:
    """Whoever has too many may remove some; where the number is not known, it is not counted."""
    removal = Wish(Action.ALIAS_REMOVE, "x@example.com")
    assert decide(OPEN, ALICE, removal, replace(FACTS, aliases=99)).verdict is Verdict.ALLOW
    unknown = replace(FACTS, aliases=None)
    assert decide(OPEN, ALICE, adding("x@example.com"), unknown).verdict is Verdict.ALLOW


def test_denying_rules_come_first() -> None:
    """They do so wherever they stand, in their own order, and with their own sentence."""
    rules: list[dict[str, Any]] = [
        AUTOMATIC,
        {"actions": ["password"], "deny": "a"},
        {"deny": "b"},
        {"deny": "c"},
    ]
    decision = decide(policy_of(*rules), ALICE, adding("x@example.com"), FACTS)
    assert (decision.verdict, decision.rule, decision.reason) == (Verdict.DENY, "rule-3", "b")


def test_the_first_rule_that_fits_decides() -> None:
    """A stricter or a more lenient one after it counts for nothing."""
    lenient = {"addresses": ["x@*"], **AUTOMATIC}
    strict = {"approvals": {"admins": 3}}
    assert rule_of(ALICE, adding("x@example.com"), lenient, strict) == "rule-1"
    assert rule_of(ALICE, adding("y@example.com"), lenient, strict) == "rule-2"
    assert rule_of(ALICE, adding("x@example.com"), strict, lenient) == "rule-1"


def test_what_no_rule_allows_is_denied() -> None:
    """The sentence does not tell what would have been allowed."""
    decision = decide(
        policy_of({"groups": ["admins"], **AUTOMATIC}), ALICE, adding("x@example.com"), FACTS
    )
    assert (decision.verdict, decision.rule) == (Verdict.DENY, "<default>")
    assert decision.reason == "No rule of the policy allows this. Ask admins."


@pytest.mark.parametrize(
    ("condition", "fits", "does_not"),
    [
        ({"actions": ["alias.add"]}, adding("x@example.com"), Wish(Action.PASSWORD, "")),
        ({"own": True}, adding("x@example.com"), adding("x@example.com", "bob@example.com")),
        (
            {"own": True},
            adding("x@example.com", "alice@example.com"),
            forwarding("x@example.com", "alice@example.com"),
        ),
        ({"own": False}, adding("x@example.com", "bob@example.com"), adding("x@example.com")),
        ({"domains": ["*.org"]}, adding("x@example.org"), adding("x@example.com")),
        ({"domains": ["EXAMPLE.com"]}, adding("x@example.com"), adding("x@example.org")),
        ({"addresses": ["p-*@*"]}, adding("p-1@example.com"), adding("x@example.com")),
        (
            {"destinations": "internal"},
            forwarding("x@example.com", "a@example.org"),
            forwarding("x@example.com", "a@example.org", "a@example.net"),
        ),
        (
            {"destinations": "external"},
            forwarding("x@example.com", "a@example.org", "a@example.net"),
            forwarding("x@example.com", "a@example.org"),
        ),
        ({"reserved": True}, adding("root@example.com"), adding("x@example.com")),
        ({"reserved": False}, adding("x@example.com"), adding("root@example.com")),
        ({}, adding("x@example.com"), adding("root@example.com")),
    ],
)
def test_a_rule_fits_where_its_conditions_are_met(
    condition: dict[str, Any], fits: Wish, does_not: Wish
) -> None:
    """Each condition tells two wishes apart."""
    rule = {**condition, "approvals": {"admins": 2}}
    assert rule_of(ALICE, fits, rule) == "rule-1"
    assert rule_of(ALICE, does_not, rule) in {"<default>", "<reserved>"}


def test_a_rule_is_for_members_of_any_of_its_groups() -> None:
    """Everybody is in the group everyone."""
    rule = {"groups": ["security", "admins"], **AUTOMATIC}
    assert rule_of(ADMIN, adding("x@example.com"), rule) == "rule-1"
    assert rule_of(ALICE, adding("x@example.com"), rule) == "<default>"


def test_a_denying_rule_means_reserved_names_too() -> None:
    """Unless it says which it means."""
    for condition, rule in [({}, "rule-1"), ({"reserved": False}, "<reserved>")]:
        denial = {**condition, "deny": "No."}
        assert rule_of(ALICE, adding("root@example.com"), denial) == rule


@pytest.mark.parametrize(
    ("wish", "told"),
    [
        (adding("post.master+x@example.com"), "reserved name"),
        (adding("payroll@example.com"), "people trust"),
        (adding("adm1n@example.com"), "people trust"),
        (Wish(Action.ALIAS_REMOVE, "ceo@example.com"), "people trust"),
        (forwarding("x@example.com", "a@example.net"), "leave our domains, to `a@example.net`"),
        (PASSWORD_OF_BOB, "somebody else's mailbox"),
    ],
)
def test_two_people_decide_whatever_the_rule_says(wish: Wish, told: str) -> None:
    """An automatic rule asks the approvers; approvers read why."""
    decision = decide(OPEN, ALICE, wish, FACTS)
    assert decision.verdict is Verdict.APPROVE
    assert decision.quorum == (Quorum("admins", 2),)
    assert told in decision.warnings[0]
    assert decision.reason.endswith("Two people always have to approve this.")


@pytest.mark.parametrize(
    ("approvals", "quorum"),
    [
        ({"security": 1}, (Quorum("security", 2),)),
        ({"security": 3}, (Quorum("security", 3),)),
        ({"security": 1, "admins": 1}, BY_BOTH),
    ],
)
def test_the_first_group_gives_what_is_missing(
    approvals: dict[str, int], quorum: tuple[Quorum, ...]
) -> None:
    """A rule that asks for two or more people already is left as it is."""
    policy = policy_of({"approvals": approvals})
    assert decide(policy, ALICE, PASSWORD_OF_BOB, FACTS).quorum == quorum


def test_the_own_password_needs_nobody_else() -> None:
    """Not even where the mailbox has a name that people trust; but a reserved one does."""
    for mailbox, verdict in [
        ("alice@example.com", Verdict.ALLOW),
        ("ceo@example.com", Verdict.ALLOW),
        ("admin@example.com", Verdict.APPROVE),
    ]:
        person = replace(ALICE, mailbox=mailbox)
        for named in ("", mailbox):
            decision = decide(OPEN, person, Wish(Action.PASSWORD, named), FACTS)
            assert decision.verdict is verdict


def test_approvers_know_where_an_owner_is_not_told() -> None:
    """That is so where nobody in Slack is known to own the mailbox."""
    told = decide(OPEN, ALICE, PASSWORD_OF_BOB, FACTS).warnings
    assert told[-1].startswith("Nobody in Slack is known to own `bob@example.com`")
    known = replace(FACTS, mailbox_owner_user="U00000002")
    assert len(decide(OPEN, ALICE, PASSWORD_OF_BOB, known).warnings) == len(told) - 1


def test_a_decision_names_the_policy_that_made_it() -> None:
    """Any change of the policy changes its digest, and reading it again does not."""
    digest = decide(OPEN, ALICE, adding("x@example.com"), FACTS).policy_digest
    assert digest == policy_of(*ALL_AUTOMATIC).digest
    assert digest != policy_of(*ALL_AUTOMATIC, limits={"open_requests": 6}).digest


def test_the_first_group_of_a_quorum_has_the_card() -> None:
    """Groups without a channel have their cards in the common one."""
    assert OPEN.channel_of(BY_BOTH) == "C00000009"
    assert OPEN.channel_of(BY_BOTH[::-1]) == "C00000001"
    assert OPEN.channel_of(()) == "C00000001"
