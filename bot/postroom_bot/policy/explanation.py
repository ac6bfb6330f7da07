# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Explain a policy's decision to policy authors, using only the policy file."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime

from pydantic import TypeAdapter, ValidationError

from postroom_bot.addresses import domain_of
from postroom_bot.domain import Change, Person, Reason, Verdict
from postroom_bot.policy.engine import Facts, affected_mailbox, decide, evaluation_order
from postroom_bot.policy.model import EVERYONE, Policy, UserId, unknown_group

_VERDICTS = {
    Verdict.ALLOW: "Allowed without approval",
    Verdict.NEEDS_APPROVAL: "Allowed with approvals",
    Verdict.DENY: "Denied",
}
#: Controls that depend on Slack or the database, which are not queried here.
_ASSUMED = frozenset({"<person>", "<tombstone>", "<limits>"})


def explain(
    policy: Policy, person: Person, change: Change, facts: Facts, text: Callable[[Reason], str]
) -> list[str]:
    """Return lines that show the decision, the steps that led to it, and the rules not reached.

    Don't show the lines to the requester, because they may name other people's mailboxes.
    """
    decision = decide(policy, person, change, facts)
    steps = decision.steps
    reason = text(decision.reason)
    lines = [f"{_VERDICTS[decision.verdict]} by {decision.rule}: {reason}"]
    lines += [f"Warning for approvers: {text(one)}" for one in decision.warnings]
    lines.append("")
    for name, sentence in steps[:-1]:
        shown = sentence.replace("Passed", "Assumed", 1) if name in _ASSUMED else sentence
        lines.append(f"{name}: {shown}")
    lines.append(f"{steps[-1].name}: {f'{steps[-1].sentence} {reason}'.strip()}")
    # Rules and controls can't share a name, because only control names are in angle brackets.
    seen = {step.name for step in steps}
    if left := [rule.name for rule in evaluation_order(policy) if rule.name not in seen]:
        lines.append(f"Not reached: {', '.join(left)}.")
    return lines


def person_of(policy: Policy, user: str, mailbox: str | None, groups: Iterable[str]) -> Person:
    """Return the person with this user id, including their pinned mailbox and groups.

    :param user: a Slack user id, or ""
    :param mailbox: the person's mailbox, if it is not the pinned one
    :param groups: additional groups of the person
    :raises ValueError: if a group is unknown or the id is invalid; the message is for the operator
    """
    try:
        TypeAdapter(UserId | None).validate_python(user or None)
    except ValidationError:
        raise ValueError(
            f"{user!a} is not a Slack user id such as U024BE7LH. In the user's profile, choose"
            " Copy member ID."
        ) from None
    for group in groups:
        if unknown := unknown_group(policy, group):
            raise ValueError(unknown)
    listed = (name for name, group in policy.groups.items() if user in group.users)
    own = mailbox or policy.identity.pinned.get(user)
    return Person(user, mailbox=own, groups=frozenset({EVERYONE, *groups, *listed}))


def facts_of(policy: Policy, person: Person, change: Change, domains: Iterable[str] = ()) -> Facts:
    """Return the facts in the policy file. All other facts get values that never cause a denial.

    :param domains: the tenant's domains; by default the domains of ``identity.slack_email``, of
        pinned mailboxes and of the person's mailbox
    """
    identity = policy.identity
    known = {domain_of(mailbox) for mailbox in (*identity.pinned.values(), person.mailbox or "")}
    trusted = identity.slack_email.domains if identity.slack_email else ()
    owners = {mailbox: user for user, mailbox in identity.pinned.items()}
    return Facts(
        today=datetime.now(UTC).date(),
        own_domains=frozenset(domains) or frozenset({*known, *trusted} - {""}),
        mailbox_owner_user=owners.get(affected_mailbox(person, change) or ""),
    )
