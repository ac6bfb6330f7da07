# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What the policy is asked with: the wish in full, and the facts that a decision has to know."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from postroom_bot.domain import Action, Change, Decision, Person, Request
from postroom_bot.policy.case import ALIASES, mailbox_of
from postroom_bot.policy.engine import Facts, decide
from postroom_bot.store import requests, reservations
from postroom_bot.workflow.dependencies import Dependencies
from postroom_common.database import Connection

DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Query:
    """A person's wish as it was asked for.

    :param wish: in full
    :param at: when; what was asked for later counts for no limit
    :param request_id: "" where there is no request yet
    """

    person: Person
    change: Change
    at: datetime
    request_id: str = ""


def in_full(change: Change, person: Person) -> Change:
    """Return a wish with the person's own mailbox where it names none."""
    mailbox = mailbox_of(person, change)
    if change.action is Action.PASSWORD:
        return replace(change, target=mailbox or "")
    return replace(change, mailbox=mailbox)


def decided(deps: Dependencies, asked: Query) -> Decision:
    """Return what the policy in force says of what was asked for, with its limits.

    :raises Unavailable: the mail service does not answer
    :raises SlackUnavailable: Slack does not
    """
    since = asked.at - DAY

    def count(c: Connection) -> tuple[int, int]:
        user, key = asked.person.user, (asked.at, asked.request_id)
        earlier = [one for one in requests.open_by(c, user) if (one.created_at, one.id) < key]
        today = requests.count_since(c, user, since) - requests.count_since(c, user, asked.at)
        return len(earlier), today

    open_requests, today = deps.database.read(count)
    facts = replace(facts_of(deps, asked), open_requests=open_requests, requests_today=today)
    return decide(deps.policy(), asked.person, asked.change, facts)


def decided_again(deps: Dependencies, person: Person, request: Request) -> Decision:
    """Return what the policy in force says of a request now; how many there are counted before.

    :raises Unavailable: the mail service does not answer
    :raises SlackUnavailable: Slack does not
    """
    asked = Query(person, request.change, request.created_at, request.id)
    return decide(deps.policy(), person, request.change, facts_of(deps, asked))


def facts_of(deps: Dependencies, asked: Query) -> Facts:
    """Look up what a decision has to know, beside what the person asked for before."""
    change = asked.change
    reservation = deps.database.read(lambda c: reservations.get(c, change.target, now=deps.clock()))
    return Facts(
        own_domains=deps.mail.domains(),
        aliases=_other_aliases(deps, change),
        reserved_for=reservation.owner if reservation else None,
        mailbox_owner_user=owner_of(deps, asked.person, change),
    )


def owner_of(deps: Dependencies, person: Person, change: Change) -> str | None:
    """Return the Slack user whose mailbox a wish is about, if one is known."""
    mailbox = mailbox_of(person, change)
    if mailbox is None or mailbox == person.mailbox:
        return person.user if mailbox else None
    owner = deps.people.owner_of(mailbox, deps.workspace.team)
    return owner.user if owner else None


def _other_aliases(deps: Dependencies, change: Change) -> int | None:
    """Count the mailbox's aliases beside the wished one, which may be there from an earlier try."""
    if change.action not in ALIASES or change.mailbox is None:
        return None
    aliases = deps.mail.aliases(change.mailbox)
    return None if aliases is None else len(set(aliases) - {change.target})
