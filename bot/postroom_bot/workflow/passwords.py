# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Create new passwords for mailbox owners, show each password once, and never store it.

People can create a password for their own mailbox immediately if the policy allows it. For another
mailbox, a request must be approved first, and then only the mailbox's owner can create the
password. Before a password is set, a notice is sent to the mailbox by email, if the settings name
an SMTP server. A password exists only in memory, and only until it is shown. It is never written to
the database, a log or an error message.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from contextlib import suppress

from pydantic import SecretStr

from postroom_bot.addresses import domain_of
from postroom_bot.domain import (
    Action,
    Change,
    Decision,
    Interaction,
    Person,
    Reason,
    Request,
    State,
    Verdict,
)
from postroom_bot.errors import (
    Forbidden,
    LeaseLost,
    Rejected,
    SlackRejected,
    SlackUnavailable,
    Unavailable,
    UserError,
)
from postroom_bot.store import audit, idempotency_keys, requests, sent_notifications
from postroom_bot.workflow.dependencies import Dependencies
from postroom_bot.workflow.leased_request import LeasedRequest, lease_request, new_lease_holder
from postroom_bot.workflow.policy_decisions import current_decision, decision_fields, recheck
from postroom_common.database import Connection

#: Letters and digits that can't be confused with each other.
ALPHABET = "abcdefghjkmnpqrstuvwxyz23456789"
GROUPS = 6
GROUP_LENGTH = 4

#: How many times to try to lease a request, and the seconds between attempts. A person may press
#: the button before the worker has sent all notifications and released the request.
LEASE_ATTEMPTS = 20
RETRY_DELAY_SECONDS = 0.25


class NeedsApproval(UserError):
    """A new password for the mailbox requires an approved request."""


class RepeatedDelivery(UserError):
    """Slack has repeated a button press. The handler of the first delivery updates the modal."""


class NotShown(UserError):
    """The password was set, but Slack did not show it."""


#: A function that shows a password to the owner; may raise SlackUnavailable or SlackRejected.
Show = Callable[[SecretStr], None]


def new_password() -> str:
    """Return a random password of about 118 bits that is easy to type, such as ``k7md-...``."""
    groups = ("".join(secrets.choice(ALPHABET) for _ in range(GROUP_LENGTH)) for _ in range(GROUPS))
    return "-".join(groups)


def authorize(
    deps: Dependencies, interaction: Interaction, mailbox: str | None, request_id: str | None
) -> str:
    """Return the mailbox for which this person may create a password now. Nothing is written.

    :param mailbox: the requested mailbox; None for the person's own
    :param request_id: the id of an approved request, whose mailbox is used instead
    :raises NeedsApproval: if the password requires an approved request
    :raises UserError: if the person may not create the password, or too many people are waiting
    :raises SlackUnavailable or SlackRejected: if Slack can't confirm the person's account
    :raises Unavailable: if the mail service does not respond
    """
    with deps.mail_slot():
        person = deps.people.caller(interaction, fresh=True)
        if request_id is not None:
            found = deps.database.read(lambda c: requests.get(c, request_id))
            return _require_approved(deps, found, person).change.target
        change = Change(Action.PASSWORD, mailbox or person.mailbox or "")
        name = change.target
        # Check the name before it is stored, because it may be a password typed by mistake.
        if mailbox not in (None, person.mailbox) and (
            domain_of(name) not in deps.mail.domains() or deps.mail.aliases(name) is None
        ):
            raise UserError("password.not_a_mailbox")
        _require_allowed(deps, person, change)
        return name


def create_and_show(
    deps: Dependencies, interaction: Interaction, mailbox: str, request_id: str | None, show: Show
) -> None:
    """Create, set and show a password, at most once for each key, and complete the request.

    :param mailbox: the mailbox that `authorize` returned
    :raises RepeatedDelivery: if the key was used before
    :raises NotShown: if the password was set but not shown; pressing the button again creates a
        new password
    :raises UserError: if the person may not create the password, the mailbox is busy, or the mail
        service did not confirm the password
    :raises Rejected: if the mail service rejected the password
    :raises SlackUnavailable or SlackRejected: if Slack can't confirm the person's account
    :raises Unavailable: if the mail service does not respond before the password is set
    """
    try:
        with deps.mail_slot():
            person = deps.people.caller(interaction, fresh=True)
            if person.mailbox != mailbox:
                raise Forbidden("password.not_yours")
            if request_id is None:
                leased = _begin_own(deps, interaction.key, person)
            else:
                leased = _begin_approved(deps, interaction.key, person, request_id)
        try:
            with deps.mail_slot():
                if request_id is not None:
                    # Recheck everything that led to the approval.
                    _require_approved(deps, leased.request, person)
                    if why := recheck(leased, leased.approvals()):
                        leased.transition(State.REFUSED, result=why)
                        raise UserError(why)
                password = _set_password(leased, person.user)
            _show(leased, password, show)
        finally:
            leased.release(leased.now)
            deps.wake.set()
    except LeaseLost:
        raise UserError("password.unknown_outcome") from None


def _require_allowed(deps: Dependencies, person: Person, change: Change) -> Decision:
    """Return the decision if it allows a password for the person's own mailbox.

    :raises Forbidden: if the policy denies the password
    :raises NeedsApproval: if the password requires an approved request
    """
    decision = current_decision(deps, person, change, earlier_than=(deps.clock(), ""))
    if decision.verdict is Verdict.DENY:
        raise Forbidden(decision.reason)
    if decision.verdict is Verdict.NEEDS_APPROVAL or change.target != person.mailbox:
        raise NeedsApproval("password.needs_approval", mailbox=change.target)
    return decision


