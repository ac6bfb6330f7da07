# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What no rule can switch off: the controls before the rules, and the floors after them.

A control is a function from a case to why it is refused, a sentence, or "" where it is not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from postroom_bot.addresses import InvalidAddress, address, domain_of
from postroom_bot.domain import Action
from postroom_bot.policy.case import ALIASES, Case
from postroom_bot.policy.model import Policy

#: Two people, whatever a rule says.
FLOOR = 2


class Control(NamedTuple):
    """A built-in rule that refuses; its name is in angle brackets."""

    name: str
    about: str
    refuses: Callable[[Policy, Case], str]


def _person(_: Policy, case: Case) -> str:
    return case.person.obstacle


def _identity(_: Policy, case: Case) -> str:
    if case.change.action not in {*ALIASES, Action.PASSWORD} or case.mailbox:
        return ""
    return case.person.mailbox_obstacle or "I do not know which mailbox is yours. Name it."


def _valid(_: Policy, case: Case) -> str:
    change = case.change
    if change.action is Action.FORWARD_ADD and not change.destinations:
        return "Say where the mail is to go."
    for text in (case.target, *([case.mailbox] if case.mailbox else []), *change.destinations):
        try:
            key = address(text)
        except InvalidAddress as error:
            return str(error)
        if key != text:
            return f"{text!a} is not written as I compare addresses. Write {key}."
    return ""


def _domain(_: Policy, case: Case) -> str:
    for name in (case.target, case.mailbox):
        if name is not None and domain_of(name) not in case.facts.own_domains:
            return f"`{domain_of(name)}` is not one of our mail domains. Check the spelling."
    return ""


def _tombstone(_: Policy, case: Case) -> str:
    owner = case.facts.reserved_for
    is_alias = case.change.action in ALIASES
    # What was a forwarder may be one again, and who gave up an alias may have it forwarded.
    heirs = {case.mailbox} if is_alias else {case.target, case.person.mailbox}
    comes = case.change.action in {Action.ALIAS_ADD, Action.FORWARD_ADD}
    if not comes or owner is None or owner in heirs:
        return ""
    return f"`{case.target}` was given up a short while ago and is kept free. Choose another."


def _limits(policy: Policy, case: Case) -> str:
    limits, facts = policy.limits, case.facts
    if facts.open_requests >= limits.open_requests:
        return f"You have {facts.open_requests} open requests. Wait until one is decided."
    if facts.requests_today >= limits.requests_per_day:
        return f"You have made {facts.requests_today} requests in 24 hours. Come back tomorrow."
    full = (facts.aliases or 0) >= limits.aliases_per_mailbox
    if case.change.action is Action.ALIAS_ADD and full:
        return f"The mailbox has {limits.aliases_per_mailbox} aliases, which is all it may have."
    return ""


#: In the order in which they are asked.
CONTROLS = (
    Control("<person>", "the person may use the bot", _person),
    Control("<identity>", "it is known which mailbox is meant", _identity),
    Control("<invalid>", "every address is one that the bot takes", _valid),
    Control("<domain>", "it is about domains of ours", _domain),
    Control("<tombstone>", "the address is not kept for another", _tombstone),
    Control("<limits>", "the limits are kept", _limits),
)


def floors(case: Case) -> Iterator[str]:
    """Yield why two people have to approve, whatever a rule says: a sentence each for approvers."""
    if case.reserved:
        yield (
            f"`{case.target}` is a reserved name: whoever gets its mail can get certificates or "
            "trust in the name of the domain."
        )
    elif case.sensitive and case.change.action is not Action.PASSWORD:
        yield f"`{case.target}` is a name that people trust, or looks like one."
    if case.external and case.change.action is Action.FORWARD_ADD:
        outside = ", ".join(f"`{one}`" for one in case.external)
        yield f"Mail to `{case.target}` would leave our domains, to {outside}."
    if case.change.action is Action.PASSWORD and not case.own:
        yield "It is the password of somebody else's mailbox."
