# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The texts of reason codes and states. They reveal nothing about other people's mailboxes.

By default, a parameter is formatted as code in backticks, and a list as "`a`, `b` and `c`". A
format specification after a colon changes this: `n` for a number, `bare` for no backticks, `or` for
a list with "or", `sentence` for text from the policy or an error, `time` for a point in time,
`state` for a request's state, `quorum` for the number of approvals that a request needs, and
`reason` for the text of another reason.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any, NamedTuple

from postroom_bot.domain import Reason, State
from postroom_bot.ui import markup

_MAX_SENTENCE = 1000
_ASK_APPROVERS = "Ask {approvers} to add your mailbox to the policy."

#: The state of a request, as the predicate of a sentence.
PREDICATES: Mapping[str, str] = {
    State.NEW: "has not been evaluated yet",
    State.PENDING: "is waiting for approval",
    State.APPROVED: "is already approved",
    State.EXECUTING: "is already being executed",
    State.DONE: "is already done",
    State.FAILED: "has failed",
    State.REFUSED: "was stopped",
    State.DENIED: "was denied",
    State.EXPIRED: "has expired",
    State.CANCELLED: "was cancelled",
}
#: The state of a request that has ended, as the beginning of its status.
ENDED: Mapping[str, str] = {
    State.DONE: "Done",
    State.FAILED: "Failed",
    State.REFUSED: "Stopped",
    State.DENIED: "Denied",
    State.EXPIRED: "Expired",
    State.CANCELLED: "Cancelled",
}
#: The text of each reason code.
TEXTS: Mapping[str, str] = MappingProxyType(
    {
        # Who may use the bot, and who owns which mailbox.
        "person.elsewhere": "This bot only serves members of its own workspace.",
        "person.hidden": "Slack does not show your account to this bot.",
        "person.deactivated": "Your Slack account is deactivated.",
        "person.bot": "Bots can't use this bot.",
        "person.workflow": "Workflows can't use this bot.",
        "person.stranger": "Members of other organizations can't use this bot.",
        "person.guest": "Guests can't use this bot. Ask a colleague who is a full member.",
        "person.other_workspace": "Members of other workspaces can't use this bot.",
        "person.unknown_usergroup": "The policy names the user group {usergroup}, which does not "
        "exist in Slack. Ask an operator of this bot to correct the policy.",
        "mailbox.not_pinned": f"I don't know which mailbox is yours. {_ASK_APPROVERS}",
        "mailbox.no_email": "Your Slack profile has no email address that I can use. "
        + _ASK_APPROVERS,
        "mailbox.untrusted_domain": "The policy does not trust Slack addresses in your domain. "
        + _ASK_APPROVERS,
        "mailbox.unconfirmed": "The email address in your Slack profile is not confirmed. "
        + _ASK_APPROVERS,
        "mailbox.changed": "The email address in your Slack profile has changed. I can use the new "
        f"one from {{counts_from:time}}. {_ASK_APPROVERS}",
        "mailbox.pinned_to_another": "The policy assigns the email address in your Slack profile "
        f"to another Slack account. {_ASK_APPROVERS}",
        "mailbox.unnamed": "I don't know which mailbox is yours. Name it in the command.",
        "mailbox.unknown": "I don't know which mailbox is yours. Ask a mail administrator.",
        "mailbox.private": "You can only see your own mailbox. Ask a mail administrator.",
        "mailbox.missing": "There is no mailbox {mailbox}. Check the spelling.",
        "mailbox.not_a_mailbox": "{address} is not a mailbox here. Check the spelling.",
        "mailbox.busy": "Another change to this mailbox is in progress. Try again in a moment.",
        # Addresses, aliases and forwarders.
        "address.invalid": "{problem:sentence}",
        "address.not_normalized": "{address} is not in normalized form. Write {normalized}.",
        "address.taken": "{address} already delivers somewhere else. Ask an administrator.",
        "address.kept_free": "{address} was removed recently and is still reserved for its "
        "previous owner. Choose another address.",
        "address.reserved": "{address} is a reserved name, and no rule in the policy allows you to "
        "use it. Ask {approvers}.",
        "domain.foreign": "{domain} is not one of our mail domains. Check the spelling.",
        "domain.missing": "{domain} is not set up here. Check the spelling, or ask an "
        "administrator.",
        "alias.added": "{address} delivers to {mailbox}.",
        "alias.removed": "{address} no longer delivers to {mailbox}.",
        "alias.exists": "{address} already delivers to {mailbox}. There is nothing to do.",
        "alias.missing": "{address} is not an address of {mailbox}, so nothing was changed. "
        "`/email alias list` shows the addresses.",
        "alias.own_address": "{address} is the mailbox's own address and can't be removed.",
        "alias.no_mailbox": "{address}: no mailbox was given. Name the mailbox that it belongs to.",
        "forward.added": "Mail to {address} is forwarded to {destinations}.",
        "forward.reduced": "Mail to {address} is no longer forwarded to {destinations}.",
        "forward.removed": "Mail to {address} is no longer forwarded.",
        "forward.exists": "Mail to {address} is already forwarded to {destinations}. There is "
        "nothing to do.",
        "forward.missing": "Mail to {address} is not forwarded, so nothing was changed. "
        "`/email forward list` shows the forwarders.",
        "forward.missing_destinations": "Mail to {address} is not forwarded to {destinations}, so "
        "nothing was changed. `/email forward list` shows the forwarders.",
        "forward.no_destinations": "{address}: no destinations were given. Name at least one.",
        "forward.not_a_forwarder": "{address} is not a forwarder. Ask an administrator.",
        "forward.is_destination": "Another forwarder already sends mail to {address}, and "
        "forwarders can't be chained. Ask an administrator.",
        "forward.to_forwarder": "{destination} is a forwarder itself, and forwarders can't be "
        "chained. Name the final destination instead.",
        "forward.loop": "Forwarding to {destination} would create a loop. Name another "
        "destination.",
        "forward.missing_destination": "{destination} does not exist here. Check the spelling.",
        # Ends of aliases and forwarders.
        "end.required": "The policy requires an end date for this. Add `until YYYY-MM-DD`.",
        "end.too_late": "The policy allows this only with an end date until {latest:bare}. Add "
        "`until {latest:bare}`, or name an earlier day.",
        "end.passed": "That end date has passed. Choose a later one.",
        "end.replaced": "This alias or forwarding was extended or removed in the meantime. "
        "`/email status` lists your requests.",
        "end.not_later": "{address} already exists, and lasts until then or longer. To end it "
        "earlier, request its removal.",
        "end.extended": "The last day of {address} is now {day}.",
        # The policy's decisions.
        "policy.deny": "{text:sentence}",
        "policy.no_rule": "No rule in the policy allows this. Ask {approvers}.",
        "policy.no_approval": "No approval is needed.",
        "policy.approvals": "It needs {quorum:quorum}.",
        "policy.two_approvers": "It needs {quorum:quorum}: two people must always approve this.",
        "limit.open_requests": "You have {count:n} open requests, which is the limit. Wait until "
        "one is decided.",
        "limit.requests_per_day": "You have made {count:n} requests in 24 hours, which is the "
        "limit. Try again tomorrow.",
        "limit.aliases": "The mailbox has {count:n} aliases, which is the limit. Remove one first.",
        "warning.reserved": "{address} is a reserved name. Anyone who receives its mail can obtain "
        "certificates for the domain or act in its name.",
        "warning.sensitive": "{address} has a name that people trust, or one that looks like it.",
        "warning.external": "Mail to {address} would be forwarded outside our domains, to "
        "{destinations}.",
        "warning.password": "This is the password of another person's mailbox.",
        "warning.no_owner": "No Slack user is known to own {mailbox}, so its owner will not be "
        "notified.",
        # Requests.
        "request.unknown": "You have no request {request:bare}. `/email status` lists your "
        "requests.",
        "request.received": "I have already received this request. `/email status` shows its "
        "state.",
        "request.duplicate": "You already asked for this: {request:bare}.",
        "request.not_pending": "Request {request:bare} {state:state}.",
        "request.cancelled": "Request {request:bare} is cancelled.",
        "request.not_cancellable": "Request {request:bare} {state:state}, so it can't be "
        "cancelled.",
        "request.cancelled_by_operator": "An operator of this bot cancelled it.",
        "request.denied": "Reason: {reason}.",
        "request.edited": "The request was changed in the database after it was made. Tell the "
        "operators of this bot.",
        "request.requester_changed": "The requester's account changed after the request was made. "
        "Make a new request.",
        "request.approvers_changed": "One of the approvers is no longer allowed to approve this. "
        "Make a new request.",
        "request.policy_changed": "The policy changed after the request was made. Make a new "
        "request.",
        "request.now_denied": "The policy no longer allows this. {why:reason}",
        "request.maybe_executed": "{why:reason} The change may already have been made.",
        "request.not_evaluated": "The request could not be evaluated in time. Make a new request.",
        "request.gave_up": "The change could not be made, even after many attempts. Try again "
        "later.",
        "request.gave_up_unsure": "The change could not be completed, even after many attempts. "
        "Part of it may have been made. Try again later.",
        "request.no_card": "The request can't be posted to the channel where it would be approved. "
        "Tell the operators of this bot.",
        # Votes.
        "vote.received": "Your answer was received. You will get a message if it does not count.",
        "vote.repeated": "You have already answered this request.",
        "vote.wrong_card": "This is not the request's current card, so nothing was done. Use the "
        "latest card.",
        "vote.own_request": "You asked for this, so someone else has to approve it.",
        "vote.too_late": "The request had expired when you answered.",
        "vote.same_person": "You have already approved this with another Slack account.",
        "vote.not_an_approver": "Only members of {groups:or} can answer this request.",
        # Passwords.
        "password.not_yours": "This is not your mailbox, so you can't create its password here.",
        "password.not_a_mailbox": "That is not one of our mailboxes. I did not store what you "
        "typed. If it is a password, change it now. Never type a password in Slack.",
        "password.no_owner": "I don't know which Slack user owns {mailbox}, so the password could "
        "not be shown to anyone.",
        "password.needs_approval": "A new password for {mailbox} needs approval.",
        "password.in_progress": "The password is already being created. If you don't see it, "
        "request a new one.",
        "password.unknown_outcome": "The mail service did not confirm the new password. Create "
        "another one.",
        "password.no_notice": "The notice about the new password could not be sent to the mailbox, "
        "so the password was not changed. Try again later, or ask an administrator.",
        "password.shown": "A new password was created and shown once.",
        "password.not_shown": "Slack did not show the new password, and the previous one no longer "
        "works.",
        "password.not_shown_retry": "Slack did not show the new password, and the previous one no "
        "longer works. Use `/email password` to create another.",
        "password.create_another": "Use `/email password` to create another.",
        "password.interrupted": "The bot stopped while it was creating a new password, so the "
        "previous one may no longer work.",
        "password.never_shown": "The new password was not shown, and the previous one may no "
        "longer work. Make a new request.",
        "password.not_offered": "Request {request:bare} {state:state}, so no password can be "
        "created for it.",
        "password.offer_expired": "Request {request:bare} has expired, so no password can be "
        "created for it.",
        # Slack, the mail service and AWX.
        "slack.unavailable": "Slack is not responding properly right now. Try again in a minute.",
        "mail.overloaded": "Too many people are waiting for the mail service. Try again in a "
        "minute.",
        "mail.unavailable": "The mail service is not responding properly right now.",
        "mail.unauthorized": "The mail service does not accept the bot's token. Ask an "
        "administrator.",
        "mail.rejected": "The mail service rejected the request for {subject}. Ask an "
        "administrator.",
        "mail.not_found": "The mailbox, forwarder or domain no longer exists. Check the names and "
        "make a new request.",
        "awx.unavailable": "The automation is not responding properly right now.",
        "awx.unauthorized": "The automation does not accept the bot's login. Ask an administrator.",
        "awx.misconfigured": "The automation is not set up for this. Ask an administrator.",
        "awx.running": "The automation is still running.",
        "awx.failed": "The automation failed.",
        "awx.canceled": "The automation was canceled. Ask an administrator.",
        "awx.rejected": "The automation rejected this change. Ask an administrator.",
        "awx.unsafe_address": "The automation can't process one of the addresses. Ask an "
        "administrator.",
        "retry.later": "{why:reason} Try again in a few minutes.",
    }
)

