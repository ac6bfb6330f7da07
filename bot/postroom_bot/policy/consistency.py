# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What is wrong with a policy although each key is right by itself.

A check yields where it is wrong and, in a sentence or two, what and what to do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from postroom_bot.domain import Action, Quorum
from postroom_bot.policy.builtin_rules import FLOOR
from postroom_bot.policy.case import OF_A_MAILBOX
from postroom_bot.policy.engine import ordered, raised
from postroom_bot.policy.model import EVERYONE, Policy, Rule, unknown_group

#: The keys and, counted from 0, the places in lists that lead to a part of the file.
Way = tuple[str | int, ...]
Mistakes = Iterator[tuple[Way, str]]


def mistakes(policy: Policy) -> Mistakes:
    """Yield everything that is wrong with a policy."""
    yield from _mistakes_of_identity(policy)
    yield from _mistakes_of_groups(policy)
    yield from _mistakes_of_times(policy)
    yield from _mistakes_of_names(policy)
    for number, rule in enumerate(policy.rules):
        for key, text in _mistakes_of_rule(policy, rule):
            yield ("rules", number, *key), text
    yield from _unreachable(policy)


def _mistakes_of_identity(policy: Policy) -> Mistakes:
    owners: dict[str, str] = {}
    for user, mailbox in policy.identity.pinned.items():
        first = owners.setdefault(mailbox, user)
        if first != user:
            text = f"{mailbox} is pinned to {first} already. A mailbox has one person; keep one."
            yield ("identity", "pinned", user), text


def _mistakes_of_groups(policy: Policy) -> Mistakes:
    for name, group in policy.groups.items():
        if name == EVERYONE:
            yield ("groups", name), "This group is built in. Give yours another name."
        elif not group.users and not group.usergroups:
            yield ("groups", name), "The group has no members. List users or usergroups."
    approvers = Quorum(policy.approvers, FLOOR)
    askers = _askers(policy, [rule for rule in policy.rules if rule.automatic])
    if text := unknown_group(policy, policy.approvers) or _too_few(policy, approvers, askers):
        yield ("approvers",), text


def _mistakes_of_times(policy: Policy) -> Mistakes:
    if policy.requests.remind_after >= policy.requests.expire_after:
        text = "Nobody would be reminded, for the request has expired by then. Make it shorter."
        yield ("requests", "remind_after"), text


def _mistakes_of_names(policy: Policy) -> Mistakes:
    seen = Counter[str]()
    for number, rule in enumerate(policy.rules):
        seen[rule.name] += 1
        if seen[rule.name] > 1:
            yield ("rules", number, "name"), "Another rule has this name. Give each its own."


def _askers(policy: Policy, rules: Sequence[Rule]) -> frozenset[str] | None:
    """Return all who may ask by one of these rules; None where only Slack knows."""
    names = {name for rule in rules for name in rule.groups}
    groups = [policy.groups.get(name) for name in names]
    if any(group is None or group.usergroups for group in groups):
        return None
    return frozenset(user for group in groups if group for user in group.users)


def _too_few(policy: Policy, quorum: Quorum, askers: frozenset[str] | None) -> str:
    """Return why a group can never give so many approvals, or "".

    Whoever asks can't approve: a group in which all who may ask are has one to give less.
    """
    group = policy.groups.get(quorum.group)
    if group is None or group.usergroups:
        return ""
    members = set(group.users)
    among = bool(askers) and members.issuperset(askers or ())
    if len(members) - among >= quorum.approvals:
        return ""
    plural = "" if len(members) == 1 else "s"
    why = ". Everybody who may ask is in it, and nobody approves their own request" if among else ""
    return (
        f"{_approvals(quorum.approvals)} of {quorum.group} can be needed here, and the group has "
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
        yield ("automatic",), f"Two people always have to approve {why}"


def _mistakes_of_conditions(rule: Rule) -> Mistakes:
    if rule.own is not None and not OF_A_MAILBOX.issuperset(rule.actions):
        text = "A forwarder is nobody's own. Name the actions: alias.add, alias.remove, password."
        yield ("own",), text
    if rule.destinations != "any" and set(rule.actions) != {Action.FORWARD_ADD}:
        text = "Only a new forwarder has destinations. Make it a rule with actions: [forward.add]."
        yield ("destinations",), text


def _floor(rule: Rule) -> bool:
    """Return whether a built-in rule can ask for two people where this one fits."""
    only_own_password = set(rule.actions) == {Action.PASSWORD} and rule.own is True
    return bool(rule.reserved) or not only_own_password


def _certain_floor(rule: Rule) -> str:
    """Return what in a rule is never automatic, and what to do, or ""."""
    if rule.reserved:
        return "reserved names. Write approvals in place of automatic."
    if Action.PASSWORD in rule.actions and rule.own is not True:
        return "the password of another mailbox. Add own: true, or write approvals."
    if Action.FORWARD_ADD in rule.actions and rule.destinations != "internal":
        return "forwarding to other domains. Add destinations: internal, or write approvals."
    return ""


def _unreachable(policy: Policy) -> Mistakes:
    rules = ordered(policy)
    for place, rule in enumerate(rules):
        earlier = next((one for one in rules[:place] if _covers(one, rule)), None)
        if earlier is not None:
            number = next(n for n, one in enumerate(policy.rules) if one is rule)
            text = f"It never decides: {earlier.name}, asked before it, fits all that it fits."
            yield ("rules", number), f"{text} Move it, narrow the other one, or remove it."


def _covers(earlier: Rule, rule: Rule) -> bool:
    """Return whether a rule certainly fits wherever another one does."""
    return (
        set(earlier.actions) >= set(rule.actions)
        and (EVERYONE in earlier.groups or set(earlier.groups) >= set(rule.groups))
        and earlier.own in {None, rule.own}
        and _wider(earlier.domains, rule.domains)
        and _wider(earlier.addresses, rule.addresses)
        and earlier.destinations in {"any", rule.destinations}
        and _reserved(earlier) >= _reserved(rule)
    )


def _wider(earlier: tuple[str, ...], patterns: tuple[str, ...]) -> bool:
    return not earlier or "*" in earlier or (bool(patterns) and set(earlier) >= set(patterns))


def _reserved(rule: Rule) -> set[bool]:
    """Return which names a rule fits: reserved ones, others."""
    if rule.reserved is not None:
        return {rule.reserved}
    return {False} if rule.deny is None else {False, True}
