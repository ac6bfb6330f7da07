# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The built-in rules, which no policy can switch off.

Controls deny before the policy's rules are tried; floors then raise the approvals needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from postroom_bot.addresses import InvalidAddress, address, domain_of
from postroom_bot.domain import Action, Reason
from postroom_bot.policy.case import ALIASES, OF_A_MAILBOX, Case
from postroom_bot.policy.model import Policy

#: The approvals that a floor requires.
FLOOR = 2


class Control(NamedTuple):
    """A built-in rule that denies; its name is in angle brackets."""

    name: str
    about: str
    refuses: Callable[[Policy, Case], Reason | None]


def _person(_: Policy, case: Case) -> Reason | None:
    return case.person.obstacle


def _identity(_: Policy, case: Case) -> Reason | None:
    if case.change.action not in OF_A_MAILBOX or case.mailbox:
        return None
    return case.person.mailbox_obstacle or Reason("mailbox.unnamed")


def _valid(_: Policy, case: Case) -> Reason | None:
    change = case.change
    if change.action is Action.FORWARD_ADD and not change.destinations:
        return Reason("forward.no_destinations", {"address": change.target})
    for text in (case.target, *([case.mailbox] if case.mailbox else []), *change.destinations):
        try:
            key = address(text)
        except InvalidAddress as error:
            return Reason("address.invalid", {"problem": str(error)})
        if key != text:
            return Reason("address.not_normalized", {"address": text, "normalized": key})
    return None


def _domain(_: Policy, case: Case) -> Reason | None:
    for name in (case.target, case.mailbox):
        if name is not None and domain_of(name) not in case.facts.own_domains:
            return Reason("domain.foreign", {"domain": domain_of(name)})
    return None


def _reservation(_: Policy, case: Case) -> Reason | None:
    owner = case.facts.reserved_for
    if case.change.action not in {Action.ALIAS_ADD, Action.FORWARD_ADD} or owner is None:
        return None
    # A former forwarder may become one again, and the last owner of an alias may have it forwarded.
    is_alias = case.change.action in ALIASES
    owners = {case.mailbox} if is_alias else {case.target, case.person.mailbox}
    return None if owner in owners else Reason("address.kept_free", {"address": case.target})


def _limits(policy: Policy, case: Case) -> Reason | None:
    limits, facts = policy.limits, case.facts
    if facts.open_requests >= limits.open_requests:
        return Reason("limit.open_requests", {"count": facts.open_requests})
    if facts.requests_today >= limits.requests_per_day:
        return Reason("limit.requests_per_day", {"count": facts.requests_today})
    full = (facts.aliases or 0) >= limits.aliases_per_mailbox
    if case.change.action is Action.ALIAS_ADD and full:
        return Reason("limit.aliases", {"count": limits.aliases_per_mailbox})
    return None


#: In the order in which they are checked.
CONTROLS = (
    Control("<person>", "the person may use the bot", _person),
    Control("<identity>", "the mailbox is known", _identity),
    Control("<invalid>", "every address is valid", _valid),
    Control("<domain>", "every domain is ours", _domain),
    Control("<tombstone>", "the address is not kept free for another owner", _reservation),
    Control("<limits>", "the limits are kept", _limits),
)


def floors(case: Case) -> Iterator[Reason]:
    """Yield the reasons for two approvals regardless of the rule, as warnings for approvers."""
    address = {"address": case.target}
    if case.reserved:
        yield Reason("warning.reserved", address)
    elif case.sensitive and case.change.action is not Action.PASSWORD:
        yield Reason("warning.sensitive", address)
    if case.external and case.change.action is Action.FORWARD_ADD:
        yield Reason("warning.external", {**address, "destinations": list(case.external)})
    if case.change.action is Action.PASSWORD and not case.own:
        yield Reason("warning.password")