_DATE = re.compile(r"<!date\^[^|>]*\|([^>]*)>")

_FORMS: Mapping[str, Callable[[Any], str]] = MappingProxyType(
    {
        "": lambda value: markup.enumerate_items(
            [markup.code(str(one)) for one in ([value] if isinstance(value, str) else value)]
        ),
        "n": lambda number: str(int(number)),
        "bare": lambda name: markup.escaped_line(str(name)),
        "or": lambda names: " or ".join(map(markup.code, names)),
        "sentence": lambda text: markup.escape(markup.one_line(str(text), _MAX_SENTENCE)),
        "time": lambda at: markup.time(datetime.fromisoformat(at)),
        "state": PREDICATES.__getitem__,
        "quorum": lambda quorum: markup.enumerate_items(
            [f"{markup.count(n, 'approval')} from {markup.code(group)}" for group, n in quorum]
        ),
        "reason": lambda reason: reason_text(Reason(*reason)),
    }
)


class _Parameter(NamedTuple):
    """A template parameter whose format specification selects an entry of `_FORMS`."""

    value: Any

    def __format__(self, form: str) -> str:
        return _FORMS[form](self.value)


def reason_text(reason: Reason) -> str:
    """Return a reason as Slack markup, or its code and parameters if the code is unknown."""
    template = TEXTS.get(reason.code)
    if template is None:
        return markup.code(str(reason))
    return template.format_map({name: _Parameter(v) for name, v in reason.params.items()})


def plain_reason_text(reason: Reason) -> str:
    """Return a reason as plain text, for output without markup, such as a terminal or a form."""
    return html.unescape(_DATE.sub(r"\1", reason_text(reason)).replace("`", ""))
