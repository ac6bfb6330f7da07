# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What requests are about and how they stand, in sentences that messages and views share.

Each sentence is written once and said in two styles: as markup for people who look at it, and plain
for a message's text, which screen readers and notifications read out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from postroom_bot.domain import Action, Change, Quorum, Request, State, Vote, VoteState
from postroom_bot.ui import markup
from postroom_bot.ui.markup import counted, listed

#: What the requester's own mailbox is called where it is not known.
OWN = "their own mailbox"
YOURS = "your own mailbox"

# More than these in a sentence, and nobody reads it.
_INLINE = 2
_MAX_NAME = 80


class Style(NamedTuple):
    """How the parts of a sentence are said; each function returns finished text.

    :param quote: an address, a name or what somebody typed
    :param person: a Slack user
    :param sentence: a sentence that a row holds
    :param time: a time
    :param strong: finished text that is to catch the eye
    """

    quote: Callable[[str], str]
    person: Callable[[str], str]
    sentence: Callable[[str], str]
    time: Callable[[datetime], str]
    strong: Callable[[str], str]


MARKUP = Style(markup.address, markup.mention, markup.sentence, markup.when, "*{}*".format)


def plain(names: Mapping[str, str]) -> Style:
    """Return the style of what is read out.

    :param names: from Slack users' ids, their names; of others Slack tells it
    """

    def person(user: str) -> str:
        name = markup.one_line(names.get(user, ""), _MAX_NAME)
        return markup.escape(name) if name else markup.mention(user)

    def sentence(text: str) -> str:
        return markup.sentence(text.replace("`", ""))

    return Style(markup.bare, person, sentence, markup.utc, "{}".format)


PLAIN = plain({})


def title(request: Request, style: Style) -> str:
    """Return what a request is called."""
    return f"Request {style.strong(markup.escape(request.id))}"


def headline(request: Request, style: Style) -> str:
    """Return which request it is and what it is about, for the requester."""
    why = ", since its last day has passed" if request.origin == "expiry" else ""
    return f"{title(request, style)}: {deed(request, style, YOURS)}{why}."


def deed(request: Request, style: Style, own: str = OWN) -> str:
    """Return what a request is about, such as "add sales@example.com to alice@example.com"."""
    return deed_of(request.change, request.requester_mailbox, style, own)


def deed_of(change: Change, requester_mailbox: str | None, style: Style, own: str = OWN) -> str:
    """Return what a wish is about; see `deed`."""
    target = style.quote(change.target)
    holder = change.mailbox or requester_mailbox
    mailbox = style.quote(holder) if holder else own
    until = f" until {change.expires_on.isoformat()}" if change.expires_on else ""
    match change.action:
        case Action.ALIAS_ADD:
            return f"add {target} to {mailbox}{until}"
        case Action.ALIAS_REMOVE:
            return f"remove {target} from {mailbox}"
        case Action.FORWARD_ADD:
            return f"forward {target} to {_destinations(change, style)}{until}"
        case Action.FORWARD_REMOVE if change.destinations:
            return f"no longer forward {target} to {_destinations(change, style)}"
        case Action.FORWARD_REMOVE:
            return f"no longer forward {target} to anybody"
        case Action.PASSWORD:
            return f"make a new password for {target if change.target else mailbox}"


def _destinations(change: Change, style: Style) -> str:
    if len(change.destinations) <= _INLINE:
        return listed([style.quote(one) for one in change.destinations])
    return f"{len(change.destinations)} addresses"


def all_destinations(change: Change, style: Style) -> list[str]:
    """Return each destination that `deed` only counts, as a line."""
    if len(change.destinations) <= _INLINE:
        return []
    return [f"Destination: {style.quote(one)}." for one in change.destinations]


def needs(quorum: Sequence[Quorum]) -> str:
    """Return such as "1 approval from mail-admins and 2 approvals from security"."""
    return listed(
        [f"{counted(one.approvals, 'approval')} from {markup.bare(one.group)}" for one in quorum]
    )


