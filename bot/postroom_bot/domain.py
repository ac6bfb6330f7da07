# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The bot's data: interactions, changes, requests, votes, people and decisions.

Addresses are normalized lookup keys: in lower case, with the domain in its A-label form. Times are
timezone-aware and in UTC. No object contains a password.

The code uses a different term for each kind of refusal:

- denied: by the policy (Verdict.DENY, which refuses the request) or by an approver (State.DENIED)
- refused: a request that the bot stops, or a vote that does not count
- rejected: by the mail service, AWX or Slack (errors.Rejected, errors.SlackRejected)
- forbidden: an action that the person is not allowed to take (errors.Forbidden)
- turned away: a vote or a query that is not accepted and is recorded only in the audit
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime, time, timedelta, tzinfo
from enum import StrEnum
from types import MappingProxyType
from typing import Any, NamedTuple


class Action(StrEnum):
    """A kind of change that users can request, subject to the policy."""

    ALIAS_ADD = "alias.add"
    ALIAS_REMOVE = "alias.remove"
    FORWARD_ADD = "forward.add"
    FORWARD_REMOVE = "forward.remove"
    PASSWORD = "password"  # noqa: S105 - the name of an action

    @property
    def is_alias(self) -> bool:
        """Whether the action changes an alias of a mailbox."""
        return self in (Action.ALIAS_ADD, Action.ALIAS_REMOVE)

    @property
    def has_mailbox(self) -> bool:
        """Whether the action changes a mailbox. Mailboxes have owners, but forwarders don't."""
        return self.is_alias or self is Action.PASSWORD

    @property
    def adds(self) -> bool:
        """Whether the action adds an alias or destinations. Only additions can have a last day."""
        return self in ADDITIONS


ADDITIONS = (Action.ALIAS_ADD, Action.FORWARD_ADD)


class State(StrEnum):
    """The state of a request.

    new -> pending -> approved -> executing -> done | failed | refused

    A request can also end early as denied, expired or cancelled. If the policy requires no
    approval, the request skips the pending state.
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


#: The states that can follow each open state.
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
        # A request whose execution is postponed returns to approved.
        State.EXECUTING: frozenset({State.DONE, State.FAILED, State.REFUSED, State.APPROVED}),
    }
)
OPEN = frozenset(FOLLOWING)

#: The origin of a removal that the bot requests after the last day of an alias or a forwarder.
END_OF_CHANGE = "expiry"
#: The origin of a request for a later end of what an earlier request has added. It restores
#: nothing that was removed since.
EXTENSION = "extension"

#: The alphabet and the minimum length of request ids after `R-`. The alphabet is Crockford's
#: base 32 without 0 and 1, which look like O and I.
ID_ALPHABET = "23456789ABCDEFGHJKMNPQRSTVWXYZ"
ID_LENGTH = 4


@dataclass(frozen=True, slots=True)
class Reason:
    """The reason for a refusal or delay, or the result of a request, as a code with parameters.

    `ui.reason_texts` renders reasons as text.

    :param code: the code of the text, such as ``address.taken``
    :param params: the parameters of the text, as JSON data
    """

    code: str
    params: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        """Return the code and the parameters as text for logs."""
        return f"{self.code} {dict(self.params)}" if self.params else self.code

    def as_list(self) -> list[Any]:
        """Return the reason as a JSON list, for database rows and parameters of other reasons."""
        return [self.code, dict(self.params)]

    def as_dict(self) -> dict[str, Any]:
        """Return the reason as a JSON object, for the audit."""
        return {"code": self.code, **({"params": dict(self.params)} if self.params else {})}


@dataclass(frozen=True, slots=True)
class Change:
    """A requested change.

    :param target: the address to add or remove; for a password, the mailbox, or "" for the
        requester's own mailbox
    :param mailbox: the mailbox of an alias; None for the requester's own mailbox
    :param destinations: the destinations to add to or remove from a forwarder; a removal without
        destinations removes the forwarder
    :param last_day: the last day of an alias or of destinations, in the bot's time zone
    """

    action: Action
    target: str
    mailbox: str | None = None
    destinations: tuple[str, ...] = ()
    last_day: date | None = None
    justification: str = ""

    @property
    def deliveries(self) -> tuple[str, ...]:
        """The mailbox of an alias, or the destinations of a forwarder."""
        return (self.mailbox or "",) if self.action.is_alias else self.destinations

    def with_own_mailbox(self, mailbox: str | None) -> Change:
        """Return the change, with the requester's own mailbox filled in if it names no mailbox."""
        if self.action is Action.PASSWORD:
            return replace(self, target=self.target or mailbox or "")
        return replace(self, mailbox=self.mailbox or mailbox) if self.action.is_alias else self

    def end_of_last_day(self, zone: tzinfo) -> datetime | None:
        """Return the end of the last day in a time zone, or None if the change is permanent."""
        if self.last_day is None:
            return None
        return datetime.combine(self.last_day + timedelta(days=1), time(), zone)

    def as_dict(self) -> dict[str, Any]:
        """Return the change as plain data, for comparisons, digests and the audit."""
        return {
            "action": str(self.action),
            "target": self.target,
            "mailbox": self.mailbox,
            "destinations": sorted(self.destinations),
            "last_day": self.last_day.isoformat() if self.last_day else None,
            "justification": self.justification,
        }


