# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Decide about a change: controls, rules that deny, the first rule that matches, then its floors.

Decisions and explanations come from the same evaluation, so they cannot differ.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from postroom_bot.domain import Change, Decision, Person, Quorum, Reason, Verdict
from postroom_bot.policy.builtin_rules import CONTROLS, FLOOR, floors
from postroom_bot.policy.case import Case, Facts, case_of
from postroom_bot.policy.matching import misfits
from postroom_bot.policy.model import Policy, Rule

__all__ = ["Evaluation", "Facts", "Step", "decide", "evaluate"]


class Step(NamedTuple):
    """The result of one control or rule.

    :param name: of the rule; built-in ones are in angle brackets
    :param note: the result in words, for explanations; "" for the step that decides
    :param decides: whether the decision was made here
    """

    name: str
    note: str = ""
    decides: bool = False


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A decision and every step to it; the last step decides."""

    decision: Decision
    steps: tuple[Step, ...]


def decide(policy: Policy, person: Person, change: Change, facts: Facts) -> Decision:
    """Return the policy's decision about a person's change; never raises."""
    return evaluate(policy, person, change, facts).decision


def evaluate(policy: Policy, person: Person, change: Change, facts: Facts) -> Evaluation:
    """Return the decision and the steps to it."""
    case = case_of(policy, person, change, facts)
    steps: list[Step] = []
    for step, decision in _steps(policy, case):
        steps.append(step)
        if decision is not None:
            break
    else:
        decision = _default(policy, case)
        steps.append(Step(decision.rule, decides=True))
    return Evaluation(decision, tuple(steps))


def ordered(policy: Policy) -> tuple[Rule, ...]:
    """Return the rules in the order of evaluation: those that deny first."""
    return tuple(sorted(policy.rules, key=lambda rule: rule.deny is None))


def _steps(policy: Policy, case: Case) -> Iterator[tuple[Step, Decision | None]]:
    """Yield a step for each control and rule, with the decision if it makes one."""
    for control in CONTROLS:
        refusal = control.refuses(policy, case)
        if refusal is None:
            yield Step(control.name, f"Passed: {control.about}."), None
        else:
            yield Step(control.name, decides=True), _denied(policy, control.name, refusal)
    for rule in ordered(policy):
        if reasons := list(misfits(rule, case)):
            yield Step(rule.name, f"Does not fit: {'; '.join(reasons)}."), None
        else:
            yield Step(rule.name, "Fits.", decides=True), _decided_by(policy, rule, case)


def _denied(policy: Policy, rule: str, reason: Reason) -> Decision:
    return Decision(Verdict.DENY, rule, reason, policy_digest=policy.digest)


def _default(policy: Policy, case: Case) -> Decision:
    params = {"approvers": policy.approvers}
    if case.reserved:
        reason = Reason("address.reserved", {"address": case.target, **params})
        return _denied(policy, "<reserved>", reason)
    return _denied(policy, "<default>", Reason("policy.no_rule", params))


def _decided_by(policy: Policy, rule: Rule, case: Case) -> Decision:
    """Return the decision of a rule that matches, with the floors applied."""
    if rule.deny is not None:
        return _denied(policy, rule.name, Reason("policy.deny", {"text": rule.deny}))
    warnings = list(floors(case))
    quorum = raised(policy, rule.quorum) if warnings else rule.quorum
    if case.mailbox and not case.own and not case.facts.mailbox_owner_user:
        warnings.append(Reason("warning.no_owner", {"mailbox": case.mailbox}))
    params = {"quorum": [list(one) for one in quorum]}
    if not quorum:
        reason = Reason("policy.no_approval")
    elif quorum == rule.quorum:
        reason = Reason("policy.approvals", params)
    else:
        reason = Reason("policy.two_approvers", params)
    verdict = Verdict.APPROVE if quorum else Verdict.ALLOW
    return Decision(verdict, rule.name, reason, quorum, tuple(warnings), policy.digest)


def raised(policy: Policy, quorum: tuple[Quorum, ...]) -> tuple[Quorum, ...]:
    """Return a quorum of at least two approvals; the missing ones come from its first group."""
    first, *others = quorum or (Quorum(policy.approvers, 0),)
    missing = max(0, FLOOR - sum(one.approvals for one in quorum))
    return (first._replace(approvals=first.approvals + missing), *others)
