# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What a policy says of a wish: controls, denies, the first rule that allows, then its floors.

Decisions and explanations come from the same walk, ``weigh``: they cannot differ.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from postroom_bot.domain import Change, Decision, Person, Quorum, Verdict
from postroom_bot.policy.builtin_rules import CONTROLS, FLOOR, floors
from postroom_bot.policy.case import Case, Facts, case_of
from postroom_bot.policy.matching import misfits
from postroom_bot.policy.model import Policy, Rule

__all__ = ["Facts", "Step", "Weighed", "decide", "weigh"]


class Step(NamedTuple):
    """One look at a control or a rule.

    :param name: of the rule; built-in ones are in angle brackets
    :param note: what came of it, in words
    :param decides: whether this is where the decision was made
    """

    name: str
    note: str
    decides: bool = False


@dataclass(frozen=True, slots=True)
class Weighed:
    """A decision and every step to it; the last step is the one that decides."""

    decision: Decision
    steps: tuple[Step, ...]


def decide(policy: Policy, person: Person, change: Change, facts: Facts) -> Decision:
    """Return what a policy says of a person's wish; never raises, whatever the wish holds."""
    return weigh(policy, person, change, facts).decision


def weigh(policy: Policy, person: Person, change: Change, facts: Facts) -> Weighed:
    """Return the decision and the way to it."""
    case = case_of(policy, person, change, facts)
    steps: list[Step] = []
    for step, decision in _looks(policy, case):
        steps.append(step._replace(decides=decision is not None))
        if decision is not None:
            break
    else:
        decision = _nothing_fits(policy, case)
        steps.append(Step(decision.rule, decision.reason, decides=True))
    return Weighed(decision, tuple(steps))


def ordered(policy: Policy) -> tuple[Rule, ...]:
    """Return the rules as they are asked: those that deny first."""
    return tuple(sorted(policy.rules, key=lambda rule: rule.deny is None))


def _looks(policy: Policy, case: Case) -> Iterator[tuple[Step, Decision | None]]:
    """Yield a look at each control and rule, with the decision where it makes one."""
    for control in CONTROLS:
        refusal = control.refuses(policy, case)
        note = refusal or f"Passed: {control.about}."
        yield Step(control.name, note), _denied(policy, control.name, refusal) if refusal else None
    for rule in ordered(policy):
        reasons = list(misfits(rule, case))
        if reasons:
            yield Step(rule.name, f"Does not fit: {'; '.join(reasons)}."), None
        else:
            decision = _follows(policy, rule, case)
            yield Step(rule.name, f"Fits. {decision.reason}"), decision


def _denied(policy: Policy, rule: str, reason: str) -> Decision:
    return Decision(Verdict.DENY, rule, reason, policy_digest=policy.digest)


def _nothing_fits(policy: Policy, case: Case) -> Decision:
    ask = f"Ask {policy.approvers}."
    if case.reserved:
        reason = f"`{case.target}` is a reserved name, and no rule gives it to you. {ask}"
        return _denied(policy, "<reserved>", reason)
    return _denied(policy, "<default>", f"No rule of the policy allows this. {ask}")


def _follows(policy: Policy, rule: Rule, case: Case) -> Decision:
    """Return what a rule that fits says, raised to the floors."""
    if rule.deny is not None:
        return _denied(policy, rule.name, rule.deny)
    warnings = tuple(floors(case))
    quorum = raised(policy, rule.quorum) if warnings else rule.quorum
    return Decision(
        Verdict.APPROVE if quorum else Verdict.ALLOW,
        rule.name,
        _reason(quorum, is_raised=quorum != rule.quorum),
        quorum,
        (*warnings, *_unwatched(case)),
        policy.digest,
    )


def raised(policy: Policy, quorum: tuple[Quorum, ...]) -> tuple[Quorum, ...]:
    """Return a quorum of two people at least; its first group has to give what is missing."""
    first, *others = quorum or (Quorum(policy.approvers, 0),)
    missing = max(0, FLOOR - sum(one.approvals for one in quorum))
    return (first._replace(approvals=first.approvals + missing), *others)


def _unwatched(case: Case) -> Iterator[str]:
    """Warn of a change to a mailbox whose owner can't be told."""
    if case.mailbox and not case.own and not case.facts.mailbox_owner_user:
        yield f"Nobody in Slack is known to own `{case.mailbox}`, so its owner is not told."


def _reason(quorum: tuple[Quorum, ...], *, is_raised: bool) -> str:
    if not quorum:
        return "No approval is needed."
    needs = " and ".join(f"{n} approval{'' if n == 1 else 's'} from {group}" for group, n in quorum)
    why = " Two people always have to approve this." if is_raised else ""
    return f"It needs {needs}.{why}"
