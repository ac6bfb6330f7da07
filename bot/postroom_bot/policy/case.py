# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A requested change with everything that rules ask about it, computed once."""

from __future__ import annotations

from dataclasses import dataclass

from postroom_bot.addresses import domain_of, local_of
from postroom_bot.domain import Action, Change, Person
from postroom_bot.policy.model import Policy
from postroom_bot.policy.protected_names import is_reserved, is_sensitive

ALIASES = frozenset({Action.ALIAS_ADD, Action.ALIAS_REMOVE})
#: Actions on a person's mailbox; a forwarder has no owner.
OF_A_MAILBOX = ALIASES | {Action.PASSWORD}


@dataclass(frozen=True, slots=True)
class Facts:
    """What a decision depends on beside the person and the change.

    :param own_domains: keys of the domains that are ours
    :param open_requests: open requests of the person, without this one
    :param requests_today: requests of the person in the last 24 hours, without this one
    :param aliases: how many aliases the mailbox has, or None if unknown
    :param reserved_for: the last owner of the target, a mailbox or the former forwarder itself, or
        None if the target is not reserved
    :param mailbox_owner_user: the Slack user who owns the mailbox, if known
    """

    own_domains: frozenset[str]
    open_requests: int = 0
    requests_today: int = 0
    aliases: int | None = None
    reserved_for: str | None = None
    mailbox_owner_user: str | None = None


@dataclass(frozen=True, slots=True)
class Case:
    """Who requests which change, with nothing left to look up.

    :param target: the address to add or remove, or the mailbox of the password; "" for the
        person's own mailbox if that is unknown
    :param mailbox: the mailbox to change; None for a forwarder, or if unknown
    :param reserved: whether the target is a reserved name in any disguise
    :param sensitive: whether colleagues trust the target, or it looks like a reserved name
    :param external: the destinations outside of our domains
    """

    person: Person
    change: Change
    facts: Facts
    target: str
    mailbox: str | None
    reserved: bool
    sensitive: bool
    external: tuple[str, ...]

    @property
    def own(self) -> bool:
        """Whether the change is to the person's own mailbox."""
        return self.mailbox is not None and self.mailbox == self.person.mailbox


def case_of(policy: Policy, person: Person, change: Change, facts: Facts) -> Case:
    """Return a change with everything that rules ask about it."""
    mailbox = mailbox_of(person, change)
    target = (mailbox or "") if change.action is Action.PASSWORD else change.target
    local, more = local_of(target), policy.reserved
    return Case(
        person=person,
        change=change,
        facts=facts,
        target=target,
        mailbox=mailbox,
        reserved=is_reserved(local, more.names),
        sensitive=is_sensitive(local, more.names, more.patterns),
        external=tuple(
            one for one in change.destinations if domain_of(one) not in facts.own_domains
        ),
    )


def mailbox_of(person: Person, change: Change) -> str | None:
    """Return the mailbox that a change is about; None for a forwarder, or if unknown."""
    if change.action not in OF_A_MAILBOX:
        return None
    named = change.target if change.action is Action.PASSWORD else change.mailbox
    return named or person.mailbox