class MessageRef(NamedTuple):
    """A reference to a message in Slack."""

    channel: str
    ts: str


class ViewRef(NamedTuple):
    """A reference to an open modal.

    :param hash: Slack's hash of the view, so that an update fails if the view has changed; "" to
        update the modal in any case
    """

    view_id: str
    hash: str


class Interaction(NamedTuple):
    """A command, a pressed button, a shortcut or a submitted view.

    :param team: the id of the person's workspace, which can differ from the bot's
    :param key: the idempotency key, which is the same if Slack delivers the interaction again
    :param trigger: the trigger id, which is valid for 3 seconds; "" for a submitted view
    :param request_id: the request id in the button's value, or ""
    :param modal: the submitted modal, or the modal that contains the button
    :param card: the message that contains the button
    :param app: the id of the app that posted the message; "" if the payload names two different
        apps
    """

    user: str
    team: str
    key: str
    trigger: str
    request_id: str = ""
    modal: ViewRef | None = None
    card: MessageRef = MessageRef("", "")
    app: str = ""


class Quorum(NamedTuple):
    """The number of approvals that a group must give."""

    group: str
    approvals: int


class Verdict(StrEnum):
    """The policy's verdict on a change."""

    ALLOW = "allow"
    NEEDS_APPROVAL = "approve"
    DENY = "deny"


class EvaluationStep(NamedTuple):
    """The result of evaluating a control or a rule. The names of controls are in angle brackets.

    :param sentence: a sentence for explanations; "" for a control that denies the change
    """

    name: str
    sentence: str = ""


@dataclass(frozen=True, slots=True)
class Decision:
    """The policy's decision on a person's change, with the reason.

    :param quorum: for NEEDS_APPROVAL, the approvals that each group must give
    :param rule: the name of the deciding rule; built-in names are in angle brackets
    :param reason: the reason for the requester, which reveals nothing about other people
    :param steps: the steps that led to the decision, for explanations; the last step decided
    """

    verdict: Verdict
    rule: str
    reason: Reason
    quorum: tuple[Quorum, ...] = ()
    warnings: tuple[Reason, ...] = ()
    policy_digest: str = ""
    steps: tuple[EvaluationStep, ...] = ()


@dataclass(frozen=True, slots=True)
class Workspace:
    """The Slack workspace that the bot serves, and the bot's app in it.

    :param team: the id of the workspace, such as ``T0123``
    :param enterprise: the id of the organization, if the workspace belongs to one
    :param app: the id of the app; "" if unknown, so that `is_app` accepts any app
    """

    team: str
    enterprise: str | None = None
    app: str = ""

    def accepts_team(self, team: str) -> bool:
        """Return whether a member of the workspace `team` may also be a member of this workspace.

        In an organization, people can belong to several workspaces, but an interaction names only
        one of them. The person's account is checked later, before any decision.
        """
        return team == self.team or self.enterprise is not None

    def is_app(self, app: str) -> bool:
        """Return whether an app id is, or may be, the bot's. The empty id "" never matches."""
        return bool(app) and self.app in ("", app)


