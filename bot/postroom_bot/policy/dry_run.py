# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A person and facts from a policy file alone, without Slack and without a database."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pydantic import TypeAdapter, ValidationError

from postroom_bot.addresses import domain_of
from postroom_bot.domain import Change, Person
from postroom_bot.policy.case import Facts, mailbox_of
from postroom_bot.policy.model import EVERYONE, Policy, unknown_group
from postroom_bot.policy.types import UserId


def person(policy: Policy, user: str, mailbox: str | None, groups: Iterable[str]) -> Person:
    """Return the person with an id: with the mailbox pinned to it and the groups that list it.

    :param user: a Slack user id, or ""
    :param mailbox: replaces the pinned one
    :param groups: further groups of the person
    :raises ValueError: unknown group or invalid id; the message is for the operator
    """
    _check_user(user)
    for group in groups:
        if unknown := unknown_group(policy, group):
            raise ValueError(unknown)
    listed = (name for name, group in policy.groups.items() if user in group.users)
    own = mailbox or policy.identity.pinned.get(user)
    return Person(user, "", user, mailbox=own, groups=frozenset({EVERYONE, *groups, *listed}))


def facts(policy: Policy, person: Person, change: Change, domains: Iterable[str] = ()) -> Facts:
    """Return the facts that the file implies, and none that would count against the change.

    :param domains: our domains; by default those of all known mailboxes
    """
    owners = {mailbox: user for user, mailbox in policy.identity.pinned.items()}
    mailbox = mailbox_of(person, change)
    return Facts(
        own_domains=frozenset(domains) or frozenset(_domains(policy, person)),
        mailbox_owner_user=owners.get(mailbox) if mailbox else None,
    )


def unasked(policy: Policy, person: Person) -> list[str]:
    """Return the groups that the person may be in through a user group, which only Slack knows."""
    return [
        name
        for name, group in policy.groups.items()
        if group.usergroups and name not in person.groups
    ]


def _domains(policy: Policy, person: Person) -> Iterator[str]:
    """Yield the domains of the mailboxes that the file names or trusts."""
    known = [*policy.identity.pinned.values(), *filter(None, [person.mailbox])]
    yield from map(domain_of, known)
    if policy.identity.slack_email:
        yield from policy.identity.slack_email.domains


def _check_user(user: str) -> None:
    try:
        TypeAdapter(UserId | None).validate_python(user or None)
    except ValidationError:
        raise ValueError(
            f"{user!a} is not a Slack user id such as U024BE7LH. Copy it from the profile, with"
            " Copy member ID."
        ) from None
