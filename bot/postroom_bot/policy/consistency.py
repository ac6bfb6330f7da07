# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Checks of a policy as a whole, after each key is valid.

A check yields the path of an error, and a sentence with the remedy.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from postroom_bot.domain import Action, Quorum
from postroom_bot.policy.builtin_rules import FLOOR
from postroom_bot.policy.case import OF_A_MAILBOX
from postroom_bot.policy.engine import raised
from postroom_bot.policy.model import EVERYONE, Policy, Rule, unknown_group

#: The keys and the list indices, from 0, that lead to a part of the file.
Way = tuple[str | int, ...]
Mistakes = Iterator[tuple[Way, str]]


def mistakes(policy: Policy) -> Mistakes:
    """Yield all errors in a policy."""
    yield from _mistakes_of_identity(policy)
    yield from _mistakes_of_groups(policy)
    yield from _mistakes_of_times(policy)
    yield from _mistakes_of_names(policy)
    for number, rule in enumerate(policy.rules):
        for key, text in _mistakes_of_rule(policy, rule):
            yield ("rules", number, *key), text


def _mistakes_of_identity(policy: Policy) -> Mistakes:
    owners: dict[str, str] = {}
    for user, mailbox in policy.identity.pinned.items():
        first = owners.setdefault(mailbox, user)
        if first != user:
            text = f"{mailbox} is already pinned to {first}. A mailbox has one owner; keep one."
            yield ("identity", "pinned", user), text


def _mistakes_of_groups(policy: Policy) -> Mistakes:
    for name, group in policy.groups.items():
        if name == EVERYONE:
            yield ("groups", name), "This group is built in. Choose another name."
        elif not group.users and not group.usergroups:
            yield ("groups", name), "The group has no members. List users or usergroups."
    approvers = Quorum(policy.approvers, FLOOR)
    askers = _askers(policy, [rule for rule in policy.rules if rule.automatic])
    if text := unknown_group(policy, policy.approvers) or _too_few(policy, approvers, askers):
        yield ("approvers",), text


def _mistakes_of_times(policy: Policy) -> Mistakes:
    if policy.requests.remind_after >= policy.requests.expire_after:
        text = "The request would expire before the reminder. Make it shorter than expire_after."
        yield ("requests", "remind_after"), text


def _mistakes_of_names(policy: Policy) -> Mistakes:
    seen = Counter[str]()
    for number, rule in enumerate(policy.rules):
        seen[rule.name] += 1
        if seen[rule.name] > 1:
            yield ("rules", number, "name"), "Another rule has the same name. Choose another name."


def _askers(policy: Policy, rules: Sequence[Rule]) -> frozenset[str] | None:
    """Return everyone who may make requests by these rules; None if only Slack knows."""
    names = {name for rule in rules for name in rule.groups}
    groups = [policy.groups.get(name) for name in names]
    if any(group is None or group.usergroups for group in groups):
        return None
    return frozenset(user for group in groups if group for user in group.users)


def _too_few(policy: Policy, quorum: Quorum, askers: frozenset[str] | None) -> str:
    """Return why a group is too small for these approvals, or "".

    Requesters can't approve their own requests, so a group that contains all of them can give one
    approval less.
    """
    group = policy.groups.get(quorum.group)
    if group is None or group.usergroups:
        return ""
    members = set(group.users)
    among = bool(askers) and members.issuperset(askers or ())
    if len(members) - among >= quorum.approvals:
        return ""
    plural = "" if len(members) == 1 else "s"
    why = ". All requesters are members, and they can't approve their own requests" if among else ""
    return (
        f"{_approvals(quorum.approvals)} of {quorum.group} can be required here, but the group has "
        f"{len(members)} member{plural}{why}. Add members, or a usergroup."
    )


def _approvals(number: int) -> str:
    return "1 approval" if number == 1 else f"{number} approvals"


def _mistakes_of_rule(policy: Policy, rule: Rule) -> Mistakes:
    for place, group in enumerate(rule.groups):
        if text := unknown_group(policy, group):
            yield ("groups", place), text
    for group in rule.approvals or {}:
        if text := unknown_group(policy, group):
            yield ("approvals", group), text
    askers = _askers(policy, [rule])
    for quorum in raised(policy, rule.quorum) if rule.approvals and _floor(rule) else rule.quorum:
        if text := _too_few(policy, quorum, askers):
            yield ("approvals", quorum.group), text
    yield from _mistakes_of_conditions(rule)
    if rule.automatic and (why := _certain_floor(rule)):
        yield ("automatic",), f"Two approvals are always required for {why}"


def _mistakes_of_conditions(rule: Rule) -> Mistakes:
    if rule.own is not None and not OF_A_MAILBOX.issuperset(rule.actions):
        text = "A forwarder has no owner. List the actions: alias.add, alias.remove, password."
        yield ("own",), text
    if rule.destinations != "any" and set(rule.actions) != {Action.FORWARD_ADD}:
        text = "Only new forwarders have destinations. Use it with actions: [forward.add]."
        yield ("destinations",), text


def _floor(rule: Rule) -> bool:
    """Return whether a built-in rule can require two approvals where this rule applies."""
    only_own_password = set(rule.actions) == {Action.PASSWORD} and rule.own is True
    return bool(rule.reserved) or not only_own_password


def _certain_floor(rule: Rule) -> str:
    """Return what in a rule can't be automatic, with the remedy, or ""."""
    if rule.reserved:
        return "reserved names. Use approvals instead of automatic."
    if Action.PASSWORD in rule.actions and rule.own is not True:
        return "the password of another mailbox. Add own: true, or use approvals."
    if Action.FORWARD_ADD in rule.actions and rule.destinations != "internal":
        return "forwarding to other domains. Add destinations: internal, or use approvals."
    return ""
