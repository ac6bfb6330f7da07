# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The policy engine, which applies the controls, then the denying rules and then all other rules.

Controls are built-in checks that can deny a change. The first matching rule decides, but floors,
which are built in as well, can require more approvals than that rule does. No policy can disable
controls or floors. A decision and its explanation come from the same evaluation, so they can't
contradict each other.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from fnmatch import fnmatchcase
from itertools import combinations

from postroom_bot.addresses import InvalidAddress, address, domain_of, local_of
from postroom_bot.domain import (
    Action,
    Change,
    Decision,
    EvaluationStep,
    Person,
    Quorum,
    Reason,
    Request,
    Verdict,
)
from postroom_bot.policy.model import EVERYONE, Policy, Rule
from postroom_bot.policy.protected_names import is_reserved, is_sensitive

#: The number of approvals that a floor requires.
FLOOR = 2


@dataclass(frozen=True, slots=True)
class Facts:
    """The facts that a decision depends on, in addition to the person and the change.

    :param own_domains: the keys of the tenant's domains
    :param open_requests: the number of the person's other open requests
    :param requests_today: the number of the person's other requests in the last 24 hours
    :param alias_count: the number of aliases that the mailbox has, or None if unknown
    :param tombstone_owner: the mailbox that last had the removed target, or the target itself if it
        was a forwarder; None if there is no tombstone
    :param mailbox_owner_user: the Slack user who owns the mailbox, if known
    :param today: the current day in the bot's time zone
    """

    own_domains: frozenset[str]
    today: date
    open_requests: int = 0
    requests_today: int = 0
    alias_count: int | None = None
    tombstone_owner: str | None = None
    mailbox_owner_user: str | None = None


@dataclass(frozen=True, slots=True)
class PolicyInput:
    """The input of a decision: a person, a change and the values that controls and rules check.

    :param target: the address to add or remove, or the mailbox that gets a new password; "" for
        the person's own mailbox if that is unknown
    :param mailbox: the mailbox to change; None for a forwarder, or if unknown
    :param own: whether the mailbox is the person's own
    :param reserved: whether the target is a reserved name in any spelling
    :param sensitive: whether the target is a sensitive name or looks like a reserved one
    :param external: the destinations outside the tenant's domains
    """

    person: Person
    change: Change
    facts: Facts
    target: str
    mailbox: str | None
    own: bool
    reserved: bool
    sensitive: bool
    external: tuple[str, ...]


def decide(policy: Policy, person: Person, change: Change, facts: Facts) -> Decision:
    """Return the policy's decision on a person's change. Never raises an exception."""
    mailbox = affected_mailbox(person, change)
    target = (mailbox or "") if change.action is Action.PASSWORD else change.target
    local, more = local_of(target), policy.reserved
    given = PolicyInput(
        person=person,
        change=change,
        facts=facts,
        target=target,
        mailbox=mailbox,
        own=mailbox is not None and mailbox == person.mailbox,
        reserved=is_reserved(local, more.names),
        sensitive=is_sensitive(local, more.names, more.patterns),
        external=tuple(d for d in change.destinations if domain_of(d) not in facts.own_domains),
    )
    steps: list[EvaluationStep] = []

    def denied(rule: str, reason: Reason) -> Decision:
        taken = (*steps, EvaluationStep(rule))
        return Decision(Verdict.DENY, rule, reason, policy_digest=policy.digest, steps=taken)

    for name, about, denial in _controls(policy, given):
        if denial is not None:
            return denied(name, denial)
        steps.append(EvaluationStep(name, f"Passed: {about}."))
    for rule in evaluation_order(policy):
        if reasons := list(_unmet_conditions(rule, given)):
            steps.append(EvaluationStep(rule.name, f"Does not match: {'; '.join(reasons)}."))
            continue
        if denial := _why_not_so_long(rule, given):
            return denied(rule.name, denial)
        steps.append(EvaluationStep(rule.name, "Matches."))
        return replace(_decision_of_rule(policy, rule, given), steps=tuple(steps))
    if given.reserved:
        params = {"address": given.target, "approvers": policy.approvers}
        return denied("<reserved>", Reason("address.reserved", params))
    return denied("<default>", Reason("policy.no_rule", {"approvers": policy.approvers}))


