# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Match a rule with a case, condition by condition, so that the result can be explained."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase

from postroom_bot.addresses import domain_of
from postroom_bot.domain import Action
from postroom_bot.policy.case import Case
from postroom_bot.policy.model import Rule


def misfits(rule: Rule, case: Case) -> Iterator[str]:
    """Yield each condition of a rule that a case does not meet, in words for explanations."""
    change = case.change
    if change.action not in rule.actions:
        yield f"it is for {', '.join(rule.actions)}"
    if case.person.groups.isdisjoint(rule.groups):
        yield f"the person is not in {' or '.join(rule.groups)}"
    if rule.own is not None and rule.own is not case.own:
        yield f"it is for {'the own mailbox' if rule.own else 'other mailboxes'}"
    if rule.domains and not _matches(domain_of(case.target), rule.domains):
        yield f"the domain is none of {', '.join(rule.domains)}"
    if rule.addresses and not _matches(case.target, rule.addresses):
        yield f"the address is none of {', '.join(rule.addresses)}"
    yield from _misfits_of_destinations(rule, case)
    yield from _misfits_of_reserved(rule, case)


def _matches(text: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(text, pattern) for pattern in patterns)


def _misfits_of_destinations(rule: Rule, case: Case) -> Iterator[str]:
    if rule.destinations == "any" or case.change.action is not Action.FORWARD_ADD:
        return
    if (rule.destinations == "external") is not bool(case.external):
        yield f"it is for {rule.destinations} destinations"


def _misfits_of_reserved(rule: Rule, case: Case) -> Iterator[str]:
    """Yield a mismatch of `reserved`: only an explicit rule allows a reserved name."""
    wanted = rule.reserved
    if wanted is None and rule.deny is None:
        wanted = False
    if wanted is not None and wanted is not case.reserved:
        yield f"it is for names that are {'' if wanted else 'not '}reserved"
