# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Explain a policy's decision to the authors of policies, from the policy file alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from pydantic import TypeAdapter, ValidationError

from postroom_bot.addresses import domain_of
from postroom_bot.domain import Change, Person, Reason, Verdict
from postroom_bot.policy.engine import Facts, evaluate, mailbox_of, ordered
from postroom_bot.policy.model import EVERYONE, Policy, UserId, unknown_group

_VERDICTS = {
    Verdict.ALLOW: "Allowed without approval",
    Verdict.APPROVE: "Allowed with approvals",
    Verdict.DENY: "Denied",
}
#: The controls that would need Slack or the database, which are not queried.
_ASSUMED = frozenset({"<person>", "<tombstone>", "<limits>"})


def explain(
    policy: Policy, person: Person, change: Change, facts: Facts, text: Callable[[Reason], str]
) -> list[str]:
    """Return lines: the decision, the steps to it in order, and the rules that were not reached.

    They name other people's mailboxes if the change does, and are not meant for the requester.

    :param text: renders a reason
    """
    decision, steps = evaluate(policy, person, change, facts)
    reason = text(decision.reason)
    lines = [f"{_VERDICTS[decision.verdict]} by {decision.rule}: {reason}"]
    lines += [f"Warning for approvers: {text(one)}" for one in decision.warnings]
    lines.append("")
    for name, note in steps[:-1]:
        shown = note.replace("Passed", "Assumed", 1) if name in _ASSUMED else note
        lines.append(f"{name}: {shown}")
    lines.append(f"{steps[-1].name}: {f'{steps[-1].note} {reason}'.strip()}")
    # Rules and controls can't share a name: only those of controls are in angle brackets.
    seen = {step.name for step in steps}
    if left := [rule.name for rule in ordered(policy) if rule.name not in seen]:
        lines.append(f"Not reached: {', '.join(left)}.")
    return lines


def person_of(policy: Policy, user: str, mailbox: str | None, groups: Iterable[str]) -> Person:
    """Return the person with an id: with the mailbox pinned to it and the groups that list it.

    :param user: a Slack user id, or ""
    :param mailbox: replaces the pinned one
    :param groups: further groups of the person
    :raises ValueError: unknown group or invalid id; the message is for the operator
    """
    try:
        TypeAdapter(UserId | None).validate_python(user or None)
    except ValidationError:
        raise ValueError(
            f"{user!a} is not a Slack user id such as U024BE7LH. Copy it from the profile, with"
            " Copy member ID."
        ) from None
    for group in groups:
        if unknown := unknown_group(policy, group):
            raise ValueError(unknown)
    listed = (name for name, group in policy.groups.items() if user in group.users)
    own = mailbox or policy.identity.pinned.get(user)
    return Person(user, "", user, mailbox=own, groups=frozenset({EVERYONE, *groups, *listed}))


def facts_of(policy: Policy, person: Person, change: Change, domains: Iterable[str] = ()) -> Facts:
    """Return the facts that the file implies, and none that would count against the change.

    :param domains: our domains; by default those of all mailboxes that the file names or trusts
    """
    identity = policy.identity
    known = {domain_of(mailbox) for mailbox in (*identity.pinned.values(), person.mailbox or "")}
    trusted = identity.slack_email.domains if identity.slack_email else ()
    owners = {mailbox: user for user, mailbox in identity.pinned.items()}
    return Facts(
        own_domains=frozenset(domains) or frozenset({*known, *trusted} - {""}),
        mailbox_owner_user=owners.get(mailbox_of(person, change) or ""),
    )