def approvals(votes: Sequence[Vote]) -> list[Vote]:
    """Return those that count, oldest first."""
    return sorted(
        (vote for vote in votes if vote.approves and vote.state is VoteState.COUNTED),
        key=lambda vote: vote.at,
    )


def approved(request: Request, votes: Sequence[Vote], style: Style) -> list[str]:
    """Return such as "Approved by Bob (1 of 2)." for each approval."""
    of = request.approvals_needed
    return [
        f"Approved by {style.person(vote.voter)} ({place} of {of})."
        for place, vote in enumerate(approvals(votes), 1)
    ]


def status_text(request: Request, votes: Sequence[Vote] | None, style: Style) -> str:
    """Return how a request stands, in a sentence or two.

    :param votes: None where they have not been looked at, and nothing is said of them
    """
    end = ending(request, style) if request.is_open else ""
    return _status_text(request, votes, style) + end


def ending(request: Request, style: Style) -> str:
    """Return when what a request brings ends again, or ""."""
    what = "alias" if request.change.action is Action.ALIAS_ADD else "forwarding"
    return f" The {what} ends {style.time(request.ends_at)}." if request.ends_at else ""


def _status_text(request: Request, votes: Sequence[Vote] | None, style: Style) -> str:
    match request.state:
        case State.PENDING:
            return f"{_waiting(request, votes)}{_expiry(request, style)}"
        case State.DENIED:
            return _denied(votes or (), style) or _ended("Denied", request, style)
        case State.APPROVED if request.change.action is Action.PASSWORD:
            # After a try that failed, the result says why.
            again = f" {style.sentence(request.result)}" if request.result else ""
            return f"Approved; waiting for the owner to make it.{again}"
        case State.CANCELLED:
            by = "" if request.result else " by the requester"
            return _ended(f"Cancelled{by}", request, style)
        case state if state in _ENDS:
            return _ended(_ENDS[state], request, style)
        case state:
            return _ON_THE_WAY[state]


def in_the_way(request: Request, style: Style) -> str:
    """Return what keeps a request from going on, and when it ends if that lasts, or ""."""
    if not request.trouble or not request.is_open:
        return ""
    told = f" {style.sentence(request.trouble)} I will try again."
    if request.state is State.NEW and request.expires_at:
        return f"{told} Unless that changes, I give up {style.time(request.expires_at)}."
    if request.state in (State.APPROVED, State.EXECUTING):
        return f"{told} Unless that changes, I give up after about an hour of tries."
    return told


_ON_THE_WAY = {
    State.NEW: "It is being looked into.",
    State.APPROVED: "Approved.",
    State.EXECUTING: "Approved; it is being carried out.",
}
_ENDS = {
    State.DONE: "Done",
    State.FAILED: "Failed",
    State.REFUSED: "Stopped",
    State.EXPIRED: "Expired",
}


def _waiting(request: Request, votes: Sequence[Vote] | None) -> str:
    wanted = needs(request.quorum) or "approval"
    if votes is None:
        return f"It needs {wanted}."
    so_far = len(approvals(votes))
    return f"It needs {wanted}, and has {so_far} so far." if so_far else f"Waiting for {wanted}."


def _expiry(request: Request, style: Style) -> str:
    return f" It expires {style.time(request.expires_at)}." if request.expires_at else ""


def _denied(votes: Sequence[Vote], style: Style) -> str:
    for vote in votes:
        if not vote.approves and vote.state is VoteState.COUNTED:
            why = f": {style.quote(vote.reason)}" if vote.reason else ""
            return f"Denied by {style.person(vote.voter)}{why}."
    return ""


def _ended(word: str, request: Request, style: Style) -> str:
    result = f" {style.sentence(request.result)}" if request.result else ""
    return f"{word}{_time(request, style)}.{result}"


def _time(request: Request, style: Style) -> str:
    return f" {style.time(request.ended_at)}" if request.ended_at else ""
