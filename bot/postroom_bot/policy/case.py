# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A wish with all that rules ask about it, worked out once."""

from __future__ import annotations

from dataclasses import dataclass

from postroom_bot.addresses import domain_of, local_of
from postroom_bot.domain import Action, Change, Person
from postroom_bot.policy.model import Policy
from postroom_bot.policy.protected_names import is_reserved, is_sensitive

ALIASES = frozenset({Action.ALIAS_ADD, Action.ALIAS_REMOVE})
#: What is about somebody's mailbox; a forwarder belongs to nobody.
OF_A_MAILBOX = ALIASES | {Action.PASSWORD}


@dataclass(frozen=True, slots=True)
class Facts:
    """What a decision has to know beside the person and the wish.

    :param own_domains: keys of the domains that are ours
    :param open_requests: open requests of the person, without this one
    :param requests_today: requests of the person in the last 24 hours, without this one
    :param aliases: how many aliases the wish's mailbox has, or None where that is not known
    :param tombstone_owner: the mailbox that gave the wish's target up, the forwarder that it was,
        or None where it is free
    :param mailbox_owner_user: the Slack user whose mailbox the wish is about, if known
    """

    own_domains: frozenset[str]
    open_requests: int = 0
    requests_today: int = 0
    aliases: int | None = None
    reserved_for: str | None = None
    mailbox_owner_user: str | None = None


@dataclass(frozen=True, slots=True)
class Case:
    """Who asks for what, with nothing left to look up.

    :param target: the address that comes or goes, or whose password is asked for; "" where the
        person's own is meant and not known
    :param mailbox: what it is about; None for a forwarder, or where it is not known
    :param reserved: whether the target is a reserved name in any disguise
    :param sensitive: whether the target is believed by colleagues or looks like a reserved name
    :param external: the destinations that are not ours
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
        """Whether it is about the person's own mailbox."""
        return self.mailbox is not None and self.mailbox == self.person.mailbox


def case_of(policy: Policy, person: Person, change: Change, facts: Facts) -> Case:
    """Work out what rules ask about."""
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
    """Return the mailbox that a wish is about; None for a forwarder, or where none is known."""
    if change.action not in OF_A_MAILBOX:
        return None
    named = change.target if change.action is Action.PASSWORD else change.mailbox
    return named or person.mailbox
