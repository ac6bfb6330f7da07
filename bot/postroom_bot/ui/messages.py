# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The messages about requests (cards, notifications and replies), and the lists that users request.

Lists are visible only to the person who requested them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from postroom_bot.domain import END_OF_CHANGE, Action, Reason, Request, State, Vote, VoteState
from postroom_bot.ui.markup import (
    TEXT_LIMIT,
    Block,
    Message,
    button,
    code,
    count,
    cut,
    enumerate_items,
    escape,
    escaped_line,
    mention,
    mentions,
    message,
    one_line,
    section,
    verbatim,
)
from postroom_bot.ui.markup import time as time_text
from postroom_bot.ui.parser import COMMAND, help_lines
from postroom_bot.ui.reason_texts import ENDED, reason_text

# The action ids of buttons whose value is a request's id.
REQUEST_APPROVE = "request_approve"
REQUEST_DENY = "request_deny"
REQUEST_CANCEL = "request_cancel"
REQUEST_EXTEND = "request_extend"
PASSWORD_SHOW = "password_show"  # noqa: S105 - the name of a button

_OWN_MAILBOX = "your own mailbox"
# The maximum number of destinations that a sentence lists.
_MAX_NAMED = 2
_MAX_RECORDS = 20
_MAX_VALUE = 3000
# Characters to reserve for the line that counts the omitted items.
_ROOM = 40


def title(request: Request) -> str:
    """Return the title of a request: the word "Request" and the request's id."""
    return f"Request *{escape(request.id)}*"


def headline(request: Request) -> str:
    """Return a headline for the requester, with the request's id and the change."""
    why = ", because its last day has passed" if request.origin == END_OF_CHANGE else ""
    return f"{title(request)}: {change_text(request, _OWN_MAILBOX)}{why}."


def change_text(request: Request, own: str = "their own mailbox") -> str:
    """Describe the requested change, such as "add sales@example.com to alice@example.com".

    :param own: the name for the requester's mailbox if its address is not known yet
    """
    change = request.change
    target = code(change.target)
    holder = change.mailbox or request.requester_mailbox
    mailbox = code(holder) if holder else own
    until = f" until {change.last_day.isoformat()}" if change.last_day else ""
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
    """Return a line per destination if `change_text` states only the number of destinations."""
    destinations = request.change.destinations
    if len(destinations) <= _MAX_NAMED:
        return []
    return [f"Destination: {code(one)}." for one in destinations]


def approved_by(request: Request, votes: Sequence[Vote]) -> list[str]:
    """Return a line such as "Approved by Bob (1 of 2)." for each counted approval, oldest first."""
    approvals = [vote for vote in votes if vote.approves and vote.state is VoteState.COUNTED]
    needed = sum(one.approvals for one in request.quorum)
    return [
        f"Approved by {mention(vote.voter)} ({place} of {needed})."
        for place, vote in enumerate(sorted(approvals, key=lambda vote: vote.at), 1)
    ]


def status_text(request: Request, votes: Sequence[Vote] = ()) -> str:
    """Describe the request's state in one or two sentences."""
    result = f" {reason_text(request.result)}" if request.result else ""
    match request.state:
        case State.NEW:
            status = "Checking."
        case State.PENDING:
            needed = [
                f"{count(one.approvals, 'approval')} from {escaped_line(one.group)}"
                for one in request.quorum
            ]
            given = len(approved_by(request, votes))
            so_far = f" ({given} so far)" if given else ""
            expiry = f" It expires {time_text(request.decide_by)}." if request.decide_by else ""
            status = f"Waiting for {enumerate_items(needed) or 'approval'}{so_far}.{expiry}"
        case State.APPROVED if request.change.action is Action.PASSWORD:
            # If an earlier attempt failed, the result contains the reason.
            status = f"Approved. Waiting for the mailbox's owner to create the password.{result}"
        case State.APPROVED:
            status = "Approved."
        case State.EXECUTING:
            status = "Approved, in progress."
        case ended:
            denials = [
                vote for vote in votes if not vote.approves and vote.state is VoteState.COUNTED
            ]
            if ended is State.DENIED and denials:
                why = f": {code(denials[0].justification)}" if denials[0].justification else ""
                return f"Denied by {mention(denials[0].voter)}{why}."
            by = " by the requester" if ended is State.CANCELLED and not result else ""
            at = f" {time_text(request.closed_at)}" if request.closed_at else ""
            return f"{ENDED[ended]}{by}{at}.{result}"
    return f"{status}{end_text(request)}"


