# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What the work says: to whoever handed something in, and as the result that a request keeps.

Plain sentences, in which backticks set off addresses; whoever puts them into a message escapes
them. None tells anything of other people's mailboxes.
"""

from __future__ import annotations

from postroom_bot.domain import Action, Change, Request, State
from postroom_bot.errors import Unavailable

ELSEWHERE = "This bot only serves people of its own workspace."
TAKEN = "I have this already; `/email status` shows what became of it."
VOTE_TAKEN = "I have your answer. If it does not count, I will write to you."
NOTHING_TO_EXTEND = "A later request has extended or removed this. `/email status` shows yours."
VOTED_ALREADY = "You have answered this request already."
WRONG_CARD = "This is not the request's own card, so I did nothing. Use the latest card."
OWN_REQUEST = "You asked for this, so someone else has to approve it."
VOTED_LATE = "The request had expired when you answered."
SAME_PERSON = "You have approved this already, with another Slack account."

EDITED = "The request was changed in the database after it was asked for. Tell those who run me."
REQUESTER_CHANGED = "The requester's account changed since it was asked for. Ask again."
APPROVERS_CHANGED = "Somebody who approved it may not do so any more. Ask again."
POLICY_CHANGED = "The policy changed since it was asked for. Ask again."
TOO_LONG = "I could not look at it in time. Ask again."
DAY_OVER = "That end date has passed. Name a later one."
BY_OPERATOR = "An operator of the bot cancelled it."
GAVE_UP = "The mail service did not take it, however often I tried. Ask again later."
NO_CARD = "I can't post it where it would be approved. Tell those who run me."

SLACK_DOWN = "Slack does not tell me who you are right now. Try again in a moment."
TOO_MANY = "Too many people are waiting for the mail service right now. Try again in a minute."
NOT_YOUR_MAILBOX = "This is not your mailbox, so you can't make its password here."
NO_SUCH_MAILBOX = (
    "That is no mailbox of ours; I kept nothing of it. If it is a password, change it now, and "
    "never type one in Slack."
)
NOT_YOURS_TO_SEE = "You can only see your own mailbox. Ask a mail administrator."
NO_MAILBOX_OF_YOURS = "I do not know which mailbox is yours. Ask a mail administrator."
PRESSED_TWICE = "I am making it already. If you see no password, ask for a new one."
MAILBOX_BUSY = "Something else is being done to this mailbox. Try again in a moment."
PRESS_AGAIN = "The mail service did not say whether it took the password. Make another one."
MADE = "A new password was made and shown once."
NOT_SHOWN = "Slack did not show the new password, and the previous one no longer works."
ABANDONED = "I was stopped while I made a new password, so the previous one may no longer work."
NEVER_SHOWN = "The new password was not shown; the previous one may no longer work. Ask again."

_ENDS = {
    State.PENDING: "waits for approval",
    State.APPROVED: "is approved already",
    State.EXECUTING: "is being carried out already",
    State.DONE: "is done already",
    State.FAILED: "has failed",
    State.REFUSED: "has been stopped",
    State.DENIED: "has been denied already",
    State.EXPIRED: "has expired",
    State.CANCELLED: "has been cancelled",
}


def try_again(trouble: Unavailable) -> str:
    """Tell what is in the way of somebody for whom the bot does not try again by itself."""
    return str(trouble) if trouble.lasting else f"{trouble} Try again in a few minutes."


def twin(request_id: str) -> str:
    """Tell that the same is being asked for already."""
    return f"You already asked for this: {request_id}."


def unknown(request_id: str) -> str:
    """Tell that the person has no such request, whether or not somebody else has."""
    return f"You have no request {request_id}; `/email status` lists yours."


def not_waiting(request: Request) -> str:
    """Tell why a request waits for nobody's answer."""
    return f"Request {request.id} {_ENDS.get(request.state, 'is not ready yet')}."


def cancelled(request: Request) -> str:
    """Tell that a request is cancelled."""
    return f"Request {request.id} is cancelled."


def too_late(request: Request) -> str:
    """Tell that a request can't be cancelled."""
    how = _ENDS[State.EXECUTING] if request.is_open else _ENDS[request.state]
    return f"Request {request.id} {how}, so it can't be cancelled."


def not_an_approver(request: Request) -> str:
    """Tell who may answer a request."""
    groups = " or ".join(f"`{one.group}`" for one in request.quorum)
    return f"Only members of {groups} can answer this request."


def now_denied(reason: str) -> str:
    """Tell that the policy says no now, and why."""
    return f"The answer is no by now: {reason}"


def stopped(why: str, *, begun: bool) -> str:
    """Tell why it was not carried out, or not again."""
    return f"{why} It may have been carried out before I saw that." if begun else why


def no_mailbox(name: str) -> str:
    """Tell that nothing has this name, or nothing that has a password."""
    return f"There is no mailbox `{name}`. Check the spelling."


def nothing_to_do(change: Change) -> str:
    """Tell that all is as it was asked for."""
    named = ", ".join(f"`{one}`" for one in change.destinations)
    match change.action:
        case Action.ALIAS_ADD:
            there = f"`{change.target}` delivers to `{change.mailbox}` already."
        case Action.FORWARD_ADD:
            there = f"Mail to `{change.target}` goes on to {named} already."
        case Action.ALIAS_REMOVE:
            not_there = f"`{change.target}` is not one of `{change.mailbox}`'s addresses"
            shows = f"`/email alias list {change.mailbox}` shows them."
            return f"{not_there}, so nothing was changed. {shows}"
        case _:
            not_there = (
                f"Mail to `{change.target}` is not forwarded{f' to {named}' if named else ''}"
            )
            return f"{not_there}, so nothing was changed. `/email forward list` shows what is."
    return f"{there} There is nothing to do."


def has_no_end(alias: str) -> str:
    """Tell that an alias which is there without an end is not given one."""
    return f"`{alias}` is there already, without an end. Ask for it to be removed instead."


def no_owner(mailbox: str) -> str:
    """Tell that a password could be shown to nobody."""
    return f"I do not know whose `{mailbox}` is in Slack, so I could show the password to nobody."


def ask_for_password(mailbox: str) -> str:
    """Tell that a password has to be asked for."""
    return f"A new password for `{mailbox}` has to be approved first."


def no_longer_offered(request: Request) -> str:
    """Tell why no password can be made for a request."""
    end = "has expired" if request.state is State.APPROVED else _ENDS.get(request.state, "is new")
    return f"Request {request.id} {end}, so no password can be made for it."