def evaluation_order(policy: Policy) -> tuple[Rule, ...]:
    """Return the rules in evaluation order, with denying rules first."""
    return tuple(sorted(policy.rules, key=lambda rule: rule.deny is None))


def affected_mailbox(person: Person, change: Change) -> str | None:
    """Return the mailbox that a change affects, or None for a forwarder or an unknown mailbox."""
    if not change.action.has_mailbox:
        return None
    named = change.target if change.action is Action.PASSWORD else change.mailbox
    return named or person.mailbox


def raised_quorum(policy: Policy, quorum: tuple[Quorum, ...]) -> tuple[Quorum, ...]:
    """Raise a quorum to at least two approvals. Missing approvals are added to the first group."""
    first, *others = quorum or (Quorum(policy.approvers, 0),)
    missing = max(0, FLOOR - sum(one.approvals for one in quorum))
    return (first._replace(approvals=first.approvals + missing), *others)


def quorum_met(quorum: Sequence[Quorum], voters: Iterable[Collection[str]]) -> bool:
    """Return whether approvals meet a quorum. Each approval counts for only one group.

    By Hall's theorem, a quorum is met if, for each subset of its groups, the members of these
    groups have given at least as many approvals as the groups need in total.
    """
    members = [frozenset(groups) for groups in voters]
    for size in range(1, len(quorum) + 1):
        for chosen in combinations(quorum, size):
            names = {one.group for one in chosen}
            have = sum(1 for groups in members if groups & names)
            if have < sum(one.approvals for one in chosen):
                return False
    return True


def groups_of(request: Request, voter: Person) -> frozenset[str]:
    """Return the groups of the quorum that the voter belongs to."""
    return voter.groups & {one.group for one in request.quorum}


def is_own_request(request: Request, voter: Person) -> bool:
    """Return whether the voter has the requester's Slack id or mailbox."""
    same_mailbox = voter.mailbox is not None and voter.mailbox == request.requester_mailbox
    return voter.user == request.requester or same_mailbox


def why_not_approver(request: Request, voter: Person) -> Reason | None:
    """Return why a person can't vote on a request, or None."""
    if voter.obstacle:
        return voter.obstacle
    if is_own_request(request, voter):
        return Reason("vote.own_request")
    if not groups_of(request, voter):
        return Reason("vote.not_an_approver", {"groups": [one.group for one in request.quorum]})
    return None


def is_approver(policy: Policy, person: Person) -> bool:
    """Return whether the policy makes this person an approver. Approvers may see all mailboxes."""
    groups = {policy.approvers, *(one.group for rule in policy.rules for one in rule.quorum)}
    return not person.groups.isdisjoint(groups - {EVERYONE})


def _controls(policy: Policy, given: PolicyInput) -> Iterator[tuple[str, str, Reason | None]]:
    """Yield each control's name, what it ensures, and any reason to deny the change."""
    person, change, facts = given.person, given.change, given.facts
    yield "<person>", "the person may use the bot", person.obstacle

    denial = None
    if change.action.has_mailbox and not given.mailbox:
        denial = person.mailbox_obstacle or Reason("mailbox.unnamed")
    yield "<identity>", "the mailbox is known", denial

    yield "<invalid>", "every address is valid", _invalid_address(given)

    names = (domain_of(name) for name in (given.target, given.mailbox) if name is not None)
    foreign = next((name for name in names if name not in facts.own_domains), None)
    denial = None if foreign is None else Reason("domain.foreign", {"domain": foreign})
    yield "<domain>", "every domain belongs to the tenant", denial

    denial = None
    if change.action.adds and (owner := facts.tombstone_owner) is not None:
        # Anyone may recreate a former forwarder. A former alias may also become a forwarder, if the
        # last owner requests it.
        is_alias = change.action.is_alias
        if owner not in ({given.mailbox} if is_alias else {given.target, person.mailbox}):
            denial = Reason("address.kept_free", {"address": given.target})
    yield "<tombstone>", "the address is not reserved for another owner", denial

    denial, limits = None, policy.limits
    full = (facts.alias_count or 0) >= limits.aliases_per_mailbox
    if facts.open_requests >= limits.open_requests:
        denial = Reason("limit.open_requests", {"count": facts.open_requests})
    elif facts.requests_today >= limits.requests_per_day:
        denial = Reason("limit.requests_per_day", {"count": facts.requests_today})
    elif change.action is Action.ALIAS_ADD and full:
        denial = Reason("limit.aliases", {"count": limits.aliases_per_mailbox})
    yield "<limits>", "no limit is reached", denial


