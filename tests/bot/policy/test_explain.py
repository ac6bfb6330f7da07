# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Explanations, as those who write policies read them."""

from __future__ import annotations

from dataclasses import replace

from ansible_collections.postroom.email.tests.bot.policy.policies import (
    ALICE,
    FACTS,
    adding,
    policy_of,
)
from postroom_bot.policy.explain import explain

PASSED = [
    "<person>: Assumed: the person may use the bot.",
    "<identity>: Passed: it is known which mailbox is meant.",
    "<invalid>: Passed: every address is one that the bot takes.",
    "<domain>: Passed: it is about domains of ours.",
    "<tombstone>: Assumed: the address is not kept for another.",
    "<limits>: Assumed: the limits are kept.",
]
RULES = (
    {"name": "own-password", "actions": ["password"], "own": True, "automatic": True},
    {"name": "closed", "groups": ["security"], "deny": "Not for you."},
    {"name": "own-alias", "actions": ["alias.add"], "own": True, "approvals": {"admins": 1}},
    {"name": "rest", "approvals": {"admins": 1}},
)


def test_each_rule_says_why_it_does_not_fit() -> None:
    """The decision comes first, then the way to it, and what was not asked."""
    raised = "It needs 2 approvals from admins. Two people always have to approve this."
    assert explain(policy_of(*RULES), ALICE, adding("payroll@example.com"), FACTS) == [
        f"Allowed with approvals by own-alias: {raised}",
        "Approvers are told: `payroll@example.com` is a name that people trust, or looks like one.",
        "",
        *PASSED,
        "closed: Does not fit: the person is not in security.",
        "own-password: Does not fit: it is for password.",
        f"own-alias: Fits. {raised}",
        "Not asked any more: rest.",
    ]


def test_a_control_ends_it_before_the_rules() -> None:
    """Then no rule is asked."""
    lines = explain(policy_of(*RULES), ALICE, adding("x@example.net"), FACTS)
    assert lines[0].startswith("Denied by <domain>: `example.net` is not one of our mail domains.")
    assert lines[2:5] == PASSED[:3]
    assert lines[5].startswith("<domain>: `example.net` is not one of our mail domains.")
    assert lines[6:] == ["Not asked any more: closed, own-password, own-alias, rest."]


def test_what_is_given_is_not_assumed() -> None:
    """A control that refuses has been asked."""
    guest = replace(ALICE, obstacle="Guests may not use this.")
    lines = explain(policy_of(*RULES), guest, adding("x@example.com"), FACTS)
    assert lines[2] == "<person>: Guests may not use this."


def test_nothing_that_fits_is_told_too() -> None:
    """Every condition that is not met stands there."""
    rule = {"name": "far", "actions": ["alias.remove"], "own": False, "domains": ["*.org"]}
    policy = policy_of({**rule, "automatic": True})
    reasons = [
        "it is for alias.remove",
        "it is for mailboxes of others",
        "the domain is none of *.org",
    ]
    assert explain(policy, ALICE, adding("x@example.com"), FACTS) == [
        "Denied by <default>: No rule of the policy allows this. Ask admins.",
        "",
        *PASSED,
        f"far: Does not fit: {'; '.join(reasons)}.",
        "<default>: No rule of the policy allows this. Ask admins.",
    ]
