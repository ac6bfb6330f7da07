# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Explain a policy's decision, rule by rule, to the authors of policies."""

from __future__ import annotations

from collections.abc import Callable

from postroom_bot.domain import Change, Person, Reason, Verdict
from postroom_bot.policy.builtin_rules import CONTROLS
from postroom_bot.policy.engine import Facts, evaluate, ordered
from postroom_bot.policy.model import Policy

_VERDICTS = {
    Verdict.ALLOW: "Allowed at once",
    Verdict.APPROVE: "Allowed with approvals",
    Verdict.DENY: "Denied",
}

#: The notes of controls that would have needed Slack or the database, which were not queried.
_ASSUMED = {
    control.name: f"Assumed: {control.about}."
    for control in CONTROLS
    if control.name in {"<person>", "<tombstone>", "<limits>"}
}


def explain(
    policy: Policy, person: Person, change: Change, facts: Facts, text: Callable[[Reason], str]
) -> list[str]:
    """Return lines: the decision, the steps to it in order, and the rules that were not reached.

    They name other people's mailboxes if the change does, and are not meant for the requester.

    :param text: renders a reason
    """
    evaluation = evaluate(policy, person, change, facts)
    decision, reason = evaluation.decision, text(evaluation.decision.reason)
    lines = [f"{_VERDICTS[decision.verdict]} by {decision.rule}: {reason}"]
    lines += [f"Warning for approvers: {text(one)}" for one in decision.warnings]
    lines.append("")
    for step in evaluation.steps:
        note = f"{step.note} {reason}" if step.decides else _ASSUMED.get(step.name, step.note)
        lines.append(f"{step.name}: {note.strip()}")
    # Rules and controls can't share a name: only those of controls are in angle brackets.
    seen = {step.name for step in evaluation.steps}
    if left := [rule.name for rule in ordered(policy) if rule.name not in seen]:
        lines.append(f"Not reached: {', '.join(left)}.")
    return lines
