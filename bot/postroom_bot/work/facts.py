# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What the policy is asked with: the wish in full, and the facts that a decision has to know."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from postroom_bot.model import Action, Decision, Person, Request, Wish
from postroom_bot.policy.case import ALIASES, mailbox_of
from postroom_bot.policy.decide import Facts, decide
from postroom_bot.store import requests, tombstones
from postroom_common.database import Connection

from .deps import Deps

DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Asked:
    """A person's wish as it was asked for.

    :param wish: in full
    :param at: when; what was asked for later counts for no limit
    :param request_id: "" where there is no request yet
    """

    person: Person
    wish: Wish
    at: datetime
    request_id: str = ""


def in_full(wish: Wish, person: Person) -> Wish:
    """Return a wish with the person's own mailbox where it names none."""
    mailbox = mailbox_of(person, wish)
    if wish.action is Action.PASSWORD:
        return replace(wish, target=mailbox or "")
    return replace(wish, mailbox=mailbox)


def decided(deps: Deps, asked: Asked) -> Decision:
    """Return what the policy in force says of what was asked for, with its limits.

    :raises TryLater: the mail service does not answer
    :raises ChatDown: Slack does not
    """
    since = asked.at - DAY

    def count(c: Connection) -> tuple[int, int]:
        user, key = asked.person.user, (asked.at, asked.request_id)
        earlier = [one for one in requests.open_by(c, user) if (one.created_at, one.id) < key]
        today = requests.count_since(c, user, since) - requests.count_since(c, user, asked.at)
        return len(earlier), today

    open_requests, today = deps.database.read(count)
    facts = replace(facts_of(deps, asked), open_requests=open_requests, requests_today=today)
    return decide(deps.policy(), asked.person, asked.wish, facts)


def decided_again(deps: Deps, person: Person, request: Request) -> Decision:
    """Return what the policy in force says of a request now; how many there are counted before.

    :raises TryLater: the mail service does not answer
    :raises ChatDown: Slack does not
    """
    asked = Asked(person, request.wish, request.created_at, request.id)
    return decide(deps.policy(), person, request.wish, facts_of(deps, asked))


def facts_of(deps: Deps, asked: Asked) -> Facts:
    """Look up what a decision has to know, beside what the person asked for before."""
    wish = asked.wish
    grave = deps.database.read(lambda c: tombstones.grave(c, wish.target, now=deps.clock()))
    return Facts(
        own_domains=deps.mail.domains(),
        aliases=_other_aliases(deps, wish),
        tombstone_owner=grave.owner if grave else None,
        mailbox_owner_user=owner_of(deps, asked.person, wish),
    )


def owner_of(deps: Deps, person: Person, wish: Wish) -> str | None:
    """Return the Slack user whose mailbox a wish is about, if one is known."""
    mailbox = mailbox_of(person, wish)
    if mailbox is None or mailbox == person.mailbox:
        return person.user if mailbox else None
    owner = deps.people.owner_of(mailbox, deps.workspace.team)
    return owner.user if owner else None


def _other_aliases(deps: Deps, wish: Wish) -> int | None:
    """Count the mailbox's aliases beside the wished one, which may be there from an earlier try."""
    if wish.action not in ALIASES or wish.mailbox is None:
        return None
    aliases = deps.mail.aliases(wish.mailbox)
    return None if aliases is None else len(set(aliases) - {wish.target})