def end_text(request: Request) -> str:
    """Return a sentence that states when the alias or forwarding ends, or "" if it doesn't."""
    what = "alias" if request.change.action is Action.ALIAS_ADD else "forwarding"
    return f" The {what} ends {time_text(request.removal_at)}." if request.removal_at else ""


def summary(request: Request, votes: Sequence[Vote] = ()) -> str:
    """Return a summary for the requester: the request's id, change and state, and any delay."""
    status = f"{headline(request)} {status_text(request, votes)}"
    if not request.blocked or not request.is_open:
        return status
    status += f" {reason_text(request.blocked)} I'll try again."
    if request.state is State.NEW and request.decide_by:
        status += f" If that doesn't help, I'll give up {time_text(request.decide_by)}."
    elif request.state in (State.APPROVED, State.EXECUTING) and request.origin != END_OF_CHANGE:
        status += " If that doesn't help, I'll give up after about an hour."
    return status


def card(request: Request, votes: Sequence[Vote], *, approvers: Sequence[str] = ()) -> Message:
    """Return a request's card, which has buttons while the request is pending.

    :param approvers: the ids of Slack users and user groups to mention while it is pending
    """
    lines = [*asks(request), *approved_by(request, votes)]
    lines.append(f"{title(request)}: {status_text(request, votes)}")
    if request.state is not State.PENDING:
        return message(lines)
    lines.append(mentions(approvers))
    return message(lines, *vote_buttons(request))


def asks(request: Request) -> list[str]:
    """Return the lines that an approver decides on: who asks for what, and why."""
    who = _requester(request)
    lines = [f"{who} asks to {change_text(request)}."]
    if request.origin == END_OF_CHANGE:
        lines = [f"The end date that {who} chose has passed: {change_text(request)}."]
    lines += all_destinations(request)
    if request.change.justification:
        lines.append(f"Reason: {code(request.change.justification)}.")
    return lines + [f"*Warning:* {reason_text(warning)}" for warning in request.warnings]


def vote_buttons(request: Request) -> tuple[Block, Block]:
    """Return the buttons that approve and deny a pending request."""
    number = request.id
    about = f"Deny request {number} and give a reason"
    return (
        button("Approve", REQUEST_APPROVE, f"Approve request {number}", number, "primary"),
        button("Deny", REQUEST_DENY, about, number, "danger"),
    )


def decision(request: Request, votes: Sequence[Vote] = ()) -> Message:
    """Return the reply in the card's thread about a decision or its result."""
    status = f"{title(request)}: {status_text(request, votes)}"
    return message([*approved_by(request, votes), status])


def received(request: Request) -> Message:
    """Return the confirmation that a request was received."""
    status = f"`{COMMAND} status {escape(request.id)}` shows its status."
    return message([headline(request), "Got it. I'll message you when it's done.", status])


def status_message(request: Request, votes: Sequence[Vote] = ()) -> Message:
    """Return a request's state for the requester, with a Cancel button if the request is pending.

    For an approved password request, the message is for the mailbox's owner and has a button to
    create the password.
    """
    is_password = request.change.action is Action.PASSWORD
    status = summary(request, votes)
    if request.state is State.DONE:
        status += end_text(request)
    if is_password and not request.quorum and request.state is State.FAILED:
        status += f" {reason_text(Reason('password.create_another'))}"
    if request.state is State.PENDING:
        return message([status], cancel_button(request))
    if is_password and request.state is State.APPROVED:
        status += f" {mention(request.requester)} asked for it."
        ready = "Create the password when you are ready to copy it. It is shown once, only to you."
        about = f"Create the new password for request {request.id} (asks for confirmation)"
        create = button("Create password", PASSWORD_SHOW, about, request.id, "primary")
        return message([status, ready], create)
    return message([status])


def cancel_button(request: Request) -> Block:
    """Return the button that cancels a request."""
    return button("Cancel", REQUEST_CANCEL, f"Cancel request {request.id}", value=request.id)


def reminder(
    request: Request, votes: Sequence[Vote] = (), *, link: str, approvers: Sequence[str] = ()
) -> Message:
    """Return the reminder to the approvers of a pending request."""
    return message(
        [
            mentions(approvers),
            f"{title(request)} is still waiting: {change_text(request)}.",
            status_text(request, votes),
            f"Approve or deny it on <{escape(link)}|its card>.",
        ]
    )


