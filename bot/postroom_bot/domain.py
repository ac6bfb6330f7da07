# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What all parts of the bot speak of: wishes, requests, votes, people and decisions.

Addresses are normalised keys (lower case, the domain as A-labels); times are aware and in UTC.
Nothing here can hold a password.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Any, NamedTuple


class Action(StrEnum):
    """What can be asked for and needs a decision."""

    ALIAS_ADD = "alias.add"
    ALIAS_REMOVE = "alias.remove"
    FORWARD_ADD = "forward.add"
    FORWARD_REMOVE = "forward.remove"
    PASSWORD = "password"  # noqa: S105 - the name of an action


class State(StrEnum):
    """Where a request is on its way.

    new -> pending -> approved -> executing -> done | failed | refused;
    before approved also denied, expired and cancelled; new may skip pending where the policy asks
    for no approval.
    """

    NEW = "new"
    PENDING = "pending"
    APPROVED = "approved"
    EXECUTING = "executing"
    DONE = "done"
    FAILED = "failed"
    REFUSED = "refused"
    DENIED = "denied"
    EXPIRED = "expired"
    CANCELLED = "cancelled"


#: From each state, those that may follow.
FOLLOWING: Mapping[State, frozenset[State]] = MappingProxyType(
    {
        State.NEW: frozenset(
            {State.PENDING, State.APPROVED, State.REFUSED, State.FAILED, State.CANCELLED}
        ),
        State.PENDING: frozenset(
            {State.APPROVED, State.REFUSED, State.DENIED, State.EXPIRED, State.CANCELLED}
        ),
        State.APPROVED: frozenset(
            {State.EXECUTING, State.REFUSED, State.FAILED, State.EXPIRED, State.CANCELLED}
        ),
        # Back to approved where the work was handed back undone.
        State.EXECUTING: frozenset({State.DONE, State.FAILED, State.REFUSED, State.APPROVED}),
    }
)
OPEN = frozenset(FOLLOWING)

#: What requests' ids are made of after `R-`, and how long that is at least: Crockford's letters and
#: digits without 0 and 1, which people take for O and I.
ID_ALPHABET = "23456789ABCDEFGHJKMNPQRSTVWXYZ"
ID_LENGTH = 4


@dataclass(frozen=True, slots=True)
class Change:
    """What somebody asks for.

    :param target: the address that is to come or go; for a password, the mailbox, or "" for the
        requester's own
    :param mailbox: for an alias, the mailbox that it delivers to; None for the requester's own
    :param destinations: for a forwarder, where mail to ``target`` is to go on to, or no more;
        none in a removal means all of them, and the forwarder with them
    :param expires_on: the last day, in the bot's time zone, of an alias or of destinations
    """

    action: Action
    target: str
    mailbox: str | None = None
    destinations: tuple[str, ...] = ()
    expires_on: date | None = None
    reason: str = ""

    def is_twin_of(self, other: Change) -> bool:
        """Whether both are for the same, whatever their reasons and ends."""
        aside = {"reason": "", "expires_on": None}
        return self.as_dict() | aside == other.as_dict() | aside

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data, for the database, the digest and the audit."""
        return {
            "action": str(self.action),
            "target": self.target,
            "mailbox": self.mailbox,
            "destinations": sorted(self.destinations),
            "expires_on": self.expires_on.isoformat() if self.expires_on else None,
            "reason": self.reason,
        }


class MessageRef(NamedTuple):
    """A message in Slack."""

    channel: str
    ts: str


class Quorum(NamedTuple):
    """How many members of a group have to approve."""

    group: str
    approvals: int


class Verdict(StrEnum):
    """What a policy says of a wish."""

    ALLOW = "allow"
    APPROVE = "approve"
    DENY = "deny"


@dataclass(frozen=True, slots=True)
class Decision:
    """What a policy says of one person's wish, and why.

    :param quorum: for APPROVE, what is needed of each group; all of them have to be met
    :param rule: the rule that decided, by name; built-in ones are in angle brackets
    :param reason: a sentence for the requester that says nothing of other people
    :param warnings: what approvers have to know, a sentence each
    :param policy_digest: of the policy that decided
    """

    verdict: Verdict
    rule: str
    reason: str
    quorum: tuple[Quorum, ...] = ()
    warnings: tuple[str, ...] = ()
    policy_digest: str = ""

    @property
    def approvals_needed(self) -> int:
        """The approvals of all groups together."""
        return sum(one.approvals for one in self.quorum)


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody in Slack, as seen right now.

    :param mailbox: their own mailbox, as identity sources say, or None where none does
    :param groups: the policy's groups that they are in
    :param obstacle: why they may not use the bot at all (guest, bot, deactivated, other
        workspace ...), a sentence; "" where they may
    :param mailbox_obstacle: why no mailbox is known to be theirs, a sentence, where none is
    """

    user: str
    team: str
    name: str
    mailbox: str | None = None
    groups: frozenset[str] = frozenset()
    obstacle: str = ""
    mailbox_obstacle: str = ""


