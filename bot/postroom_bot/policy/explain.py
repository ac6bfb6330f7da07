# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What a policy would decide and why, rule by rule, for those who write policies."""

from __future__ import annotations

from collections.abc import Iterator

from postroom_bot.domain import Change, Decision, Person, Verdict
from postroom_bot.policy.builtin_rules import CONTROLS
from postroom_bot.policy.engine import Facts, Step, Weighed, ordered, weigh
from postroom_bot.policy.model import Policy

_VERDICTS = {
    Verdict.ALLOW: "Allowed at once",
    Verdict.APPROVE: "Allowed with approvals",
    Verdict.DENY: "Denied",
}


#: Controls that would have asked Slack or the database, which nobody has done here.
_ASSUMED = {
    control.name: f"Assumed: {control.about}."
    for control in CONTROLS
    if control.name in {"<person>", "<tombstone>", "<limits>"}
}


def explain(policy: Policy, person: Person, change: Change, facts: Facts) -> list[str]:
    """Return lines: the decision, what was looked at for it in order, and what was not.

    They name other people's mailboxes where the wish does, and are not meant for the requester.
    """
    weighed = weigh(policy, person, change, facts)
    return [*_result(weighed.decision), "", *map(_look, weighed.steps), *_left(policy, weighed)]


def _look(step: Step) -> str:
    note = step.note if step.decides else _ASSUMED.get(step.name, step.note)
    return f"{step.name}: {note}"


def _left(policy: Policy, weighed: Weighed) -> Iterator[str]:
    """Yield which rules were not asked, for the decision was made before."""
    # Rules and controls may have no name in common: only controls are in angle brackets.
    seen = {step.name for step in weighed.steps}
    if left := [rule.name for rule in ordered(policy) if rule.name not in seen]:
        yield f"Not asked any more: {', '.join(left)}."


def _result(decision: Decision) -> Iterator[str]:
    yield f"{_VERDICTS[decision.verdict]} by {decision.rule}: {decision.reason}"
    for warning in decision.warnings:
        yield f"Approvers are told: {warning}"