def end_notice(request: Request) -> Message:
    """Return the notice to the requester that an alias or a forwarder is about to end."""
    about = f"Ask for 30 more days for request {request.id}"
    extend = button("Extend by 30 days", REQUEST_EXTEND, about, request.id)
    return message([f"{headline(request)}{end_text(request)}"], extend)


def password_notice(request: Request, votes: Sequence[Vote] = ()) -> Message:
    """Return the notice to a mailbox's owner about a new password and who requested it."""
    mailbox = code(request.change.target or request.requester_mailbox or "")
    who = mention(request.requester)
    if request.change.target in ("", request.requester_mailbox):
        who = f"Your Slack account ({who})"
    return message(
        [
            f"The password of your mailbox {mailbox} was changed. {who} requested this.",
            *approved_by(request, votes),
            f"The previous password no longer works. {title(request)}.",
            "If you did not expect this, tell your mail administrators immediately.",
        ]
    )


def change_notice(request: Request, votes: Sequence[Vote] = ()) -> Message:
    """Return the notice of a completed request, for the audit channel or the mailbox's owner."""
    rule = [f"Rule: {code(request.rule)}."] if request.rule else []
    return message(
        [
            f"{title(request)} by {_requester(request)}: {change_text(request)}.",
            *all_destinations(request),
            *approved_by(request, votes),
            status_text(request, votes),
            *rule,
        ]
    )


def _requester(request: Request) -> str:
    mailbox = request.requester_mailbox
    return mention(request.requester) + (f" ({code(mailbox)})" if mailbox else "")


def command_list() -> Message:
    """List the commands."""
    return Message(_bounded(help_lines()))


def alias_list(mailbox: str, aliases: Sequence[str]) -> Message:
    """List the addresses of a mailbox."""
    if not aliases:
        return Message(f"{code(mailbox)} has no other addresses.")
    head = f"{code(mailbox)} has {count(len(aliases), 'other address', 'other addresses')}:"
    return Message(_bounded([head, *map(code, sorted(aliases))]))


def forward_list(forwards: Sequence[tuple[str, Sequence[str]]]) -> Message:
    """List the forwarders, each with its destinations."""
    if not forwards:
        return Message("No address is forwarded.")
    return Message(
        _bounded(
            f"{code(source)} forwards to "
            f"{enumerate_items([code(one) for one in sorted(destinations)]) or 'no address'}."
            for source, destinations in sorted(forwards)
        )
    )


def request_list(requests: Sequence[Request]) -> Message:
    """List the person's requests in the given order."""
    if not requests:
        return Message("You have no requests.")
    return Message(_bounded(map(summary, requests)))


def dns_records(domain: str, records: Sequence[Mapping[str, Any]]) -> Message:
    """List the DNS records that a domain needs, with values that can be copied.

    :param records: mappings with ``type``, ``value``, ``host`` (relative to the domain) and, for
        MX records, ``priority``
    """
    if not records:
        return Message(f"{code(domain)} needs no DNS records.")
    text = [f"{code(domain)} needs {count(len(records), 'DNS record')}."]
    blocks = [section(text[0])]
    for record in records[:_MAX_RECORDS]:
        priority = f", priority {record['priority']}" if "priority" in record else ""
        head = f"{escaped_line(record['type'])} record for {code(record['host'])}{priority}:"
        text.append(f"{head} {code(record['value'])}")
        blocks += [section(head), verbatim(one_line(record["value"], _MAX_VALUE))]
    if len(records) > _MAX_RECORDS:
        more = f"Only the first {_MAX_RECORDS} are shown."
        text.append(more)
        blocks.append(section(more))
    return Message(_bounded(text), blocks)


def _bounded(lines: Iterable[str]) -> str:
    """Join as many lines as fit into a message, and append the number of omitted lines."""
    waiting = list(lines)
    kept: list[str] = []
    room = TEXT_LIMIT - _ROOM
    while waiting and len(waiting[0]) < room:
        room -= len(waiting[0]) + 1
        kept.append(waiting.pop(0))
    if waiting:
        kept.append(f"And {len(waiting)} more.")
    return cut("\n".join(kept), TEXT_LIMIT)