def _require_approved(deps: Dependencies, request: Request | None, person: Person) -> Request:
    """Return the request if this person may create its password now, or raise UserError."""
    if request is None or request.change.action is not Action.PASSWORD:
        raise Forbidden("password.not_yours")
    if request.change.target != person.mailbox:
        raise Forbidden("password.not_yours")
    if request.state is not State.APPROVED:
        raise UserError("password.not_offered", request=request.id, state=str(request.state))
    if request.is_overdue(deps.clock()):
        raise UserError("password.offer_expired", request=request.id)
    return request


def _begin_own(deps: Dependencies, key: str, person: Person) -> LeasedRequest:
    """Create and lease an approved request for the person's own password."""
    user = person.user
    change = Change(Action.PASSWORD, person.mailbox or "")
    decision = _require_allowed(deps, person, change)
    holder = new_lease_holder(deps)

    def work(c: Connection) -> Request | None:
        at = deps.clock()
        if not idempotency_keys.record_if_new(c, key, at=at):
            return None
        new = requests.add(
            c,
            change=change,
            requester=user,
            team=deps.workspace.team,
            at=at,
            lease_holder=holder,
            lease_until=at + deps.lease,
        )
        execute_by = at + deps.policy().requests.expire_after
        changes = decision_fields(new, change, person, decision)
        request = requests.transition(
            c, new, State.APPROVED, at=at, execute_by=execute_by, **changes
        )
        asked = {"change": change.as_dict(), "team": deps.workspace.team}
        audit.append(c, "request.new", at=at, actor=user, request_id=new.id, data=asked)
        allowed = {"rule": decision.rule, "digest": request.digest}
        audit.append(c, "request.approved", at=at, actor=audit.BOT, request_id=new.id, data=allowed)
        return request

    request = deps.database.write(work)
    if request is None:
        raise RepeatedDelivery("password.in_progress")
    return LeasedRequest(deps, request)


def _begin_approved(deps: Dependencies, key: str, person: Person, request_id: str) -> LeasedRequest:
    if not deps.database.write(lambda c: idempotency_keys.record_if_new(c, key, at=deps.clock())):
        raise RepeatedDelivery("password.in_progress")
    _require_approved(deps, deps.database.read(lambda c: requests.get(c, request_id)), person)
    for _ in range(LEASE_ATTEMPTS):
        if (leased := lease_request(deps, request_id)) is not None:
            return leased
        deps.stopping.wait(RETRY_DELAY_SECONDS)
    raise UserError("mailbox.busy")


def _set_password(leased: LeasedRequest, user: str) -> SecretStr:
    if not leased.lock():
        _reopen_or_fail(leased, Reason("mailbox.busy"))
        raise UserError("mailbox.busy")
    notified = _send_notice(leased, user)
    # If the notice took so long that the lease was lost, stop before anything is changed.
    leased.renew()
    # Mark the request due, so that the worker handles it if this process crashes.
    leased.transition(
        State.EXECUTING,
        also_write=lambda c: requests.mark_due(c, leased.request.id, at=leased.now),
        data={"notice_sent": notified},
        attempts=leased.request.attempts + 1,
    )
    password = new_password()
    try:
        leased.deps.mail.set_password(leased.request.change.target, password)
    except Rejected as rejection:
        leased.transition(State.FAILED, result=rejection.reason)
        raise
    except Unavailable:
        _reopen_or_fail(leased, Reason("password.unknown_outcome"))
        raise UserError("password.unknown_outcome") from None
    return SecretStr(password)


def _send_notice(leased: LeasedRequest, user: str) -> bool:
    """Send a notice to the mailbox by email. Return whether the settings name an SMTP server."""
    notices = leased.deps.password_notices
    if notices is None:
        return False
    try:
        notices.send(leased.request, user, leased.now)
    except Unavailable as error:
        _reopen_or_fail(leased, error.reason)
        raise UserError(error.reason) from None
    return True


def _show(leased: LeasedRequest, password: SecretStr, show: Show) -> None:
    """Show a password that is already set. The request is done once Slack accepts the view."""
    leased.renew()
    try:
        show(password)
    except (SlackUnavailable, SlackRejected):
        _reopen_or_fail(leased, Reason("password.not_shown"))
        raise NotShown("password.not_shown_retry") from None
    # If another worker has leased the request, it offers another password. This one stays valid.
    with suppress(LeaseLost):
        leased.transition(State.DONE, result=Reason("password.shown"))


def clean_up_stale_request(leased: LeasedRequest) -> None:
    """Reopen or fail a password request after a crash, and expire it if it is overdue.

    The worker holds the lease, so no other process can be creating the requested password.
    """
    if leased.request.state is State.EXECUTING:
        _reopen_or_fail(leased, Reason("password.interrupted"))
    if leased.request.state is State.APPROVED and leased.request.is_overdue(leased.now):
        never_shown = Reason("password.never_shown") if leased.request.result else None
        leased.transition(State.EXPIRED, result=never_shown)


def _reopen_or_fail(leased: LeasedRequest, why: Reason) -> None:
    """Offer an approved password to the owner again, or fail a request that needed no approval."""
    request = leased.request
    if not request.quorum:
        leased.transition(State.FAILED, result=why)
    elif request.state is State.EXECUTING:
        # The owner is notified again, with the reason.
        leased.transition(
            State.APPROVED,
            also_write=lambda c: sent_notifications.forget(
                c, request.id, sent_notifications.kind_for_owner(State.APPROVED)
            ),
            result=why,
        )