@dataclass(frozen=True, slots=True)
class Person:
    """A Slack user, as of the time of the lookup.

    :param mailbox: their own mailbox, or None if unknown
    :param groups: the policy's groups that they belong to
    :param obstacle: why this person may not use the bot, such as being a guest or a member of
        another workspace; None if the person may use it
    """

    user: str
    mailbox: str | None = None
    groups: frozenset[str] = frozenset()
    obstacle: Reason | None = None
    mailbox_obstacle: Reason | None = None


class VoteState(StrEnum):
    """The state of a vote: not tallied yet, counted or refused."""

    CAST = "cast"
    COUNTED = "counted"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Vote:
    """A person's vote on a request.

    :param card: the message whose button was pressed, as reported by Slack
    :param refusal: why the vote does not count
    :param mailbox: the voter's own mailbox when the vote was counted
    :param groups: the quorum's groups that the voter belonged to when the vote was counted
    """

    request: str
    voter: str
    team: str
    approves: bool
    state: VoteState
    at: datetime
    card: MessageRef
    justification: str = ""
    refusal: Reason | None = None
    mailbox: str | None = None
    groups: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Request:
    """A requested change and its progress.

    :param id: the request's id, such as ``R-7K2M``
    :param origin: ``slack``, EXTENSION, or END_OF_CHANGE if the bot requests the removal
    :param requester_mailbox: the requester's own mailbox when the request was evaluated
    :param digest: the digest of the change, the requester and the policy, to detect edited rows
    :param decide_by: when the request expires if it is still pending, or if it is new and delayed
    :param execute_by: when the request expires if it is approved but not executed
    :param removal_at: when to remove what the request added; None once the removal is requested
    :param card_state: the state that the card shows; if outdated, the card must be updated
    :param attempts: how many times the execution was attempted
    :param failures: the number of consecutive failed steps, for the back-off
    :param blocked: what currently delays the request
    :param result: the outcome; for a password that its owner has yet to create, the reason why the
        last attempt failed
    :param due_at: when the worker must process the request next; None for never
    :param lease_count: how often the request was leased, to distinguish leases of one holder
    :param lock: the mailbox or forwarder that is locked until the execution ends
    :param due_marks: how many times the request was marked due, with or without holding the lease
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
    removal_at: datetime | None = None
    card: MessageRef | None = None
    card_state: str = ""
    attempts: int = 0
    failures: int = 0
    notes: Mapping[str, Any] = field(default_factory=dict)
    blocked: Reason | None = None
    result: Reason | None = None
    closed_at: datetime | None = None
    due_at: datetime | None = None
    lease_holder: str | None = None
    lease_until: datetime | None = None
    lease_count: int = 0
    lock: str | None = None
    due_marks: int = 0

    @property
    def lock_name(self) -> str:
        """The name to lock: a forwarder, or a mailbox, whose lock also covers its aliases."""
        return self.change.mailbox or self.change.target

    @property
    def is_open(self) -> bool:
        """Whether the request has not ended yet."""
        return self.state in OPEN

    @property
    def is_cancellable(self) -> bool:
        """Whether an operator can still cancel the request."""
        return State.CANCELLED in FOLLOWING.get(self.state, ()) and not self.may_have_changed

    @property
    def is_cancellable_by_requester(self) -> bool:
        """Whether the requester can still cancel the request.

        Without the removal after its last day, an alias would become permanent without approval.
        """
        return self.is_cancellable and self.origin != END_OF_CHANGE

    @property
    def may_have_changed(self) -> bool:
        """Whether an executor, which saves notes before its first change, may have begun."""
        return bool(self.notes)

    def is_overdue(self, at: datetime) -> bool:
        """Return whether the request's current deadline (decision or execution) has passed."""
        deadline = self.decide_by if self.state is State.PENDING else self.execute_by
        return deadline is not None and deadline <= at

    def computed_digest(self) -> str:
        """Return the digest of the current values, to compare with `digest`."""
        return digest_of(
            {
                "id": self.id,
                "origin": self.origin,
                "change": self.change.as_dict(),
                "requester": self.requester,
                "team": self.team,
                "mailbox": self.requester_mailbox,
                "policy": self.policy_digest,
                "quorum": [list(one) for one in self.quorum],
            }
        )


def digest_of(data: Any) -> str:
    """Return the SHA-256 hash of JSON data. Equal data has equal digests."""
    text = json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()