def _invalid_address(given: PolicyInput) -> Reason | None:
    change = given.change
    if change.action is Action.FORWARD_ADD and not change.destinations:
        return Reason("forward.no_destinations", {"address": change.target})
    for text in (given.target, *([given.mailbox] if given.mailbox else []), *change.destinations):
        try:
            key = address(text)
        except InvalidAddress as error:
            return Reason("address.invalid", {"problem": str(error)})
        if key != text:
            return Reason("address.not_normalized", {"address": text, "normalized": key})
    return None


def _unmet_conditions(rule: Rule, given: PolicyInput) -> Iterator[str]:
    """Yield a phrase for each condition of the rule that is not met."""
    action = given.change.action
    if action not in rule.actions:
        yield f"the rule is for {', '.join(rule.actions)}"
    if given.person.groups.isdisjoint(rule.groups):
        yield f"the person is not in {' or '.join(rule.groups)}"
    if rule.own is not None and rule.own is not given.own:
        yield f"the rule is for mailboxes that the person {'owns' if rule.own else 'does not own'}"
    domain = domain_of(given.target)
    if rule.domains and not any(fnmatchcase(domain, pattern) for pattern in rule.domains):
        yield f"the domain does not match {' or '.join(rule.domains)}"
    if rule.addresses and not any(fnmatchcase(given.target, one) for one in rule.addresses):
        yield f"the address does not match {' or '.join(rule.addresses)}"
    restricted = rule.destinations != "any" and action is Action.FORWARD_ADD
    if restricted and (rule.destinations == "external") is not bool(given.external):
        yield f"the rule is for {rule.destinations} destinations"
    # A rule that doesn't set `reserved` can deny reserved names but not allow them.
    reserved = False if rule.reserved is None and rule.deny is None else rule.reserved
    if reserved is not None and reserved is not given.reserved:
        yield f"the rule is for names that are {'' if reserved else 'not '}reserved"


def last_day_limit(rule: Rule, today: date) -> date | None:
    """Return the latest end date that the rule allows, or None for any."""
    return today + timedelta(days=rule.max_days) if rule.max_days is not None else None


def _why_not_so_long(rule: Rule, given: PolicyInput) -> Reason | None:
    """Return why a matching rule denies a change because of its end date, or None."""
    if not given.change.action.adds or not rule.requires_end_date:
        return None
    latest, last_day = last_day_limit(rule, given.facts.today), given.change.last_day
    if latest is not None and (last_day is None or last_day > latest):
        return Reason("end.too_late", {"latest": latest.isoformat()})
    return Reason("end.required") if last_day is None else None


def _decision_of_rule(policy: Policy, rule: Rule, given: PolicyInput) -> Decision:
    """Return the decision of a matching rule, with the floors applied."""
    if rule.deny is not None:
        reason = Reason("policy.deny", {"text": rule.deny})
        return Decision(Verdict.DENY, rule.name, reason, policy_digest=policy.digest)
    # The floors: each of these warnings requires two approvals, regardless of the rule.
    warnings: list[Reason] = []
    action, target = given.change.action, {"address": given.target}
    if given.reserved:
        warnings.append(Reason("warning.reserved", target))
    elif given.sensitive and action is not Action.PASSWORD:
        warnings.append(Reason("warning.sensitive", target))
    if given.external and action is Action.FORWARD_ADD:
        warnings.append(
            Reason("warning.external", {**target, "destinations": list(given.external)})
        )
    if action is Action.PASSWORD and not given.own:
        warnings.append(Reason("warning.password"))
    quorum = raised_quorum(policy, rule.quorum) if warnings else rule.quorum
    if given.mailbox and not given.own and not given.facts.mailbox_owner_user:
        warnings.append(Reason("warning.no_owner", {"mailbox": given.mailbox}))
    params = {"quorum": [list(one) for one in quorum]}
    if not quorum:
        reason = Reason("policy.no_approval")
    elif quorum == rule.quorum:
        reason = Reason("policy.approvals", params)
    else:
        reason = Reason("policy.two_approvers", params)
    verdict = Verdict.NEEDS_APPROVAL if quorum else Verdict.ALLOW
    return Decision(verdict, rule.name, reason, quorum, tuple(warnings), policy.digest)
