# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Sentences about a request: what it changes and its state."""

from __future__ import annotations

from collections.abc import Sequence

from postroom_bot.domain import Action, Quorum, Request, State, Vote, VoteState
from postroom_bot.ui.markup import code, count, enumerate_items, escape, mention, plain
from postroom_bot.ui.markup import time as time_text
from postroom_bot.ui.messages import text

OWN_MAILBOX = "your own mailbox"

# A sentence names up to this many destinations.
_MAX_NAMED = 2


def title(request: Request) -> str:
    """Return what a request is called."""
    return f"Request *{escape(request.id)}*"


def headline(request: Request) -> str:
    """Return the request's id and its change, for the requester."""
    why = ", because its last day has passed" if request.origin == "expiry" else ""
    return f"{title(request)}: {change_text(request, OWN_MAILBOX)}{why}."


def change_text(request: Request, own: str = "their own mailbox") -> str:
    """Return such as "add sales@example.com to alice@example.com".

    :param own: the requester's mailbox, if its address is not known yet
    """
    change = request.change
    target = code(change.target)
    holder = change.mailbox or request.requester_mailbox
    mailbox = code(holder) if holder else own
    until = f" until {change.expires_on.isoformat()}" if change.expires_on else ""
    if len(change.destinations) <= _MAX_NAMED:
        destinations = enumerate_items([code(one) for one in change.destinations])
    else:
        destinations = f"{len(change.destinations)} addresses"
    match change.action:
        case Action.ALIAS_ADD:
            return f"add {target} to {mailbox}{until}"
        case Action.ALIAS_REMOVE:
            return f"remove {target} from {mailbox}"
        case Action.FORWARD_ADD:
            return f"forward {target} to {destinations}{until}"
        case Action.FORWARD_REMOVE if change.destinations:
            return f"stop forwarding {target} to {destinations}"
        case Action.FORWARD_REMOVE:
            return f"stop forwarding {target}"
        case Action.PASSWORD:
            return f"create a new password for {target if change.target else mailbox}"


def all_destinations(request: Request) -> list[str]:
    """Return a line for each destination, if `change_text` only counts them."""
    destinations = request.change.destinations
    if len(destinations) <= _MAX_NAMED:
        return []
    return [f"Destination: {code(one)}." for one in destinations]


def approvals_of(votes: Sequence[Vote]) -> list[Vote]:
    """Return the approvals that count, oldest first."""
    return sorted(
        (vote for vote in votes if vote.approves and vote.state is VoteState.COUNTED),
        key=lambda vote: vote.at,
    )


def approved_by(request: Request, votes: Sequence[Vote]) -> list[str]:
    """Return "Approved by Bob (1 of 2)." for each approval."""
    needed = request.approvals_needed
    return [
        f"Approved by {mention(vote.voter)} ({place} of {needed})."
        for place, vote in enumerate(approvals_of(votes), 1)
    ]


def status_text(request: Request, votes: Sequence[Vote] | None = None) -> str:
    """Return the request's state in a sentence or two.

    :param votes: None if they are not known
    """
    match request.state:
        case State.NEW:
            status = "Checking."
        case State.PENDING:
            expiry = f" It expires {time_text(request.decide_by)}." if request.decide_by else ""
            status = f"{_waiting(request.quorum, votes)}{expiry}"
        case State.APPROVED if request.change.action is Action.PASSWORD:
            # The result gives the reason if an earlier attempt failed.
            again = f" {text(request.result)}" if request.result else ""
            status = f"Approved. Waiting for the mailbox's owner to create it.{again}"
        case State.APPROVED:
            status = "Approved."
        case State.EXECUTING:
            status = "Approved, in progress."
        case State.DENIED:
            status = _denied(votes or ()) or _ended("Denied", request)
        case State.CANCELLED:
            by = "" if request.result else " by the requester"
            status = _ended(f"Cancelled{by}", request)
        case state:
            status = _ended(_ENDED[state], request)
    return f"{status}{end_text(request)}" if request.is_open else status


_ENDED = {
    State.DONE: "Done",
    State.FAILED: "Failed",
    State.REFUSED: "Stopped",
    State.EXPIRED: "Expired",
}


def end_text(request: Request) -> str:
    """Return when the alias or the forwarding ends, or ""."""
    what = "alias" if request.change.action is Action.ALIAS_ADD else "forwarding"
    return f" The {what} ends {time_text(request.ends_at)}." if request.ends_at else ""


def blocked_text(request: Request) -> str:
    """Return what prevents progress, and when the bot gives up, or ""."""
    if not request.blocked or not request.is_open:
        return ""
    blocked = f" {text(request.blocked)} I'll try again."
    if request.state is State.NEW and request.decide_by:
        return f"{blocked} If that doesn't help, I'll give up {time_text(request.decide_by)}."
    if request.state in (State.APPROVED, State.EXECUTING):
        return f"{blocked} If that doesn't help, I'll give up after about an hour."
    return blocked


def _waiting(quorum: Sequence[Quorum], votes: Sequence[Vote] | None) -> str:
    needed = enumerate_items(
        [f"{count(one.approvals, 'approval')} from {plain(one.group)}" for one in quorum]
    )
    given = len(approvals_of(votes or ()))
    so_far = f" ({given} so far)" if given else ""
    return f"Waiting for {needed or 'approval'}{so_far}."


def _denied(votes: Sequence[Vote]) -> str:
    for vote in votes:
        if not vote.approves and vote.state is VoteState.COUNTED:
            why = f": {code(vote.reason)}" if vote.reason else ""
            return f"Denied by {mention(vote.voter)}{why}."
    return ""


def _ended(word: str, request: Request) -> str:
    at = f" {time_text(request.ended_at)}" if request.ended_at else ""
    result = f" {text(request.result)}" if request.result else ""
    return f"{word}{at}.{result}"
