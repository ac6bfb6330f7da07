# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Explanations, as those who write policies read them."""

from __future__ import annotations

from ansible_collections.postroom.email.tests.bot.policy.policies import (
    ALICE,
    FACTS,
    adding,
    policy_of,
)
from postroom_bot.policy.explain import explain

PASSED = [
    "<person>: Passed: the person may use the bot.",
    "<identity>: Passed: it is known which mailbox is meant.",
    "<invalid>: Passed: every address is one that the bot takes.",
    "<domain>: Passed: it is about domains of ours.",
    "<tombstone>: Passed: the address is not kept for another.",
    "<limits>: Passed: the limits are kept.",
]
RULES = (
    {"name": "own-password", "actions": ["password"], "own": True, "automatic": True},
    {"name": "closed", "groups": ["security"], "deny": "Not for you."},
    {"name": "own-alias", "actions": ["alias.add"], "own": True, "approvals": {"admins": 1}},
    {"name": "rest", "approvals": {"admins": 1}},
)


def test_each_rule_says_why_it_does_not_fit() -> None:
    """They stand in the order of asking; what was not asked is told too."""
    raised = "It needs 2 approvals from admins. Two people always have to approve this."
    assert explain(policy_of(*RULES), ALICE, adding("payroll@example.com"), FACTS) == [
        *PASSED,
        "closed: Does not fit: the person is not in security.",
        "own-password: Does not fit: it is for password.",
        f"own-alias: Fits. {raised}",
        "rest: Not asked, for the decision was made before.",
        f"Allowed with approvals by own-alias: {raised}",
        "Approvers are told: `payroll@example.com` is a name that people trust, or looks like one.",
    ]


def test_a_control_ends_it_before_the_rules() -> None:
    """Then no rule is asked."""
    lines = explain(policy_of(*RULES), ALICE, adding("x@example.net"), FACTS)
    assert lines[:3] == PASSED[:3]
    assert lines[3].startswith("<domain>: `example.net` is not one of our mail domains.")
    assert lines[-1].startswith("Denied by <domain>: `example.net` is not one of our mail domains.")
    assert sum("Not asked" in line for line in lines) == len(RULES)


def test_nothing_that_fits_is_told_too() -> None:
    """Every condition that is not met stands there."""
    rule = {"name": "far", "actions": ["alias.remove"], "own": False, "domains": ["*.org"]}
    policy = policy_of({**rule, "automatic": True})
    reasons = [
        "it is for alias.remove",
        "it is for mailboxes of others",
        "the domain is none of *.org",
    ]
    assert explain(policy, ALICE, adding("x@example.com"), FACTS)[len(PASSED) :] == [
        f"far: Does not fit: {'; '.join(reasons)}.",
        "<default>: No rule of the policy allows this.",
        "Denied by <default>: No rule of the policy allows this.",
    ]
