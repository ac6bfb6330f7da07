# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The bot's data: changes, requests, votes, people and decisions.

Addresses are normalised keys (lower case, the domain as A-labels); times are aware and in UTC.
None of it contains a password.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta, tzinfo
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
    """The state of a request.

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

#: The origin of the bot's own requests, at the end of the last day of an alias or a forwarder.
EXPIRY = "expiry"

#: The characters of requests' ids after `R-`, and their minimum number: Crockford's letters and
#: digits without 0 and 1, which look like O and I.
ID_ALPHABET = "23456789ABCDEFGHJKMNPQRSTVWXYZ"
ID_LENGTH = 4


@dataclass(frozen=True, slots=True)
class Reason:
    """Why something was refused, stopped or delayed, or how it ended. `ui.messages` has the texts.

    :param code: such as ``address.taken``
    :param params: plain JSON data for the text
    """

    code: str
    params: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        """Return the code and the parameters, for logs."""
        return f"{self.code} {dict(self.params)}" if self.params else self.code

    def as_list(self) -> list[Any]:
        """Return it as JSON data: a parameter of another reason or a row."""
        return [self.code, dict(self.params)]

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON data for the audit."""
        return {"code": self.code, **({"params": dict(self.params)} if self.params else {})}


@dataclass(frozen=True, slots=True)
class Change:
    """A requested change.

    :param target: the address to add or remove; for a password, the mailbox, or "" for the
        requester's own
    :param mailbox: for an alias, the mailbox that it delivers to; None for the requester's own
    :param destinations: for a forwarder, the destinations to add or remove; none in a removal
        means all of them, and the forwarder with them
    :param expires_on: the last day, in the bot's time zone, of an alias or of destinations
    """

    action: Action
    target: str
    mailbox: str | None = None
    destinations: tuple[str, ...] = ()
    expires_on: date | None = None
    reason: str = ""

    def ends_at(self, zone: tzinfo) -> datetime | None:
        """Return when the last day is over in a time zone, or None if there is none."""
        if self.expires_on is None:
            return None
        return datetime.combine(self.expires_on + timedelta(days=1), time(), zone)

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


class ButtonPress(NamedTuple):
    """A press of Approve or Deny on a request's card.

    :param key: of the delivery, the same each time Slack repeats it
    :param card: the message with the button
    :param app: the app that posted the message; "" if Slack's statements about it differ
    """

    key: str
    request_id: str
    user: str
    team: str
    approves: bool
    card: MessageRef
    app: str
    reason: str = ""


class Quorum(NamedTuple):
    """How many members of a group have to approve."""

    group: str
    approvals: int


class Verdict(StrEnum):
    """A policy's verdict on a change."""

    ALLOW = "allow"
    APPROVE = "approve"
    DENY = "deny"


@dataclass(frozen=True, slots=True)
class Decision:
    """A policy's decision on a person's change, with the reason.

    :param quorum: for APPROVE, the approvals that each group has to give
    :param rule: the rule that decided, by name; built-in ones are in angle brackets
    :param reason: for the requester; it reveals nothing about other people
    :param warnings: what approvers have to know
    :param policy_digest: of the policy that decided
    """

    verdict: Verdict
    rule: str
    reason: Reason
    quorum: tuple[Quorum, ...] = ()
    warnings: tuple[Reason, ...] = ()
    policy_digest: str = ""


@dataclass(frozen=True, slots=True)
class Person:
    """A person in Slack, at the time of the lookup.

    :param mailbox: their own mailbox, or None if it is not known
    :param groups: the policy's groups that they are in
    :param obstacle: why they may not use the bot: a guest, a bot, deactivated, of another
        workspace ...
    :param mailbox_obstacle: why no mailbox is known to be theirs
    """

    user: str
    team: str
    name: str
    mailbox: str | None = None
    groups: frozenset[str] = frozenset()
    obstacle: Reason | None = None
    mailbox_obstacle: Reason | None = None


class VoteState(StrEnum):
    """Whether a vote counts."""

    CAST = "cast"
    COUNTED = "counted"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Vote:
    """A person's vote on a request.

    :param card: the message whose button was pressed, as reported by Slack
    :param reason: the voter's own
    :param refusal: why it does not count
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
    refusal: Reason | None = None
    mailbox: str | None = None
    groups: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Request:
    """A requested change and its progress.

    :param id: such as ``R-7K2M``
    :param origin: ``slack``, or ``expiry`` where the bot asks for the removal that was announced
    :param requester_mailbox: the requester's own mailbox when the request was evaluated
    :param rule: the policy's rule that decided
    :param quorum: the approvals that are needed
    :param digest: of the change, the requester and the policy; a card is valid for this digest only
    :param decide_by: when a request that is not approved by then ends
    :param execute_by: when an approved request that is not executed by then ends
    :param remind_at: when to remind the approvers
    :param ends_at: when the alias or the destinations are removed again
    :param card_state: what the card shows; outdated if it differs from the request
    :param attempts: how often the execution was started
    :param failures: steps in a row that failed; for the back-off
    :param progress: the executor's notes, to continue after a crash
    :param blocked: what delays it right now
    :param result: how it ended; for a password that waits for its owner, why the last try failed
    :param due_at: when the worker has to process it next; None for never
    :param leases: counts the leases, to distinguish those of the same owner
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
    warnings: tuple[Reason, ...] = ()
    digest: str = ""
    policy_digest: str = ""
    decide_by: datetime | None = None
    execute_by: datetime | None = None
    remind_at: datetime | None = None
    ends_at: datetime | None = None
    card: MessageRef | None = None
    card_state: str = ""
    attempts: int = 0
    failures: int = 0
    progress: Mapping[str, Any] = field(default_factory=dict)
    blocked: Reason | None = None
    result: Reason | None = None
    ended_at: datetime | None = None
    due_at: datetime | None = None
    lease_owner: str | None = None
    lease_until: datetime | None = None
    leases: int = 0
    version: int = 0

    @property
    def is_open(self) -> bool:
        """Whether the request has not ended."""
        return self.state in OPEN

    @property
    def is_begun(self) -> bool:
        """Whether an attempt may have changed something: executors save notes first."""
        return bool(self.progress)

    @property
    def approvals_needed(self) -> int:
        """The approvals of all groups together."""
        return sum(one.approvals for one in self.quorum)

    def is_overdue(self, at: datetime) -> bool:
        """Return whether the deadline of the decision, or then of the execution, has passed."""
        deadline = self.decide_by if self.state is State.PENDING else self.execute_by
        return deadline is not None and deadline <= at

    def right_digest(self) -> str:
        """Return the digest of the current values; that of an edited row differs from `digest`."""
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
