# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What a policy would decide and why, rule by rule, for those who write policies."""

from __future__ import annotations

from collections.abc import Iterator

from postroom_bot.model import Decision, Person, Verdict, Wish
from postroom_bot.policy.decide import Facts, ordered, weigh
from postroom_bot.policy.model import Policy

_VERDICTS = {
    Verdict.ALLOW: "Allowed at once",
    Verdict.APPROVE: "Allowed with approvals",
    Verdict.DENY: "Denied",
}


def explain(policy: Policy, person: Person, wish: Wish, facts: Facts) -> list[str]:
    """Return lines: what was looked at in order, what was not, and the decision.

    They name other people's mailboxes where the wish does, and are not meant for the requester.
    """
    weighed = weigh(policy, person, wish, facts)
    lines = [f"{step.name}: {step.note}" for step in weighed.steps]
    seen = {step.name for step in weighed.steps}
    # Rules and controls may have no name in common: only controls are in angle brackets.
    left = [rule.name for rule in ordered(policy) if rule.name not in seen]
    lines += [f"{name}: Not asked, for the decision was made before." for name in left]
    return [*lines, *_result(weighed.decision)]


def _result(decision: Decision) -> Iterator[str]:
    yield f"{_VERDICTS[decision.verdict]} by {decision.rule}: {decision.reason}"
    for warning in decision.warnings:
        yield f"Approvers are told: {warning}"