class VoteState(StrEnum):
    """What became of a press on a card's button."""

    CAST = "cast"
    COUNTED = "counted"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Vote:
    """One person's say on a request.

    :param card: the message whose button was pressed, as Slack told it
    :param mailbox: the voter's own mailbox when it was counted
    :param groups: the voter's groups of the quorum when it was counted
    """

    request: str
    voter: str
    team: str
    approves: bool
    state: VoteState
    at: datetime
    card: MessageRef
    reason: str = ""
    mailbox: str | None = None
    groups: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Request:
    """A wish on its way.

    :param id: such as ``R-7K2M``, fit to be read out
    :param origin: ``slack``, or ``expiry`` where the bot asks for the removal that was announced
    :param requester_mailbox: the requester's own mailbox when the request was examined
    :param rule: the policy's rule that decided
    :param quorum: the approvals that are needed
    :param digest: of what is asked for, by whom, under which policy; what a card stands for
    :param expires_at: when an open request ends by itself
    :param remind_at: when approvers are to be reminded
    :param ends_at: when the alias or the destinations are removed again
    :param shown: what the card shows, as a key; the card is behind where it is not the right one
    :param told: who was told of which state, as words such as ``done`` and ``done-owner``
    :param attempts: how often the execution was begun
    :param progress: an executor's notes to itself, in case it has to go on after a crash
    :param trouble: what keeps it from going on right now, in a sentence for people
    :param result: how it ended, in a sentence for people
    :param due_at: when somebody has to look at it next; None for never
    :param leases: counts the leases, which tells one from the next of the same owner
    :param version: counts changes from outside of the lease
    """

    id: str
    change: Change
    requester: str
    team: str
    state: State
    created_at: datetime
    origin: str = "slack"
    requester_mailbox: str | None = None
    rule: str = ""
    quorum: tuple[Quorum, ...] = ()
    warnings: tuple[str, ...] = ()
    digest: str = ""
    policy_digest: str = ""
    expires_at: datetime | None = None
    remind_at: datetime | None = None
    ends_at: datetime | None = None
    card: MessageRef | None = None
    shown: str = ""
    told: str = ""
    attempts: int = 0
    progress: Mapping[str, Any] = field(default_factory=dict)
    trouble: str = ""
    result: str = ""
    ended_at: datetime | None = None
    due_at: datetime | None = None
    lease_owner: str | None = None
    lease_until: datetime | None = None
    leases: int = 0
    version: int = 0

    @property
    def is_open(self) -> bool:
        """Whether something may still become of it."""
        return self.state in OPEN

    @property
    def is_begun(self) -> bool:
        """Whether something may have been changed for it; executors note what they are about."""
        return bool(self.progress)

    @property
    def approvals_needed(self) -> int:
        """The approvals of all groups together."""
        return sum(one.approvals for one in self.quorum)

    def right_digest(self) -> str:
        """Return the digest of what this row says now; an edited row no longer has its own."""
        return digest_of(
            {
                "id": self.id,
                "origin": self.origin,
                "wish": self.change.as_dict(),
                "requester": self.requester,
                "team": self.team,
                "mailbox": self.requester_mailbox,
                "policy": self.policy_digest,
                "quorum": [list(one) for one in self.quorum],
            }
        )


def digest_of(data: Any) -> str:
    """Return a SHA-256 of plain data, the same for equal data."""
    text = json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()
